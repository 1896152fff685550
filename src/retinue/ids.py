"""Typed ids and their generators."""

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
"""The owner of everything on a single-user installation."""

_AGENT_ID = re.compile(r"[a-z][a-z0-9]{23}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_random = Random(os.urandom(32))  # unique, not secret: access is always checked


@cache
def _cuid() -> "Callable[[], str]":
    from cuid2 import create_id  # noqa: PLC0415  (slow to import)

    return create_id


def new_agent_id() -> AgentId:
    return AgentId(_cuid()())


def derived_agent_id(key: str) -> AgentId:
    """Derive an id from a key, so that a retry creates the same agent."""
    number = int.from_bytes(hashlib.sha256(key.encode()).digest(), "big")
    letters = [_LETTERS[number % 26]]
    for _ in range(23):
        number //= 36
        letters.append(_LETTERS[number % 36])
    return AgentId("".join(letters))


def is_agent_id(text: str) -> bool:
    return _AGENT_ID.fullmatch(text) is not None


def _sortable(prefix: str) -> str:
    """Create an id that sorts by creation time, so that database indexes grow at the end."""
    return f"{prefix}{time.time_ns() // 1_000_000:012x}{_random.getrandbits(80):020x}"


def new_item_id() -> ItemId:
    return ItemId(_sortable("m"))


def new_call_id() -> CallId:
    return CallId(_sortable("c"))


def new_request_id() -> RequestId:
    return RequestId(_sortable("q"))


def new_id(prefix: str) -> str:
    """Create an id for objects that have no id type of their own."""
    return _sortable(prefix)
