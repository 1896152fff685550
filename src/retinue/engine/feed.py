"""The one event stream: committed facts by cursor, and live output beside them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from msgspec import structs

from retinue.engine.helpers import Helpers
from retinue.engine.views import IsInMemory, change_before, cursor_of, events_of
from retinue.errors import RetinueError
from retinue.events import CommittedEvent, Event, HelloEvent, LiveEvent, ResyncEvent
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Change, Store

_QUEUE = 2_000
_PAGE = 500


class LaggedError(RetinueError):
    """The reader is too slow; it should come back with its last cursor."""

    code = "lagged"


class Streamed(Protocol):
    """A response that is being streamed, as far as it has come."""

    @property
    def owner(self) -> OwnerId: ...

    @property
    def agent_id(self) -> AgentId: ...

    def so_far(self) -> Sequence[LiveEvent]: ...


class _Reader:
    """One subscriber's bounded queue."""

    def __init__(self, owner: OwnerId, agent_id: AgentId | None) -> None:
        self.owner = owner
        self.agent_id = agent_id
        self.helpers = Helpers(agent_id) if agent_id is not None else None
        self.queue: asyncio.Queue[Change | LiveEvent | None] = asyncio.Queue(_QUEUE)
        self.is_live = False  # committed changes are queued from the start, live output later
        self.has_lagged = False

    def wants(self, owner: OwnerId, agent_id: str) -> bool:
        return owner == self.owner and (self.agent_id is None or self.agent_id == agent_id)

    def hears(self, owner: OwnerId, agent_id: AgentId) -> bool:
        """Whether it is shown what the agent says and asks: also if its own agent waits for it."""
        if self.wants(owner, agent_id):
            return True
        return owner == self.owner and self.helpers is not None and agent_id in self.helpers

    def offer(self, thing: Change | LiveEvent | None) -> None:
        try:
            self.queue.put_nowait(thing)
        except asyncio.QueueFull:
            self.has_lagged = True


class Feed:
    """Hands out what was committed, and deltas while somebody watches."""

    def __init__(self, store: Store, is_in_memory: IsInMemory) -> None:
        self._store = store
        self._is_in_memory = is_in_memory
        self._readers: set[_Reader] = set()
        self._streamed: dict[AgentId, Streamed] = {}

    @property
    def is_watched(self) -> bool:
        return bool(self._readers)

    def publish(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.records:
                self._streamed.pop(change.agent_id, None)  # what was streamed is a record now
        for reader in self._readers:
            for change in changes:
                if reader.wants(change.owner, change.agent_id):
                    reader.offer(change)
                elif change.requests and reader.hears(change.owner, change.agent_id):
                    reader.offer(structs.replace(change, records=(), items=(), agent=None))
                if reader.helpers is not None and change.agent is not None:
                    reader.helpers.follow(change.agent)

    def live(self, owner: OwnerId, agent_id: AgentId, event: LiveEvent) -> None:
        for reader in self._readers:
            if reader.is_live and reader.hears(owner, agent_id):
                reader.offer(event)

    def streams(self, response: Streamed) -> None:
        """Keep the response at hand for readers that come while it is being streamed."""
        self._streamed[response.agent_id] = response

    def streams_no_more(self, agent_id: AgentId) -> None:
        self._streamed.pop(agent_id, None)

    def announce(self, event: LiveEvent, *, owner: OwnerId | None = None) -> None:
        """Tell everybody, or everybody who watches for one owner, whichever agents they watch."""
        for reader in self._readers:
            if owner is None or reader.owner == owner:
                reader.offer(event)

    def close(self) -> None:
        for reader in self._readers:
            reader.offer(None)

    async def subscribe(
        self, owner: OwnerId, *, after: int | None, agent_id: AgentId | None
    ) -> AsyncIterator[Event]:
        """Replay what came after the cursor, then go on live, without a gap or a repeat."""
        reader = _Reader(owner, agent_id)
        self._readers.add(reader)  # before the replay: what is committed meanwhile is queued
        try:
            if reader.helpers is not None:
                await reader.helpers.read(self._store, owner)
            if after is None:
                seen = cursor_of(await self._store.cursor())
                streamed = self._begin_live(reader)
                yield HelloEvent(cursor=seen)
            else:
                seen = after
                yield HelloEvent(cursor=seen)
                async for event in self._replay(owner, after, agent_id):
                    seen = event.cursor
                    yield event
                streamed = self._begin_live(reader)
            for event in streamed:
                yield event
            async for event in self._follow(reader, seen):
                yield event
        finally:
            self._readers.discard(reader)

    def _begin_live(self, reader: _Reader) -> list[LiveEvent]:
        """Give what is being streamed so far; from this moment on the reader gets the rest."""
        reader.is_live = True
        return [
            event
            for response in self._streamed.values()
            if reader.hears(response.owner, response.agent_id)
            for event in response.so_far()
        ]

    async def _replay(
        self, owner: OwnerId, after: int, agent_id: AgentId | None
    ) -> AsyncIterator[CommittedEvent | ResyncEvent]:
        seen = change_before(after)
        while True:
            newest = await self._store.cursor()
            page = await self._store.changes(owner, after=seen, agent_id=agent_id, limit=_PAGE)
            if page is None or seen > newest:
                yield ResyncEvent(cursor=cursor_of(newest))
                return
            for change in page:
                for event in events_of(change, self._is_in_memory):
                    if event.cursor > after:
                        yield event
            if len(page) < _PAGE:
                return
            seen = page[-1].cursor

    async def _follow(self, reader: _Reader, seen: int) -> AsyncIterator[Event]:
        while True:
            if reader.has_lagged:
                raise LaggedError("this reader was too slow; subscribe again from its last cursor")
            thing = await reader.queue.get()
            if thing is None:
                return
            if not isinstance(thing, Change):
                yield thing
            elif cursor_of(thing.cursor) > seen:
                for event in events_of(thing, self._is_in_memory):
                    if event.cursor > seen:
                        yield event
