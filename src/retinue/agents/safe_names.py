"""Names that people, models and servers chose, as a prompt can hold them."""

import unicodedata

from retinue.agents.context import neutral

LONGEST_NAME = 120
LONGEST_LINE = 400
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """One line of what can be seen, without a system-message tag, cut where it gets too long."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(c if unicodedata.category(c) not in _HIDDEN else " " for c in text)
    line = " ".join(text.split())
    return neutral(line if len(line) <= longest else f"{line[: longest - 1]}…")


def name_line(text: str) -> str:
    """The same for a name, which has no business to hold a tag."""
    return one_line(text, LONGEST_NAME).replace("<", "&lt;").replace(">", "&gt;")
