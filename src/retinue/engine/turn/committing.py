"""Putting what was done on disk, and breaking off what takes too long for a command to wait."""

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, TypeVar

from retinue.agents.command import interrupts
from retinue.agents.inbox import Item, is_final
from retinue.clock import Clock
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.feed.disk_full import DiskFullGate
from retinue.engine.feed.outbox import Outbox
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
        outbox: Outbox,
        disk: DiskFullGate,
    ) -> None:
        self._store = store
        self._clock = clock
        self.connectors = connectors
        self._outbox = outbox
        self.disk = disk
        self.is_stopping = False

    def draft(self, live: LiveAgent) -> Draft:
        return Draft(
            at=self._clock.now(), epoch=live.epoch, next_seq=live.next_seq, state=live.state
        )

    async def commit(self, live: LiveAgent, draft: Draft, name: str = "state") -> None:
        """Commit, waiting as long as the disk has no room: what was done must not be done again."""
        commit = _checked(live, draft)
        while True:
            try:
                await self._put(live, draft, commit, name)
                return
            except StoreFullError:
                if self.is_stopping:
                    self.disk.lose(live.id, draft.records)
                    raise
                await self.disk.pause()

    async def begin(self, live: LiveAgent, draft: Draft) -> Receipt:
        """Commit an item's admission with its beginning; a repeat changes nothing."""
        try:
            reach("begin:before")
            committed = await self._store.commit(live.commit_of(draft))
            reach("begin:after")
        except StoreFullError as error:
            self.disk.refused(error)
            raise
        receipt = committed.receipts[0]
        if not receipt.is_repeat:
            live.running[receipt.item.id] = receipt.item
            live.apply(draft)
        return receipt

    async def commit_now(self, live: LiveAgent, draft: Draft, name: str) -> None:
        """Commit what can be asked for again. Raises `StoreFullError`: then nothing happened."""
        await self._put(live, draft, _checked(live, draft), name)

    async def _put(self, live: LiveAgent, draft: Draft, commit: Commit, name: str) -> None:
        try:
            if IS_ARMED:
                reach(f"{name}:before")
            await self._store.commit(commit)
            if IS_ARMED:
                reach(f"{name}:after")
        except StoreFullError as error:
            self.disk.refused(error)
            raise
        if self.disk.is_troubled:
            self.disk.took()
        live.apply(draft)
        if draft.effects.deliveries:
            self._outbox.nudge()

    async def wait_for_room(self) -> None:
        """Begin nothing while nothing can be stored, until the process ends."""
        while self.disk.is_short and not self.is_stopping:
            try:
                await self.disk.check()
            except StoreFullError:
                await self.disk.pause()

    async def interruptibly(
        self, live: LiveAgent, work: Awaitable[ResultT], *, is_tool: bool = False
    ) -> ResultT:
        """Await something that a command or the end of the process may break off."""
        if self.is_stopping or (live.waiting and any(_breaks_off(item) for item in live.waiting)):
            _abandon(work)  # the command came before there was anything to break off
            raise Interrupted
        task = asyncio.current_task()
        live.begin_work(task, is_tool=is_tool)
        was_interrupted = False
        try:
            try:
                return await work
            finally:
                was_interrupted = live.end_work()
        except asyncio.CancelledError:
            if (was_interrupted or self.is_stopping) and task is not None:
                while task.cancelling():
                    task.uncancel()
                raise Interrupted from None
            raise
        finally:
            if live.aside is not None:  # no two commits of one agent at a time
                await asyncio.wait({live.aside})


def _breaks_off(item: Item) -> bool:
    """Whether the item has to be taken up before anything else begins."""
    return item.kind == "withdrawal" or interrupts(item.body.command)


def _checked(live: LiveAgent, draft: Draft) -> Commit:
    """The commit of a draft; what ends something has been completed."""
    if live.has_listeners and not draft.is_completed:
        ends = draft.lifecycle is not None or any(is_final(one.fate) for one in draft.fates)
        assert not ends, "a draft that ends something was not completed"
    return live.commit_of(draft)


def _abandon(work: Awaitable[object]) -> None:
    if isinstance(work, Coroutine):
        work.close()
