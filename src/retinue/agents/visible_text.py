"""Makes invisible characters visible in texts that people base decisions on."""

import unicodedata

_KEPT = frozenset("\n ")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"})
# Letters and marks that are rendered as blank.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def visible(text: str) -> str:
    """Replace characters that are invisible or change the text direction with visible ones.

    Control characters become control pictures (`␛`), others their code point (`<U+202E>`):
    direction marks, zero-width and unusual spaces, tags, selectors. Line feeds are kept.
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(_shown(character) for character in text)


def is_plain(text: str) -> bool:
    """Whether the text is one line of visible characters."""
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
