"""The event stream: committed changes by cursor, live output, and the subscribers."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol

from msgspec import structs

from retinue.engine.feed.agent_views import IsInMemory, change_before, cursor_of, events_of
from retinue.engine.feed.awaited_agents import AwaitedAgents
from retinue.errors import RetinueError
from retinue.events import CommittedEvent, Event, HelloEvent, LiveEvent, ResyncEvent
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Agent, Change, Store

_PAGE = 500
_QUEUE = 2_000


class LaggedError(RetinueError):
    """The reader is too slow; it should reconnect with its last cursor."""

    code = "lagged"


class Streamed(Protocol):
    """A response that is being streamed."""

    @property
    def owner(self) -> OwnerId: ...

    @property
    def agent_id(self) -> AgentId: ...

    def catch_up(self) -> None:
        """Send held-back output to watchers, so that they have everything in `so_far`."""
        ...

    def so_far(self) -> Sequence[LiveEvent]: ...


class Reader:
    """One subscriber's bounded queue."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Change | LiveEvent | None] = asyncio.Queue(_QUEUE)
        self.is_live = False  # changes are queued from the start, live output only when True
        self.has_lagged = False

    def offer(self, thing: Change | LiveEvent | None) -> None:
        try:
            self.queue.put_nowait(thing)
        except asyncio.QueueFull:
            self.has_lagged = True


class SubscriberSet:
    """Subscribers of the same target: one agent with its helpers, or all agents of an owner."""

    def __init__(self, owner: OwnerId, agent_id: AgentId | None) -> None:
        self.owner = owner
        self.agent_id = agent_id
        self.helpers = AwaitedAgents(agent_id) if agent_id is not None else None
        self.indexed: frozenset[AgentId] = frozenset()  # helpers it is indexed under
        self.readers: set[Reader] = set()

    def hears(self, owner: OwnerId, agent_id: AgentId) -> bool:
        return owner == self.owner and (
            self.agent_id in (None, agent_id) or agent_id in self.indexed
        )

    def offer(self, thing: Change | LiveEvent | None) -> None:
        for reader in self.readers:
            reader.offer(thing)

    def show(self, events: Sequence[LiveEvent]) -> None:
        for reader in self.readers:
            if reader.is_live:
                for event in events:
                    reader.offer(event)


class Subscribers:
    """All subscribers, by target."""

    def __init__(self) -> None:
        self.are_empty = True
        self._of_owners: dict[OwnerId, SubscriberSet] = {}
        self._of_agents: dict[AgentId, SubscriberSet] = {}
        self._of_helpers: dict[
            AgentId, set[SubscriberSet]
        ] = {}  # subscribers of the agents that a helper works for

    def __iter__(self) -> Iterator[SubscriberSet]:
        yield from self._of_owners.values()
        yield from self._of_agents.values()

    def join(self, owner: OwnerId, agent_id: AgentId | None, reader: Reader) -> SubscriberSet:
        """Add a reader; the caller has checked that the agent belongs to the owner."""
        if agent_id is None:
            audience = self._of_owners.setdefault(owner, SubscriberSet(owner, None))
        else:
            audience = self._of_agents.setdefault(agent_id, SubscriberSet(owner, agent_id))
        audience.readers.add(reader)
        self.are_empty = False
        return audience

    def leave(self, audience: SubscriberSet, reader: Reader) -> None:
        audience.readers.discard(reader)
        if audience.readers:
            return
        if audience.agent_id is None:
            del self._of_owners[audience.owner]
        else:
            self._index(audience, frozenset())
            del self._of_agents[audience.agent_id]
        self.are_empty = not self._of_owners and not self._of_agents

    def is_heard(self, owner: OwnerId, agent_id: AgentId) -> bool:
        """Whether anyone watches the agent, or one that it works for."""
        return not self.are_empty and (
            owner in self._of_owners or agent_id in self._of_agents or agent_id in self._of_helpers
        )

    def watching(self, owner: OwnerId, agent_id: AgentId) -> Iterator[SubscriberSet]:
        """Subscribers of this agent, and of all agents of the owner."""
        audience = self._of_owners.get(owner)
        if audience is not None:
            yield audience
        audience = self._of_agents.get(agent_id)
        if audience is not None and audience.owner == owner:
            yield audience

    def beside(self, owner: OwnerId, agent_id: AgentId) -> Iterator[SubscriberSet]:
        """Subscribers of agents that this agent works for."""
        for audience in self._of_helpers.get(agent_id, ()):
            if audience.owner == owner and audience.agent_id != agent_id:
                yield audience

    def follow(self, agent: Agent) -> None:
        """Update the index with the agents that this agent waits for."""
        concerned = [*self._of_helpers.get(agent.id, ())]
        watched = self._of_agents.get(agent.id)
        if watched is not None:
            concerned.append(watched)
        for audience in concerned:
            if audience.helpers is not None and audience.owner == agent.owner:
                audience.helpers.follow(agent)
                self._index(audience, audience.helpers.members)

    async def find_helpers(self, audience: SubscriberSet, store: Store) -> None:
        """Load the agents that already work for the watched agent."""
        if audience.helpers is not None:
            await audience.helpers.read(store, audience.owner)
            if audience.readers:
                self._index(audience, audience.helpers.members)

    def _index(self, audience: SubscriberSet, members: frozenset[AgentId]) -> None:
        for gone in audience.indexed - members:
            listeners = self._of_helpers[gone]
            listeners.discard(audience)
            if not listeners:
                del self._of_helpers[gone]
        for new in members - audience.indexed:
            self._of_helpers.setdefault(new, set()).add(audience)
        audience.indexed = members


