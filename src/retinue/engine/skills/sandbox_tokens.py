"""Tokens that prove that a call from a sandbox is made for a certain agent."""

import asyncio
import hashlib
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from retinue.clock import Clock
from retinue.engine.calls.plugin_calls import Caller
from retinue.errors import RefusedError

MOST_CALLS = 16
"""Concurrent calls with one token: each may use a thread of the server."""

_BYTES = 32


@dataclass(frozen=True, slots=True)
class _Grant:
    caller: Caller
    end: float
    calls: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])


class SandboxTokens:
    """Tokens, in memory only: a token ends with its command or with the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[bytes, _Grant] = {}

    def issue(self, caller: Caller, seconds: float) -> str:
        token = secrets.token_urlsafe(_BYTES)
        self._held[_digest(token)] = _Grant(caller, self._clock.monotonic() + seconds)
        return token

    def revoke(self, token: str) -> None:
        """End a token and cancel the calls made with it."""
        held = self._held.pop(_digest(token), None)
        for call in held.calls if held is not None else ():
            call.cancel()

    @contextmanager
    def used(self, token: str) -> Generator[Caller | None]:
        """The caller the token was issued for, for the duration of one call; None if invalid."""
        # A lookup by digest does not leak how close a guess was.
        held = self._held.get(_digest(token))
        call = asyncio.current_task()
        if held is None or call is None or self._clock.monotonic() >= held.end:
            yield None
            return
        if len(held.calls) >= MOST_CALLS:
            raise RefusedError(f"a command can make at most {MOST_CALLS} calls at the same time")
        held.calls.add(call)
        try:
            yield held.caller
        finally:
            held.calls.discard(call)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
