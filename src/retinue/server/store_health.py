"""Checks whether messages can be stored, by writing to the store."""

import asyncio

from retinue.clock import Clock
from retinue.errors import StoreError
from retinue.stores.port import Store

GOOD_SECONDS = 2
_TIMEOUT_SECONDS = 5


class Pulse:
    """Runs one check for all concurrent callers, and caches success for a moment."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._trying = asyncio.Lock()
        self._good_until = 0.0

    def doubt(self) -> None:
        """Forget a cached success, because a write failed."""
        self._good_until = 0.0

    async def problem(self) -> str:
        """Return why nothing can be stored, or an empty string."""
        async with self._trying:
            if self._clock.monotonic() < self._good_until:
                return ""
            try:
                async with asyncio.timeout(_TIMEOUT_SECONDS):
                    await self._store.check()
            except StoreError as error:
                return error.message
            except TimeoutError:
                return f"the store did not respond for {_TIMEOUT_SECONDS} s: check the disk"
            self._good_until = self._clock.monotonic() + GOOD_SECONDS
            return ""
