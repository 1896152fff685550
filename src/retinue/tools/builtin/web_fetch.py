"""The `web_fetch` tool."""

import codecs
import re
from email.message import Message
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from retinue.agents.permission import NETWORK
from retinue.tools.execution import store_file
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.grants import require
from retinue.tools.guarded_http import Fetched, GuardedClient
from retinue.tools.html_text import html_text
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.threads import in_thread

if TYPE_CHECKING:
    from retinue.settings.tables import WebFetchSettings

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|toml|javascript|x-ndjson|jsonl)|image/svg\+xml"
)
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_ODD_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
_GRACE_SECONDS = 15


def web_fetch_tool(settings: "WebFetchSettings") -> FunctionTool[..., Any]:
    """Create the tool with these limits."""
    client = GuardedClient(
        allowed_hosts=settings.allowed_hosts,
        max_bytes=settings.max_bytes,
        timeout_seconds=settings.time_limit_seconds,
        headers={
            "User-Agent": "Retinue (web_fetch)",
            "Accept": "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5",
        },
    )

    @tool(
        effect="pure",
        capabilities=["web.fetch"],
        timeout_seconds=settings.time_limit_seconds + _GRACE_SECONDS,
    )
    async def web_fetch(ctx: ToolContext, url: str, raw: bool = False) -> ToolOutput:
        """Fetch a page or a file from the internet over http or https.

        HTML is converted to readable text; other files that are not text are saved to your file
        tree. Needs the grant @network.

        Args:
            url: The full URL, such as https://example.org/page.
            raw: Return HTML unchanged instead of readable text.
        """
        require(ctx, NETWORK, "use the network")
        fetched = await client.fetch(url)
        kind, charset = _content_type(fetched)
        if _TEXT.fullmatch(kind) or (not kind and _looks_like_text(fetched.body)) or kind in _HTML:
            text = _decoded(fetched.body, charset)
            if kind in _HTML and not raw:
                text = await in_thread(lambda: html_text(text, fetched.url), name="read HTML")
            return _output(fetched, f"\n\n{text}")
        if fetched.is_cut:
            return _output(fetched, f"\n\nIt is {kind or 'not text'} and too large to save.")
        file = await store_file(ctx, _file_name(fetched), fetched.body)
        return ToolOutput(
            text=f"{_heading(fetched)}\n\nIt is {kind or 'not text'}; saved as {file.path} "
            f"({file.size} bytes).",
            is_error=fetched.status >= 400,
            files=(file,),
        )

    def _output(fetched: Fetched, text: str) -> ToolOutput:
        notice = (
            f"\n\n[The response is longer than {client.max_bytes} bytes; the rest was not read]"
            if fetched.is_cut
            else ""
        )
        return ToolOutput(text=f"{_heading(fetched)}{text}{notice}", is_error=fetched.status >= 400)

    return web_fetch


def _heading(fetched: Fetched) -> str:
    return f"{fetched.url} (status {fetched.status})"


def _content_type(fetched: Fetched) -> tuple[str, str | None]:
    given = fetched.headers.get("content-type", "")
    if not given:
        return "", None
    message = Message()
    message["content-type"] = given
    charset = message.get_param("charset")
    return message.get_content_type(), charset if isinstance(charset, str) else None


def _looks_like_text(body: bytes) -> bool:
    return b"\x00" not in body[:4096]


def _decoded(body: bytes, charset: str | None) -> str:
    declared = _META_CHARSET.search(body[:4096])
    for name in (charset, declared[1].decode() if declared else None):
        try:
            if name is not None and codecs.lookup(name).name not in _ODD_CHARSETS:
                return body.decode(name, "replace")
        except (LookupError, UnicodeError):
            continue
    return body.decode("utf-8", "replace")


def _file_name(fetched: Fetched) -> str:
    return PurePosixPath(unquote(urlsplit(fetched.url).path)).name or "download"