class Feed:
    """Publishes committed changes, and live output while someone watches."""

    def __init__(self, store: Store, is_in_memory: IsInMemory) -> None:
        self._store = store
        self._is_in_memory = is_in_memory
        self._audiences = Subscribers()
        self.is_heard = self._audiences.is_heard
        self._streamed: dict[AgentId, Streamed] = {}

    def publish(self, changes: Sequence[Change]) -> None:
        for change in changes:
            owner, agent_id = change.owner, change.agent_id
            if change.records:
                self._streamed.pop(agent_id, None)  # the streamed response is a record now
            if self._audiences.are_empty or not self.is_heard(owner, agent_id):
                continue
            for audience in self._audiences.watching(owner, agent_id):
                audience.offer(change)
            if change.requests:
                asked = structs.replace(change, records=(), items=(), agent=None)
                for audience in self._audiences.beside(owner, agent_id):
                    audience.offer(asked)
            if change.agent is not None:
                self._audiences.follow(change.agent)

    def live(self, owner: OwnerId, agent_id: AgentId, *events: LiveEvent) -> None:
        """Send live output to subscribers of the agent or of one that waits for it."""
        for audience in self._audiences.watching(owner, agent_id):
            audience.show(events)
        for audience in self._audiences.beside(owner, agent_id):
            audience.show(events)

    def streams(self, response: Streamed) -> None:
        """Register a response, for readers that subscribe while it is being streamed."""
        self._streamed[response.agent_id] = response

    def streams_no_more(self, agent_id: AgentId) -> None:
        self._streamed.pop(agent_id, None)

    def announce(self, event: LiveEvent, *, owner: OwnerId | None = None) -> None:
        """Send an event to all subscribers, or to all subscribers of one owner."""
        for audience in self._audiences:
            if owner is None or audience.owner == owner:
                audience.offer(event)

    def close(self) -> None:
        for audience in self._audiences:
            audience.offer(None)

    async def subscribe(
        self, owner: OwnerId, *, after: int | None, agent_id: AgentId | None
    ) -> AsyncIterator[Event]:
        """Replay events after the cursor, then continue live, without gaps or repeats."""
        reader = Reader()
        # Before the replay, so that changes committed meanwhile are queued.
        audience = self._audiences.join(owner, agent_id, reader)
        try:
            await self._audiences.find_helpers(audience, self._store)
            if after is None:
                seen = cursor_of(await self._store.cursor())
                streamed = self._begin_live(audience, reader)
                yield HelloEvent(cursor=seen)
            else:
                seen = after
                yield HelloEvent(cursor=seen)
                async for event in self._replay(owner, after, agent_id):
                    seen = event.cursor
                    yield event
                streamed = self._begin_live(audience, reader)
            for event in streamed:
                yield event
            async for event in self._follow(reader, seen):
                yield event
        finally:
            self._audiences.leave(audience, reader)

    def _begin_live(self, audience: SubscriberSet, reader: Reader) -> list[LiveEvent]:
        """The output streamed so far; from now on the reader receives the rest."""
        for response in self._streamed.values():
            response.catch_up()
        reader.is_live = True
        return [
            event
            for response in self._streamed.values()
            if audience.hears(response.owner, response.agent_id)
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

    async def _follow(self, reader: Reader, seen: int) -> AsyncIterator[Event]:
        while True:
            if reader.has_lagged:
                raise LaggedError("this reader was too slow; subscribe again from its last cursor")
            thing = await reader.queue.get()
            if thing is None:
                return
            if not isinstance(thing, Change):
                yield thing
            else:
                for event in events_of(thing, self._is_in_memory):
                    if event.cursor > seen:
                        yield event
