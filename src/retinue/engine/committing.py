"""Putting what was done on disk, and breaking off what takes too long for a command to wait."""

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, TypeVar

from retinue.clock import Clock
from retinue.engine import steps
from retinue.engine.actions import CONTROLS
from retinue.engine.delivery import Outbox
from retinue.engine.reporting import Reporter
from retinue.engine.warm import Draft, Warm
from retinue.errors import StoreFullError
from retinue.failpoints import reach
from retinue.stores.port import Store

logger = logging.getLogger(__name__)

_STORE_RETRY_SECONDS = 1.0

ResultT = TypeVar("ResultT")


class Interrupted(Exception):  # noqa: N818  a signal within the engine, not an error
    """The work was broken off because a command came or the process is stopping."""


class Committer:
    """The one way from a draft to the store, and from there to the agent's memory."""

    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        connectors: Mapping[str, Any],
        reporter: Reporter,
        outbox: Outbox,
    ) -> None:
        self._store = store
        self._reporter = reporter
        self._clock = clock
        self.connectors = connectors
        self._outbox = outbox
        self.is_stopping = False

    def draft(self, warm: Warm) -> Draft:
        return warm.draft(self._clock.now())

    async def fail(self, warm: Warm, code: str, reason: str) -> None:
        """End the turn without an answer."""
        draft = self.draft(warm)
        steps.failed(draft, warm, code, reason, self.connectors)
        await self.commit(warm, draft, "fail")

    async def commit(self, warm: Warm, draft: Draft, name: str = "state") -> None:
        """Commit, waiting as long as the disk has no room: what was done must not be done again.

        Whoever has to hear how an item ended is told in the same commit.
        """
        if draft.fates and warm.has_listeners:
            draft.posts += await self._reporter.reports(warm, draft)
        commit = warm.commit_of(draft)
        while True:
            try:
                reach(f"{name}:before")
                await self._store.commit(commit)
                reach(f"{name}:after")
                break
            except StoreFullError as error:
                logger.error("the store takes nothing: %s", error, extra={"agent_id": warm.id})
                if self.is_stopping:
                    raise
                await self._clock.sleep(_STORE_RETRY_SECONDS)
        warm.apply(draft)
        if draft.deliveries:
            self._outbox.nudge()

    async def interruptibly(
        self, warm: Warm, work: Awaitable[ResultT], *, is_tool: bool = False
    ) -> ResultT:
        """Await something that a command or the end of the process may break off."""
        if (
            self.is_stopping
            or (warm.commands and any(command.interrupts() for command in warm.commands))
            or (warm.waiting and any(item.kind in CONTROLS for item in warm.waiting))
        ):
            _abandon(work)  # the command came before there was anything to break off
            raise Interrupted
        task = asyncio.current_task()
        warm.begin_work(task, is_tool=is_tool)
        was_interrupted = False
        try:
            try:
                return await work
            finally:
                was_interrupted = warm.end_work()
        except asyncio.CancelledError:
            if (was_interrupted or self.is_stopping) and task is not None:
                while task.cancelling():
                    task.uncancel()
                raise Interrupted from None
            raise
        finally:
            if warm.aside is not None:  # no two commits of one agent at a time
                await asyncio.wait({warm.aside})


def _abandon(work: Awaitable[object]) -> None:
    if isinstance(work, Coroutine):
        work.close()
