"""Who watches what: found at once for each event, however many windows are open."""

import asyncio
from collections.abc import Iterator

from retinue.engine.feed.awaited_agents import AwaitedAgents
from retinue.events import LiveEvent
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Agent, Change, Store

_QUEUE = 2_000


class Reader:
    """One subscriber's bounded queue."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Change | LiveEvent | None] = asyncio.Queue(_QUEUE)
        self.is_live = False  # committed changes are queued from the start, live output later
        self.has_lagged = False

    def offer(self, thing: Change | LiveEvent | None) -> None:
        try:
            self.queue.put_nowait(thing)
        except asyncio.QueueFull:
            self.has_lagged = True


class SubscriberSet:
    """All who watch the same: one agent and those that work for it, or all agents of an owner."""

    def __init__(self, owner: OwnerId, agent_id: AgentId | None) -> None:
        self.owner = owner
        self.agent_id = agent_id
        self.helpers = AwaitedAgents(agent_id) if agent_id is not None else None
        self.indexed: frozenset[AgentId] = frozenset()  # helpers by whom it is found
        self.readers: set[Reader] = set()

    def hears(self, owner: OwnerId, agent_id: AgentId) -> bool:
        return owner == self.owner and (
            self.agent_id in (None, agent_id) or agent_id in self.indexed
        )

    def offer(self, thing: Change | LiveEvent | None) -> None:
        for reader in self.readers:
            reader.offer(thing)

    def show(self, event: LiveEvent) -> None:
        for reader in self.readers:
            if reader.is_live:
                reader.offer(event)


class Subscribers:
    """Everybody who watches, by what they watch."""

    def __init__(self) -> None:
        self.are_empty = True
        self._of_owners: dict[OwnerId, SubscriberSet] = {}
        self._of_agents: dict[AgentId, SubscriberSet] = {}
        self._of_helpers: dict[
            AgentId, set[SubscriberSet]
        ] = {}  # who watches what a helper works for

    def __iter__(self) -> Iterator[SubscriberSet]:
        yield from self._of_owners.values()
        yield from self._of_agents.values()

    def join(self, owner: OwnerId, agent_id: AgentId | None, reader: Reader) -> SubscriberSet:
        """Add a reader; whether the agent is the owner's was asked before."""
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
        """Whether anybody watches the agent, or one that it works for."""
        return not self.are_empty and (
            owner in self._of_owners or agent_id in self._of_agents or agent_id in self._of_helpers
        )

    def watching(self, owner: OwnerId, agent_id: AgentId) -> Iterator[SubscriberSet]:
        """Give those who asked for this agent, or for all of the owner's."""
        audience = self._of_owners.get(owner)
        if audience is not None:
            yield audience
        audience = self._of_agents.get(agent_id)
        if audience is not None and audience.owner == owner:
            yield audience

    def beside(self, owner: OwnerId, agent_id: AgentId) -> Iterator[SubscriberSet]:
        """Give those who watch somebody whom this agent works for, and not itself."""
        for audience in self._of_helpers.get(agent_id, ()):
            if audience.owner == owner and audience.agent_id != agent_id:
                yield audience

    def follow(self, agent: Agent) -> None:
        """Take up whom the agent waits for now."""
        concerned = [*self._of_helpers.get(agent.id, ())]
        watched = self._of_agents.get(agent.id)
        if watched is not None:
            concerned.append(watched)
        for audience in concerned:
            if audience.helpers is not None and audience.owner == agent.owner:
                audience.helpers.follow(agent)
                self._index(audience, audience.helpers.members)

    async def find_helpers(self, audience: SubscriberSet, store: Store) -> None:
        """Find out who works already for the agent that is watched."""
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
