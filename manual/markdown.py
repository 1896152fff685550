"""Builds Markdown with proper escaping."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Build a table, or nothing if there are no rows."""
    lines = [_row(row) for row in rows]
    return "\n".join([_row(head), "|---" * len(head) + "|", *lines]) if lines else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def block(text: str, language: str = "text") -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def page(title: str, *paragraphs: str) -> str:
    """Build a page from its non-empty parts."""
    return "\n\n".join([f"# {title}", *(part for part in paragraphs if part)]) + "\n"
