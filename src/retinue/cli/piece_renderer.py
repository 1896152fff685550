"""Renders transcript pieces for a terminal or a pipe."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from retinue.cli.output import one_line, safe
from retinue.cli.transcript_pieces import Piece
from retinue.ids import LOCAL_OWNER

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.text import Text

_MARKS = {
    "ok": ("✓", "green"),
    "error": ("✗", "red"),
    "refused": ("✗", "red"),
    "unknown": ("?", "yellow"),
    "cancelled": ("■", "yellow"),
    "interrupted": ("■", "yellow"),
    "skipped": ("–", "dim"),
    "erased": ("–", "dim"),
}
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_THINKING_LINES = 12
_RESULT_LINES = 8


def show(screen: "Console", pieces: Iterable[Piece], *, is_whole: bool = False) -> None:
    """Print pieces; results and thinking are shortened unless `is_whole`."""
    screen.file.write(drawn(screen, pieces, is_whole=is_whole))
    screen.file.flush()


def drawn(screen: "Console", pieces: Iterable[Piece], *, is_whole: bool = False) -> str:
    """Return the text that displays the pieces on the screen."""
    if not screen.is_terminal:
        return "".join(f"{plain(piece)}\n" for piece in pieces)
    texts: list[str] = []
    for piece in pieces:
        with screen.capture() as captured:
            screen.print(rendered(piece, width=screen.width, is_whole=is_whole))
        lines = _without_empty_ends([line.rstrip() for line in captured.get().split("\n")])
        texts.append("\n".join(lines) + ("\n\n" if piece.kind == "text" else "\n"))
    return "".join(texts)


def _without_empty_ends(lines: list[str]) -> list[str]:
    filled = [index for index, line in enumerate(lines) if _COLOURS.sub("", line).strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def plain(piece: Piece) -> str:
    """Return one piece as plain, complete text for other programs."""
    text = safe(piece.text).strip("\n")
    label = safe(piece.label)
    match piece.kind:
        case "user":
            return f"{label or 'user'}> {text}"
        case "tool" | "call":
            return f"{label} {piece.status or ''} {piece.took}".rstrip() + f"\n{_indented(text)}"
        case "system":
            return f"{label}: {text}"
        case "notice" | "problem" | "rule":
            return f"{label}\n{text}" if label else text
        case "text" | "thinking":
            return text


def rendered(piece: Piece, *, width: int, is_whole: bool = False) -> "RenderableType":
    """Return one piece formatted for a terminal."""
    from rich.rule import Rule
    from rich.text import Text

    text = safe(piece.text).strip("\n")
    match piece.kind:
        case "text":
            return _markdown(text)
        case "user":
            who = f"{safe(piece.label)} " if piece.label not in ("", LOCAL_OWNER) else ""
            return Text.assemble((f"{who}> ", "bold"), text)
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
    from rich.markdown import Heading, Markdown

    class LeftHeading(Heading):
        """A left-aligned heading."""

        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            self.text.justify = "left"
            yield self.text

    class Answer(Markdown):
        """Markdown with left-aligned headings."""

        elements: ClassVar = {**Markdown.elements, "heading_open": LeftHeading}

    return Answer(text, hyperlinks=False, code_theme="ansi_dark")


def _tool(piece: Piece, width: int, is_whole: bool) -> "Text":
    """Return one line for a successful call, and more of the result of a failed one."""
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
