"""Detects a full disk: meanwhile no work starts, and commands are refused."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from retinue.clock import Clock
from retinue.errors import StoreFullError
from retinue.ids import AgentId
from retinue.records import AssistantRecord, KnownRecord, ToolRecord
from retinue.repeated_log import RepeatedLog
from retinue.stores.port import Store

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0
_NAMED = 5  # lost records named in one log line


class DiskFullGate:
    """The state of the disk according to the latest writes of this process."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._trouble = RepeatedLog(
            logger,
            "the store accepts no writes, so agents wait",
            over="the store accepts writes again, and agents continue",
            monotonic=clock.monotonic,
        )
        self._ending = asyncio.Event()
        self._lost: list[str] = []
        self.is_short = False  # whether the last write was refused
        self.is_troubled = False  # whether no write has succeeded since a refusal
        self.on_refused: Callable[[StoreFullError], None] = lambda _: None

    def refused(self, error: StoreFullError) -> None:
        self.is_short = True
        self.is_troubled = True
        self._trouble.report(error.message)
        self.on_refused(error)

    def took(self) -> None:
        self.is_short = False
        self.is_troubled = False
        self._trouble.clear()

    async def check(self) -> None:
        """Raise `StoreFullError` if the last write was refused and the store is still full."""
        if self.is_short:
            try:
                await self._store.check()
            except StoreFullError as error:
                self.refused(error)
                raise
            self.is_short = False  # a larger write may still fail; its commit reports it

    async def pause(self) -> None:
        """Wait before the next try; ends early when the process stops."""
        waits = [
            asyncio.ensure_future(self._clock.sleep(_RETRY_SECONDS)),
            asyncio.ensure_future(self._ending.wait()),
        ]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def begin_ending(self) -> None:
        self._ending.set()

    def lose(self, agent_id: AgentId, records: Sequence[KnownRecord]) -> None:
        """Record what a stopping process could not store and cannot recover."""
        for record in records:
            if isinstance(record, ToolRecord):
                self._lost.append(f"the result of {record.name} for {agent_id}")
            elif isinstance(record, AssistantRecord):
                self._lost.append(f"a response for {agent_id}")

    def tell_lost(self) -> None:
        if self._lost:
            shown = ", ".join(self._lost[:_NAMED])
            more = len(self._lost) - _NAMED
            logger.error(
                "stopped with a full disk; not stored: %s",
                shown + (f" and {more} more" if more > 0 else ""),
            )
