"""Passes: what proves that a call from a sandbox is made for a certain agent."""

import hashlib
import secrets

from retinue.clock import Clock
from retinue.engine.operations import Caller

_BYTES = 32


class Passes:
    """Held in memory: a pass ends with the command that it was given to, or with the process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[bytes, tuple[Caller, float]] = {}

    def issue(self, caller: Caller, seconds: float) -> str:
        token = secrets.token_urlsafe(_BYTES)
        self._held[_digest(token)] = (caller, self._clock.monotonic() + seconds)
        return token

    def revoke(self, token: str) -> None:
        self._held.pop(_digest(token), None)

    def holder(self, token: str) -> Caller | None:
        """For whom it was issued; None when it was not, or counts no more."""
        # A look-up by digest tells a guesser nothing about how near they were.
        caller, end = self._held.get(_digest(token), (None, 0.0))
        return caller if self._clock.monotonic() < end else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
