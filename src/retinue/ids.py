"""Typed ids and how new ones are made."""

import os
import re
import time
from functools import cache
from typing import TYPE_CHECKING, NewType

if TYPE_CHECKING:
    from collections.abc import Callable

AgentId = NewType("AgentId", str)
ItemId = NewType("ItemId", str)
CallId = NewType("CallId", str)
OwnerId = NewType("OwnerId", str)

LOCAL_OWNER = OwnerId("local")
"""The owner of everything on an installation with one person."""

_AGENT_ID = re.compile(r"[a-z][a-z0-9]{23}")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


@cache
def _cuid() -> "Callable[[], str]":
    from cuid2 import cuid_wrapper  # noqa: PLC0415  (kept out of the start of every command)

    return cuid_wrapper()


def new_agent_id() -> AgentId:
    return AgentId(_cuid()())


def is_agent_id(text: str) -> bool:
    return _AGENT_ID.fullmatch(text) is not None


def _sortable(prefix: str) -> str:
    """Make an id whose text grows with time, so that an index of them is appended to."""
    number = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10), "big")
    letters: list[str] = []
    for _ in range(26):
        letters.append(_ALPHABET[number & 31])
        number >>= 5
    return prefix + "".join(reversed(letters))


def new_item_id() -> ItemId:
    return ItemId(_sortable("m"))


def new_call_id() -> CallId:
    return CallId(_sortable("c"))


def new_id(prefix: str) -> str:
    """Make an id for anything without a type of its own."""
    return _sortable(prefix)
