"""Outcomes of items, and waiting for them."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime

from msgspec import Struct, structs

from retinue.agents.command import DeleteCommand
from retinue.agents.inbox import Item, is_final
from retinue.agents.state import Suspension
from retinue.engine.rules.messages import reply_text
from retinue.errors import NotFoundError
from retinue.ids import AgentId, ItemId, OwnerId
from retinue.records import AnyRecord
from retinue.stores.port import Change, Store


class Outcome(Struct, frozen=True, kw_only=True):
    """An item with the information its sender needs."""

    item: Item
    position: int  # 0 when running or final
    reply: str  # the answer, or a description of what happened instead
    waiting_until: datetime | None = None  # the next retry of the model call
    waits: Sequence[Suspension] = ()  # what its turn waits for


class EndedOutcome(Struct, frozen=True):
    """A finished item, with the reply record if it was in the same commit."""

    item: Item
    reply: AnyRecord | None


Waiter = asyncio.Future[EndedOutcome | None]


class Outcomes:
    """Notifies waiters when the store has the final fate of an item; in memory only."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiters: dict[ItemId, list[Waiter]] = {}
        self._open: dict[ItemId, tuple[OwnerId, Item]] = {}  # admitted by this process, still open

    async def outcome(self, owner: OwnerId, item_id: ItemId, wait_seconds: float) -> Outcome:
        known = self._open.get(item_id) if wait_seconds else None
        if known is not None and known[0] == owner:
            item, position = known[1], 0
        else:
            item, position = await self._store.item(owner, item_id)
        if wait_seconds > 0 and not is_final(item.fate):
            ended = await self._ending(owner, item, wait_seconds)
            if ended is not None and (ended.reply or ended.item.reply_seq is None):
                return Outcome(item=ended.item, position=0, reply=_words(ended.item, ended.reply))
            item, position = await self._store.item(owner, item_id)
        return await self._outcome(owner, item, position)

    async def _outcome(self, owner: OwnerId, item: Item, position: int) -> Outcome:
        record = None
        if item.reply_seq is not None:
            record = await self._store.record(owner, item.agent_id, item.reply_seq)
        turn = None
        if item.fate in ("running", "waiting"):
            turn = (await self._store.agent(owner, item.agent_id)).state.turn
        is_its_own = turn is not None and item.id in turn.items
        return Outcome(
            item=item,
            position=position,
            reply=_words(item, record),
            waiting_until=turn.retry_at if turn is not None and is_its_own else None,
            waits=turn.suspended if turn is not None and is_its_own else (),
        )

    async def _ending(self, owner: OwnerId, item: Item, seconds: float) -> EndedOutcome | None:
        with self.listening(item.id) as waiter:
            timer = asyncio.get_running_loop().call_later(seconds, _give_up, waiter)
            try:
                if item.id not in self._open:
                    # It may have ended between reading and listening.
                    current, _ = await self._store.item(owner, item.id)
                    if is_final(current.fate):
                        return None
                return await waiter
            finally:
                timer.cancel()

    @contextmanager
    def listening(self, item_id: ItemId) -> Generator[Waiter]:
        """Listen for the end of an item, which may not be admitted yet."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        waiters = self._waiters.setdefault(item_id, [])
        waiters.append(waiter)
        try:
            yield waiter
        finally:
            waiters.remove(waiter)
            if not waiters:
                self._waiters.pop(item_id, None)
            if waiter.done() and not waiter.cancelled():
                waiter.exception()  # marks it as retrieved, as the caller has left

    # -- events from the store

    def admitted(self, owner: OwnerId, item: Item) -> None:
        self._open[item.id] = (owner, item)

    def ended(self, change: Change, item: Item) -> None:
        self._open.pop(item.id, None)
        waiters = self._waiters.get(item.id)
        if waiters:
            reply = next((r for r in change.records if r.seq == item.reply_seq), None)
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(EndedOutcome(item=item, reply=reply))

    def forgotten(self, agent_id: AgentId) -> None:
        """The agent was deleted with its items; the delete command counts as answered."""
        gone = [item for _, item in self._open.values() if item.agent_id == agent_id]
        deletions = [item for item in gone if isinstance(item.body.command, DeleteCommand)]
        obeyed = min(deletions, key=lambda item: item.seq, default=None)
        for item in gone:
            del self._open[item.id]
            for waiter in self._waiters.get(item.id, ()):
                if waiter.done():
                    continue
                if item is obeyed:
                    ended = structs.replace(item, fate="answered")
                    waiter.set_result(EndedOutcome(item=ended, reply=None))
                else:
                    waiter.set_exception(NotFoundError(f"the agent of {item.id!r} was deleted"))


def _give_up(waiter: Waiter) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _words(item: Item, reply: AnyRecord | None) -> str:
    return reply_text(reply) if reply is not None or not is_final(item.fate) else item.reason
