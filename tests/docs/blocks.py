"""The examples of a page: its fenced blocks, and what a terminal session in one says."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted([REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")])

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\S*)\n(?P<text>.*?)^ *```$", re.M | re.S)
_FILE = re.compile(r"\A(?:---\n)?# (?P<path>[\w./-]+\.(?:toml|md|py|yaml|json))\b")
_UNRUN = re.compile(r"\A(?:---\n)?# not run by the tests: \S")
_FAILS = re.compile(r"\s+# fails$")
_ANY = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One fenced block."""

    language: str
    text: str
    line: int

    @property
    def path(self) -> str | None:
        """The file of the project that the block is, by the comment on its first line."""
        found = _FILE.match(self.text)
        return found["path"] if found else None

    @property
    def is_unrun(self) -> bool:
        return _UNRUN.match(self.text) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command of a terminal session, and what the page says it prints."""

    text: str
    output: Sequence[str]
    fails: bool


def blocks_of(page: str) -> Iterator[Block]:
    for found in _FENCE.finditer(page):
        text = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.M)
        yield Block(
            language=found["language"], text=text, line=page.count("\n", 0, found.start()) + 1
        )


def session(block: Block) -> Iterator[Command]:
    """Read a `console` block: a line after `$ ` is typed, what follows it is printed."""
    lines = block.text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {block.line}: a console block begins with `$ `"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        typed = lines[start].removeprefix("$ ")
        while typed.endswith("\\"):
            start += 1
            typed = typed[:-1] + lines[start].strip()
        output = lines[start + 1 : end]
        while output and not output[-1]:
            output.pop()
        yield _command(typed, output)


def script(block: Block) -> Iterator[Command]:
    """Read a `sh` block: commands whose output the page does not tell."""
    for line in block.text.replace("\\\n", "").splitlines():
        if line.strip() and not line.startswith("#"):
            yield _command(line, [_ANY])


def _command(typed: str, output: Sequence[str]) -> Command:
    return Command(
        text=_FAILS.sub("", typed), output=output, fails=_FAILS.search(typed) is not None
    )


def is_as_told(told: Sequence[str], printed: str) -> bool:
    """Compare; `…` in a line is any text, and a line of it alone any number of lines.

    How far apart columns are depends on what is in them, so two spaces are as good as ten.
    """
    pattern = "".join(
        r"(?:.*\n)*?"
        if line.strip() == _ANY
        else ".*".join(map(re.escape, _evened(line).split(_ANY))) + r"\n"
        for line in told
    )
    plain = "".join(f"{_evened(line)}\n" for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, plain) is not None


def _evened(line: str) -> str:
    return re.sub(r"(?<=\S) {2,}", "  ", line.rstrip())
