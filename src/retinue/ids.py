"""Typed ids and how new ones are made."""

import hashlib
import os
import re
import time
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Literal, NewType

if TYPE_CHECKING:
    from collections.abc import Callable

AgentId = NewType("AgentId", str)
ItemId = NewType("ItemId", str)
CallId = NewType("CallId", str)
OwnerId = NewType("OwnerId", str)
ScheduleId = NewType("ScheduleId", str)
RequestId = NewType("RequestId", str)
SideName = Literal["side_a", "side_b"]

LOCAL_OWNER = OwnerId("local")
"""The owner of everything on an installation with one person."""

_AGENT_ID = re.compile(r"[a-z][a-z0-9]{23}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_random = Random(os.urandom(32))  # unique, not secret: whoever asks for an id is checked


@cache
def _cuid() -> "Callable[[], str]":
    from cuid2 import create_id  # noqa: PLC0415  (kept out of the start of every command)

    return create_id


def new_agent_id() -> AgentId:
    return AgentId(_cuid()())


def derived_agent_id(key: str) -> AgentId:
    """Make the id that the same key always gives: whoever tries again makes the same agent."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest(), "big")
    letters = [_LETTERS[number % 26]]
    for _ in range(23):
        number //= 36
        letters.append(_LETTERS[number % 36])
    return AgentId("".join(letters))


def is_agent_id(text: str) -> bool:
    return _AGENT_ID.fullmatch(text) is not None


def _sortable(prefix: str) -> str:
    """Make an id whose text grows with time, so that an index of them is appended to."""
    return f"{prefix}{time.time_ns() // 1_000_000:012x}{_random.getrandbits(80):020x}"


def new_item_id() -> ItemId:
    return ItemId(_sortable("m"))


def new_call_id() -> CallId:
    return CallId(_sortable("c"))


def new_request_id() -> RequestId:
    return RequestId(_sortable("q"))


def new_id(prefix: str) -> str:
    """Make an id for anything without a type of its own."""
    return _sortable(prefix)
