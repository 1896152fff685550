"""Putting what was done on disk, and breaking off what takes too long for a command to wait."""

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, TypeVar

from retinue.clock import Clock
from retinue.engine import steps
from retinue.engine.actions import CONTROLS
from retinue.engine.delivery import Outbox
from retinue.engine.reporting import Reporter
from retinue.engine.space import Space
from retinue.engine.subagents.registry import follow_children
from retinue.engine.warm import Draft, Warm
from retinue.errors import StoreFullError
from retinue.failpoints import IS_ARMED, reach
from retinue.stores.port import Commit, Receipt, Store

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
        space: Space,
    ) -> None:
        self._store = store
        self._reporter = reporter
        self._clock = clock
        self.connectors = connectors
        self._outbox = outbox
        self.space = space
        self.is_stopping = False

    def draft(self, warm: Warm) -> Draft:
        return Draft(at=self._clock.now(), next_seq=warm.next_seq, state=warm.state)

    async def fail(self, warm: Warm, code: str, reason: str) -> None:
        """End the turn without an answer."""
        draft = self.draft(warm)
        steps.failed(draft, warm, code, reason, self.connectors)
        await self.commit(warm, draft, "fail")

    async def commit(self, warm: Warm, draft: Draft, name: str = "state") -> None:
        """Commit, waiting as long as the disk has no room: what was done must not be done again.

        Commands that come meanwhile are refused: they could not be written down either.
        """
        if draft.fates and warm.has_listeners:
            await self._finish(warm, draft)
        commit = warm.commit_of(draft)
        while True:
            try:
                await self._put(warm, draft, commit, name)
                return
            except StoreFullError as error:
                warm.refuse(error)
                if self.is_stopping:
                    self.space.lose(warm.id, draft.records)
                    raise
                await self.space.pause()

    async def begin(self, warm: Warm, draft: Draft) -> Receipt:
        """Commit an item's admission with its beginning; a repeat changes nothing."""
        try:
            reach("begin:before")
            committed = await self._store.commit(warm.commit_of(draft))
            reach("begin:after")
        except StoreFullError as error:
            self.space.refused(error)
            raise
        receipt = committed.receipts[0]
        if not receipt.is_repeat:
            warm.running[receipt.item.id] = receipt.item
            warm.apply(draft)
        return receipt

    async def commit_now(self, warm: Warm, draft: Draft, name: str) -> None:
        """Commit what can be asked for again. Raises `StoreFullError`: then nothing happened."""
        if warm.has_listeners and (draft.fates or draft.lifecycle is not None):
            await self._finish(warm, draft)
        await self._put(warm, draft, warm.commit_of(draft), name)

    async def _finish(self, warm: Warm, draft: Draft) -> None:
        """Add what tells whoever has to hear how an item ended, or that the agent did."""
        if warm.state.children:
            follow_children(warm, draft)
        draft.posts += await self._reporter.reports(warm, draft)

    async def _put(self, warm: Warm, draft: Draft, commit: Commit, name: str) -> None:
        try:
            if IS_ARMED:
                reach(f"{name}:before")
            await self._store.commit(commit)
            if IS_ARMED:
                reach(f"{name}:after")
        except StoreFullError as error:
            self.space.refused(error)
            raise
        if self.space.is_troubled:
            self.space.took()
        warm.apply(draft)
        if draft.deliveries:
            self._outbox.nudge()

    async def wait_for_room(self, warm: Warm) -> None:
        """Begin nothing while nothing can be stored, until a command or the end comes."""
        while self.space.is_short and not warm.commands and not self.is_stopping:
            try:
                await self.space.check()
            except StoreFullError:
                await self.space.pause()

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
