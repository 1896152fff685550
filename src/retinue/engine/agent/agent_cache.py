"""The agents in memory, those that were used last at the end, and how much they take together."""

from collections import OrderedDict
from collections.abc import Collection

from retinue.engine.agent.live_agent import LiveAgent
from retinue.ids import AgentId


class AgentCache(OrderedDict[AgentId, LiveAgent]):
    """Agents by their id."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self._most_bytes = most_bytes
        self._bytes = 0
        self._weights: dict[AgentId, int] = {}

    def cool_down(self, agent_id: AgentId, running: Collection[AgentId]) -> None:
        """Weigh an agent, and let those that were used longest ago go when all take too much."""
        live = self.get(agent_id)
        weight = live.weight if live else 0
        self._bytes += weight - self._weights.pop(agent_id, 0)
        if weight:
            self._weights[agent_id] = weight
        if self._bytes > self._most_bytes:
            for oldest in [resting for resting in self if resting not in running]:
                if self._bytes <= self._most_bytes:
                    break
                del self[oldest]
                self._bytes -= self._weights.pop(oldest, 0)
