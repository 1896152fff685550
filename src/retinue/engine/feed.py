"""The one event stream: committed facts by cursor, and live output beside them."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from retinue.engine.views import events_of
from retinue.errors import RetinueError
from retinue.events import Event, HelloEvent, LiveEvent, ResyncEvent
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Change, Store

_QUEUE = 2_000
_PAGE = 500


class LaggedError(RetinueError):
    """The reader is too slow; it should come back with its last cursor."""

    code = "lagged"


class _Reader:
    """One subscriber's bounded queue."""

    def __init__(self, owner: OwnerId, agent_id: AgentId | None) -> None:
        self.owner = owner
        self.agent_id = agent_id
        self.queue: asyncio.Queue[Change | LiveEvent | None] = asyncio.Queue(_QUEUE)
        self.has_lagged = False

    def wants(self, owner: OwnerId, agent_id: str) -> bool:
        return owner == self.owner and (self.agent_id is None or self.agent_id == agent_id)

    def offer(self, thing: Change | LiveEvent | None) -> None:
        try:
            self.queue.put_nowait(thing)
        except asyncio.QueueFull:
            self.has_lagged = True


class Feed:
    """Hands out what was committed, and deltas while somebody watches."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._readers: set[_Reader] = set()

    @property
    def is_watched(self) -> bool:
        return bool(self._readers)

    def publish(self, changes: Sequence[Change]) -> None:
        for reader in self._readers:
            for change in changes:
                if reader.wants(change.owner, change.agent_id):
                    reader.offer(change)

    def live(self, owner: OwnerId, agent_id: AgentId, event: LiveEvent) -> None:
        for reader in self._readers:
            if reader.wants(owner, agent_id):
                reader.offer(event)

    def announce(self, event: LiveEvent) -> None:
        """Tell everybody, whoever's agents they watch."""
        for reader in self._readers:
            reader.offer(event)

    def close(self) -> None:
        for reader in self._readers:
            reader.offer(None)

    async def subscribe(
        self, owner: OwnerId, *, after: int | None, agent_id: AgentId | None
    ) -> AsyncIterator[Event]:
        """Replay what came after the cursor, then go on live, without a gap or a repeat."""
        reader = _Reader(owner, agent_id)
        self._readers.add(
            reader
        )  # before the replay: what is committed meanwhile waits in the queue
        try:
            seen = await self._store.cursor() if after is None else after
            yield HelloEvent(cursor=seen)
            if after is not None:
                async for change in self._replay(owner, after, agent_id):
                    if isinstance(change, ResyncEvent):
                        seen = change.cursor
                        yield change
                        break
                    seen = change.cursor
                    for event in events_of(change):
                        yield event
            async for event in self._follow(reader, seen):
                yield event
        finally:
            self._readers.discard(reader)

    async def _replay(
        self, owner: OwnerId, after: int, agent_id: AgentId | None
    ) -> AsyncIterator[Change | ResyncEvent]:
        while True:
            newest = await self._store.cursor()
            page = await self._store.changes(owner, after=after, agent_id=agent_id, limit=_PAGE)
            if page is None or after > newest:
                yield ResyncEvent(cursor=newest)
                return
            for change in page:
                yield change
            if len(page) < _PAGE:
                return
            after = page[-1].cursor

    async def _follow(self, reader: _Reader, seen: int) -> AsyncIterator[Event]:
        while True:
            if reader.has_lagged:
                raise LaggedError("this reader was too slow; subscribe again from its last cursor")
            thing = await reader.queue.get()
            if thing is None:
                return
            if not isinstance(thing, Change):
                yield thing
            elif thing.cursor > seen:
                for event in events_of(thing):
                    yield event
