"""Runs turns that crashed a process one at a time, so that the next crash has one suspect."""

from collections.abc import Callable

from retinue.engine.feed.dispatch import Priority
from retinue.ids import AgentId


class CrashQuarantine:
    """Runs one suspect at a time; other agents are not affected."""

    def __init__(self, wake: Callable[[AgentId, Priority], None]) -> None:
        self._wake = wake
        self._running: AgentId | None = None
        self._waiting: dict[AgentId, Priority] = {}

    def begin(self, agent_id: AgentId, priority: Priority) -> bool:
        """Whether this suspect may run now; if not, it is woken later."""
        if self._running not in (None, agent_id):
            self._waiting[agent_id] = priority
            return False
        self._waiting.pop(agent_id, None)
        self._running = agent_id
        return True

    def end(self, agent_id: AgentId) -> None:
        """End a run and wake the next suspect; a woken agent may not have needed a trial."""
        if self._running == agent_id:
            self._running = None
        if self._running is None and self._waiting:
            suspect = next(iter(self._waiting))
            self._wake(suspect, self._waiting.pop(suspect))
