"""The agents that an agent waits for, directly or not: their work is shown in its tool calls."""

from collections.abc import Iterator

from retinue.errors import NotFoundError
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Agent, Store


class AwaitedAgents:
    """Tracks the agents that work for a watched agent."""

    def __init__(self, watched: AgentId) -> None:
        self._watched = watched
        self._waits: dict[AgentId, frozenset[AgentId]] = {}
        self._members: frozenset[AgentId] = frozenset()

    @property
    def members(self) -> frozenset[AgentId]:
        return self._members

    def follow(self, agent: Agent) -> None:
        """Update what the agent waits for, if it is the watched agent or works for it."""
        if agent.id == self._watched or agent.id in self._members:
            waits = frozenset(_waited_for(agent))
            if waits != self._waits.get(agent.id, frozenset()):
                self._waits[agent.id] = waits
                self._members = frozenset(self._reached())
                kept = self._members | {self._watched}
                self._waits = {who: whom for who, whom in self._waits.items() if who in kept}

    async def read(self, store: Store, owner: OwnerId) -> None:
        """Load the agents that are already working."""
        unread, seen = [self._watched], {self._watched}
        while unread:
            try:
                self.follow(await store.agent(owner, unread.pop()))
            except NotFoundError:
                continue
            unread += self._members - seen
            seen |= self._members

    def _reached(self) -> Iterator[AgentId]:
        found, unseen = {self._watched}, [self._watched]
        while unseen:
            for helper in self._waits.get(unseen.pop(), ()):
                if helper not in found:
                    found.add(helper)
                    unseen.append(helper)
                    yield helper


def _waited_for(agent: Agent) -> Iterator[AgentId]:
    turn = agent.state.turn
    for suspension in turn.suspended if turn is not None else ():
        if suspension.agent_id is not None:
            yield suspension.agent_id
