"""Converts HTML to readable text."""

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin

_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "head"})
_BLOCKS = frozenset(
    "address article aside blockquote dd details dialog div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table tr "
    "ul".split()
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACE = re.compile(r"\s+")
_NOISE = re.compile(r"<!--.*?(?:-->|\Z)|<[!?][^>]*(?:>|\Z)", re.DOTALL)
_CODE = re.compile(r"<(script|style)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<title\b[^>]*>([^<]*)", re.IGNORECASE)


def html_text(html: str, base: str = "") -> str:
    """Convert headings, paragraphs, lists, table rows and links to simple Markdown."""
    # Unclosed tags are removed first: searching for their end takes quadratic time.
    page = _closed(_CODE.sub(" ", _closed(_NOISE.sub(" ", html))))
    reader = _Reader(base)
    reader.feed(page)
    reader.close()
    after = html[html.rfind(">") + 1 :]
    if "<" not in after:
        reader.handle_data(unescape(after))
    text = reader.text()
    title = _TITLE.search(page)
    named = _SPACE.sub(" ", unescape(title[1])).strip() if title else ""
    return f"{named}\n\n{text}" if named and not text.startswith(f"# {named}") else text


def _closed(html: str) -> str:
    return html[: html.rfind(">") + 1]


class _Reader(HTMLParser):
    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base
        self._out: list[str] = []
        self._skipping = 0
        self._verbatim = 0
        self._links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SKIPPED:
            self._skipping += 1
        if tag == "body":
            self._skipping = 0  # an unclosed <head>
        if self._skipping:
            return
        if tag in _BLOCKS:
            self._break()
        if tag in _HEADINGS:
            self._out.append(f"\n{_HEADINGS[tag]}")
        match tag:
            case "br":
                self._out.append("\n")
            case "li":
                self._out.append("- ")
            case "td" | "th":
                self._out.append(" | ")
            case "pre":
                self._verbatim += 1
            case "a":
                self._open_link(dict(attrs).get("href") or "")
            case "img" if alt := dict(attrs).get("alt"):
                self._out.append(f"[image: {alt}]")
            case _:
                pass

    def handle_endtag(self, tag: str) -> None:
        if tag in _SKIPPED:
            self._skipping = max(0, self._skipping - 1)
        if self._skipping:
            return
        if tag == "pre":
            self._verbatim = max(0, self._verbatim - 1)
        if tag == "a" and self._links:
            address = self._links.pop()
            self._out.append(f"]({address})" if address else "")
        if tag in _BLOCKS:
            self._break()
            self._out.append("\n" if tag in ("p", "pre", "ul", "ol", "table", *_HEADINGS) else "")

    def handle_data(self, data: str) -> None:
        if self._skipping:
            return
        self._out.append(data if self._verbatim else _SPACE.sub(" ", data))

    def text(self) -> str:
        lines = (line.rstrip() for line in "".join(self._out).split("\n"))
        joined = "\n".join(re.sub(r"^ (?=\S)", "", line) for line in lines)
        return re.sub(r"\n{3,}", "\n\n", joined).strip()

    def _break(self) -> None:
        last = next((piece for piece in reversed(self._out) if piece), "\n")
        if not last.endswith("\n"):
            self._out.append("\n")

    def _open_link(self, href: str) -> None:
        address = ""
        if href and not href.startswith(("#", "javascript:", "data:")):
            try:
                address = urljoin(self._base, href.strip())
            except ValueError:
                address = ""
        self._links.append(address)
        self._out.append("[" if address else "")
