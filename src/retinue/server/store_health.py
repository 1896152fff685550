"""Whether messages can be stored, found out by storing something."""

import asyncio

from retinue.clock import Clock
from retinue.errors import StoreError
from retinue.stores.port import Store

GOOD_SECONDS = 2
_PATIENCE_SECONDS = 5


class Pulse:
    """One trial for all who ask at a time; that it went well is believed for a moment."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._trying = asyncio.Lock()
        self._good_until = 0.0

    def doubt(self) -> None:
        """Something was refused: believe nothing that was found before."""
        self._good_until = 0.0

    async def problem(self) -> str:
        """Say why nothing can be stored now; empty when it can."""
        async with self._trying:
            if self._clock.monotonic() < self._good_until:
                return ""
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    await self._store.check()
            except StoreError as error:
                return error.message
            except TimeoutError:
                return f"the store took nothing for {_PATIENCE_SECONDS} s: is the disk stuck?"
            self._good_until = self._clock.monotonic() + GOOD_SECONDS
            return ""
