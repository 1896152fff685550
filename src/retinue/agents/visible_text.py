"""Text of models and tools, shown to a person who decides by it: nothing in it can hide."""

import unicodedata

_KEPT = frozenset("\n ")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
# Letters and marks that are drawn as nothing at all.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def visible(text: str) -> str:
    """Write every character that would not be seen, or would move others, as what it is.

    Control characters become their pictures (`␛`), all else its number (`<U+202E>`): marks of
    direction, zero-width and unusual spaces, tags, selectors. Line feeds stay.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_shown(character) for character in text)


def is_plain(text: str) -> bool:
    """Whether the text is one line that shows itself."""
    return "\n" not in text and visible(text) == text


def _shown(character: str) -> str:
    if character in _KEPT:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    is_selector = 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF
    if is_selector or character in _BLANK or unicodedata.category(character) in _HIDDEN_CATEGORIES:
        return f"<U+{code:04X}>"
    return character
