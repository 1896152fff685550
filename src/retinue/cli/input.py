"""Reads input that may not be valid UTF-8."""

import sys
from typing import TextIO


def readable_stdin() -> TextIO:
    """Return stdin with invalid UTF-8 replaced."""
    stdin: TextIO = sys.stdin
    reconfigure = getattr(stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return stdin


def is_text(value: str) -> bool:
    """Whether an argument was valid UTF-8; Python keeps other bytes as surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
