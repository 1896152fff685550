"""The snapshot that each turn began with, and what of it is still in force."""

from dataclasses import dataclass

from retinue.agents.state import Turn
from retinue.ids import AgentId
from retinue.project.snapshot import ProjectSnapshot
from retinue.project.watcher import ProjectWatcher


@dataclass(slots=True, kw_only=True)
class _Pinned:
    """A turn's snapshot, and what it comes to beside the current one."""

    first_seq: int  # of the turn
    snapshot: ProjectSnapshot
    in_force: ProjectSnapshot
    current: ProjectSnapshot  # that `in_force` was made for
    definition: str  # and the definition that it keeps


class TurnSnapshots:
    """Pins a snapshot from the first step of a turn to its end, in memory.

    Texts and tools' code stay as they were when the turn began. What the files take away
    meanwhile (rights, tools) is gone at once. A process that takes over a turn after a crash pins
    the snapshot that is current then.
    """

    def __init__(self, project: ProjectWatcher) -> None:
        self.current = project.current
        self._pinned: dict[AgentId, _Pinned] = {}
        project.listen(self._follow)

    def _follow(self, snapshot: ProjectSnapshot) -> None:
        self.current = snapshot

    def of(self, agent_id: AgentId, turn: Turn | None, definition: str) -> ProjectSnapshot:
        """What an agent works with: its turn's snapshot, as far as it is still in force."""
        current = self.current
        if turn is None:
            return current
        pinned = self._pinned.get(agent_id)
        if pinned is None or pinned.first_seq != turn.first_seq:
            pinned = self._pinned[agent_id] = _Pinned(
                first_seq=turn.first_seq,
                snapshot=current,
                in_force=current,
                current=current,
                definition=definition,
            )
        elif pinned.current is not current or pinned.definition != definition:
            pinned.in_force = pinned.snapshot.in_force(current, keeping=definition)
            pinned.current, pinned.definition = current, definition
        return pinned.in_force

    def peek(self, agent_id: AgentId, turn: Turn | None, definition: str) -> ProjectSnapshot:
        """The same, for those who only look: a turn that has no snapshot yet gets none by it."""
        if turn is None or agent_id not in self._pinned:
            return self.current
        return self.of(agent_id, turn, definition)

    def release(self, agent_id: AgentId) -> None:
        """Forget a turn that ended, or an agent that was deleted."""
        self._pinned.pop(agent_id, None)
