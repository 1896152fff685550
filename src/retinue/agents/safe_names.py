"""Sanitizes names from people, models and servers for use in prompts."""

import unicodedata

from retinue.agents.context import neutral

LONGEST_NAME = 120
LONGEST_LINE = 400
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """Reduce text to one line of visible characters, escape system-message tags, and truncate."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(c if unicodedata.category(c) not in _HIDDEN else " " for c in text)
    line = " ".join(text.split())
    return neutral(line if len(line) <= longest else f"{line[: longest - 1]}…")


def name_line(text: str) -> str:
    """Sanitize a name: as `one_line`, with all tags escaped."""
    return one_line(text, LONGEST_NAME).replace("<", "&lt;").replace(">", "&gt;")
