"""Operations for the writer thread, encoded as far as possible."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from retinue.ids import AgentId, OwnerId, ScheduleId
from retinue.stores.agent_export import StoredAgent
from retinue.stores.artifact_port import KeptArtifacts, NewChange
from retinue.stores.port import Commit, NewAgent, Offset, Post
from retinue.stores.request_port import Decision
from retinue.stores.schedule_port import Firing, KeptSchedules, StoredSchedule


class WriteOperation(Struct, eq=False):
    """One operation; `future` receives the result when it is on disk."""

    future: "asyncio.Future[Any] | None"
    name: ClassVar[str] = "operation"


class Admit(WriteOperation):
    """Put an item into an inbox."""

    post: Post
    body: bytes
    offset: Offset | None
    name: ClassVar[str] = "admit"


class Create(WriteOperation):
    """Find an agent or create it."""

    new: NewAgent
    name: ClassVar[str] = "create"


class Claim(WriteOperation):
    """Take an agent's next epoch."""

    agent_id: AgentId
    name: ClassVar[str] = "claim"


class Apply(WriteOperation):
    """Apply a step."""

    commit: Commit
    state: bytes | None
    records: Sequence[bytes]
    bodies: Sequence[bytes]  # of the posts
    begun: bytes | None  # the body of the item it begins
    name: ClassVar[str] = "commit"


class DeleteAgent(WriteOperation):
    """Delete an agent."""

    owner: OwnerId
    agent_id: AgentId
    name: ClassVar[str] = "delete"


class Execute(WriteOperation):
    """Run one statement by name."""

    statement: str
    parameters: Sequence[Any]
    agent_id: AgentId | None = None  # the agent it changes, for the feed
    name: ClassVar[str] = "delivery"


class Restore(WriteOperation):
    """Restore a complete agent; its id and identity must be free."""

    stored: StoredAgent
    name: ClassVar[str] = "restore"


class RestoreAll(WriteOperation):
    """Restore many agents, all or none."""

    agents: Iterable[StoredAgent]
    name: ClassVar[str] = "restore"


class SetAside(WriteOperation):
    """Reserve the id and identity of an unreadable agent."""

    agent_id: AgentId
    owner: OwnerId | None
    identity: str | None
    reason: str
    name: ClassVar[str] = "restore"


class SkipTo(WriteOperation):
    """Continue the feed after the cursor of another database."""

    cursor: int
    name: ClassVar[str] = "restore"


class SettleRequest(WriteOperation):
    """Decide a request and answer the agent that asked."""

    agent_id: AgentId
    decision: Decision
    body: bytes  # of the answer
    notices: Sequence[tuple[Post, bytes]]
    name: ClassVar[str] = "request"


class Checkpoint(WriteOperation):
    """Finish a checkpoint that readers started, so that the log restarts."""

    name: ClassVar[str] = "checkpoint"


class ScheduleOperation(WriteOperation):
    """An operation on one schedule."""

    owner: OwnerId
    schedule_id: ScheduleId
    name: ClassVar[str] = "schedule"


class AddSchedule(ScheduleOperation):
    """Store a new schedule, or find the one with its id."""

    stored: StoredSchedule
    body: bytes


class ReplaceSchedule(ScheduleOperation):
    """Replace a schedule that still has this revision."""

    stored: StoredSchedule
    body: bytes


class RemoveSchedule(ScheduleOperation):
    """Delete a schedule and its slots."""


class Fire(ScheduleOperation):
    """Take a slot and apply everything in the firing."""

    firing: Firing
    posts: Sequence[tuple[Post, bytes]]
    name: ClassVar[str] = "slot"


class ExecuteMark(Execute):
    """Run one statement about a mark."""

    name: ClassVar[str] = "mark"


class ExecuteVariable(Execute):
    """Run one statement about an account variable."""

    name: ClassVar[str] = "variable"


class ChangeArtifacts(WriteOperation):
    """Apply a change to lists, notes or views."""

    change: NewChange
    name: ClassVar[str] = "artifact"


class RestoreArtifacts(WriteOperation):
    """Restore an owner's lists, notes and views; existing ones are kept."""

    kept: KeptArtifacts
    name: ClassVar[str] = "restore"


class RestoreSchedules(WriteOperation):
    """Restore schedules; existing ones are kept."""

    kept: KeptSchedules
    name: ClassVar[str] = "restore"
