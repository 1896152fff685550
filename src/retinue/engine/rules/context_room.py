"""How full an agent's context is, and what could leave it: from its records, state and limits."""

from typing import Literal

from retinue.agents.context import (
    CHARACTERS_PER_TOKEN,
    LARGEST_CORRECTION,
    corrected_tokens,
    estimated_tokens,
)
from retinue.agents.state import AgentState
from retinue.engine.agent.limits import Limits
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.rules.context_policy import (
    WARNING,
    command_cut,
    compaction_cut,
    pressure_of,
    prune_cut,
    record_tokens,
)
from retinue.engine.rules.decision import Pressure

Summing = Literal["warning", "critical", "command"]
Pruning = Literal["emergency", "overflow"]

_CALM = WARNING * CHARACTERS_PER_TOKEN / LARGEST_CORRECTION
"""Characters for each token of the limit that are no pressure, however far off the estimate is."""


class ContextRoom:
    """Measures contexts; the same records, state and settings give the same figures."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def limit(self, state: AgentState) -> int:
        """Tokens that the context may have: the setting, or the model's window if that is less."""
        limit, window = self._limits.context_tokens, state.prompt_size.window
        return window if window and window < limit else limit

    def estimate(self, live: LiveAgent, state: AgentState | None = None) -> int:
        state = state or live.state
        return estimated_tokens(live.context.characters + state.prompt_size.overhead)

    def corrected(self, live: LiveAgent, state: AgentState | None = None) -> int:
        """The estimate, scaled by how far off the last one was."""
        last = (state or live.state).tokens
        return corrected_tokens(self.estimate(live, state), last, last.model if last else "")

    def pressure(self, live: LiveAgent, state: AgentState | None = None) -> Pressure:
        state = state or live.state
        limit = self.limit(state)
        if live.context.characters + state.prompt_size.overhead < limit * _CALM:
            return "low"  # whatever the correction; nearly every call ends here
        return pressure_of(self.corrected(live, state), limit)

    def room(self, live: LiveAgent, state: AgentState | None = None) -> int:
        """How many tokens the records may take, estimated and corrected by the last call."""
        state = state or live.state
        corrected = self.corrected(live, state)
        scale = self.estimate(live, state) / corrected if corrected else 1.0
        overhead = estimated_tokens(state.prompt_size.overhead)
        return max(0, round(self.limit(state) * scale) - overhead)

    def kept_from(
        self, live: LiveAgent, reason: Summing, state: AgentState | None = None
    ) -> int | None:
        """The seq from which records stay when the older ones are summed up."""
        records = live.history.records
        if reason == "command":
            return command_cut(records)
        return compaction_cut(records, self.room(live, state))

    def pruned_to(
        self, live: LiveAgent, reason: Pruning, state: AgentState | None = None
    ) -> int | None:
        """The seq from which records stay when the older ones are dropped."""
        records, room = live.history.records, self.room(live, state)
        if reason == "overflow":  # our own figures were wrong: less than there is now
            room = min(room, sum(map(record_tokens, records)))
        return prune_cut(records, room)

    def can_compact(self, live: LiveAgent, state: AgentState | None = None) -> bool:
        """There is something old enough to sum up, and the last try here did not fail."""
        if live.state.compaction_failed_at >= live.next_seq:
            return False
        return self.kept_from(live, "critical", state) is not None

    def is_needed(self, live: LiveAgent, state: AgentState) -> bool:
        """Whether a decision about this state would make room before a model is called."""
        match self.pressure(live, state):
            case "full":
                is_prunable = self.pruned_to(live, "emergency", state) is not None
                return is_prunable or self.can_compact(live, state)
            case "critical":
                return self.can_compact(live, state)
            case "warning" | "low":
                return False
