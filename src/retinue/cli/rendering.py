"""Pieces as they look in a terminal."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from retinue.cli.pieces import Piece
from retinue.cli.printing import one_line, safe

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

_MARKS = {
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "refused": ("✗", "red"),
    "unknown": ("?", "yellow"),
    "cancelled": ("■", "yellow"),
    "interrupted": ("■", "yellow"),
    "skipped": ("–", "dim"),
}
_THINKING_LINES = 12
_RESULT_LINES = 8


def show(screen: "Console", pieces: Iterable[Piece], *, is_whole: bool = False) -> None:
    """Print pieces; results and thoughts are shortened unless all of it is wanted."""
    for piece in pieces:
        screen.print(rendered(piece, width=screen.width, is_whole=is_whole))


def rendered(piece: Piece, *, width: int, is_whole: bool = False) -> "RenderableType":
    """Give one piece its look."""
    from rich.padding import Padding
    from rich.rule import Rule
    from rich.text import Text

    text = safe(piece.text).strip("\n")
    match piece.kind:
        case "text":
            return Padding(_markdown(text), (0, 0, 1, 0))
        case "user":
            who = f"{safe(piece.label)} " if piece.label else ""
            return Text.assemble((f"{who}> ", "bold"), text, "\n")
        case "thinking":
            return Text(_shortened(text, None if is_whole else _THINKING_LINES), style="dim italic")
        case "system":
            return Text.assemble((f"← {safe(piece.label)}: ", "magenta"), text)
        case "tool" | "call":
            return _tool(piece, width, is_whole)
        case "rule":
            return Rule(text, style="dim")
        case "notice":
            label = f"{safe(piece.label)}\n" if piece.label else ""
            return Text(f"· {label}{text}", style="dim")
        case "problem":
            return Text(f"! {text}", style="red")


def _markdown(text: str) -> "RenderableType":
    from rich.markdown import Markdown

    return Markdown(text, hyperlinks=False, code_theme="ansi_dark")


def _tool(piece: Piece, width: int, is_whole: bool) -> "Text":
    """One line while it went well; more of the result when it did not, or when all is wanted."""
    from rich.text import Text

    mark, style = _MARKS.get(piece.status or "", ("·", "dim"))
    took = f"  {piece.took}" if piece.took else ""
    label = one_line(piece.label, max(width - len(took) - 3, 20))
    line = Text.assemble((f"{mark} ", style), label, (took, "dim"))
    result = safe(piece.text).strip()
    if not result:
        return line
    if is_whole:
        return line.append(f"\n{_indented(result)}", style="dim")
    if piece.status in ("ok", "skipped"):
        return line.append(f"\n  {one_line(result, max(width - 3, 20))}", style="dim")
    return line.append(f"\n{_indented(_shortened(result, _RESULT_LINES))}", style="dim")


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _shortened(text: str, lines: int | None) -> str:
    every = text.split("\n")
    if lines is None or len(every) <= lines:
        return text
    return "\n".join([*every[:lines], f"… {len(every) - lines} more lines"])
