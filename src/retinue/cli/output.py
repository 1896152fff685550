"""Terminal output. Control characters from models and names are removed."""

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# Escape sequences in a name or an answer could move the cursor, retitle the window or worse; a
# bidi override could make a line read as another.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PIPED_WIDTH = 10_000
_GAP = "  "


def safe(text: str) -> str:
    """Remove control characters that a terminal would interpret."""
    return _UNSAFE.sub("", text.replace("\r\n", "\n"))


def one_line(text: str, limit: int) -> str:
    """Fold to one line, with an ellipsis where it was cut."""
    folded = " ".join(safe(text[: limit * 4]).split())
    return folded if len(folded) <= limit else folded[: limit - 1].rstrip() + "…"


def say(text: str = "") -> None:
    sys.stdout.write(safe(text) + "\n")


def print_note(text: str) -> None:
    """Print to stderr, so that a pipe receives only the result."""
    sys.stderr.write(safe(text) + "\n")


def print_json(value: object) -> None:
    """Print one JSON document."""
    import msgspec

    document = msgspec.json.format(msgspec.json.encode(value), indent=2)
    sys.stdout.write(document.decode() + "\n")


def print_json_line(value: object) -> None:
    """Print one line of a JSON stream and flush."""
    import msgspec

    sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
    sys.stdout.flush()


def console() -> "Console":
    """Return the console; output to a pipe is neither cut nor wrapped."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return Console(highlight=False, emoji=False, markup=False, width=width)


_STYLES = {
    "running": "cyan",
    "queued": "cyan",
    "waiting": "yellow",
    "ok": "green",
    "answered": "green",
    "warn": "yellow",
    "cancelled": "yellow",
    "fail": "bold red",
    "failed": "red",
    "refused": "red",
    "expired": "red",
    "terminated": "dim",
}


def styled(word: str) -> "Text":
    """Return a state or fate in its colour."""
    from rich.text import Text

    return Text(safe(word), style=_STYLES.get(word, ""))


def print_table(headers: Sequence[str], rows: Iterable[Sequence["str | Text"]]) -> None:
    """Print one line per row; only the last column shrinks in a narrow terminal."""
    from rich.text import Text

    screen = console()
    cells = [[Text(safe(cell)) if isinstance(cell, str) else cell for cell in row] for row in rows]
    cells.insert(0, [Text(header, style="dim") for header in headers])
    widths = [max(row[index].cell_len for row in cells) for index in range(len(headers))]
    room = screen.width - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1)
    widths[-1] = max(min(widths[-1], room), len(headers[-1]))
    for row in cells:
        line = Text()
        for cell, width in zip(row, widths, strict=True):
            cell.truncate(width, overflow="ellipsis", pad=True)
            line.append_text(cell).append(_GAP)
        line.rstrip()
        screen.print(line, soft_wrap=True)


def print_fields(fields: Iterable[tuple[str, "str | Text"]]) -> None:
    """Print one line per name and value."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in fields:
        table.add_row(name, Text(safe(value)) if isinstance(value, str) else value)
    _print_trimmed(table)


def _print_trimmed(table: object) -> None:
    """Print a table without trailing spaces."""
    screen = console()
    with screen.capture() as captured:
        screen.print(table)
    lines = captured.get().split("\n")
    sys.stdout.write("\n".join(line.rstrip(" ") for line in lines))
