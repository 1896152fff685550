"""What people type or pipe in, whatever its bytes are."""

import sys
from typing import TextIO


def readable_stdin() -> TextIO:
    """Give stdin, with a mark in place of every byte that is not UTF-8."""
    stdin: TextIO = sys.stdin
    reconfigure = getattr(stdin, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
    return stdin


def is_text(value: str) -> bool:
    """Whether an argument was given as UTF-8; Python keeps other bytes as half characters."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
