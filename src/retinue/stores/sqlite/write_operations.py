"""What the writer thread is asked to do, with everything encoded that can be."""

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
    """One thing to do; `future` hears how it ended, after it is on disk."""

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
    begun: bytes | None  # the body of the item that it begins
    name: ClassVar[str] = "commit"


class DeleteAgent(WriteOperation):
    """Forget an agent."""

    owner: OwnerId
    agent_id: AgentId
    name: ClassVar[str] = "delete"


class Execute(WriteOperation):
    """Run one statement by its name."""

    statement: str
    parameters: Sequence[Any]
    agent_id: AgentId | None = None  # whom it changes, for the feed
    name: ClassVar[str] = "delivery"


class Restore(WriteOperation):
    """Put a whole agent back; the id and the identity must be free."""

    stored: StoredAgent
    name: ClassVar[str] = "restore"


class RestoreAll(WriteOperation):
    """Put many agents back, or none of them."""

    agents: Iterable[StoredAgent]
    name: ClassVar[str] = "restore"


class SetAside(WriteOperation):
    """Keep the place of an agent that cannot be read."""

    agent_id: AgentId
    owner: OwnerId | None
    identity: str | None
    reason: str
    name: ClassVar[str] = "restore"


class SkipTo(WriteOperation):
    """Let the feed go on after a cursor that another database had reached."""

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
    """Finish a checkpoint that readers began, so that the log starts over."""

    name: ClassVar[str] = "checkpoint"


class ScheduleOperation(WriteOperation):
    """Something about one schedule."""

    owner: OwnerId
    schedule_id: ScheduleId
    name: ClassVar[str] = "schedule"


class AddSchedule(ScheduleOperation):
    """Store a new schedule, or find the one that has its id."""

    stored: StoredSchedule
    body: bytes


class ReplaceSchedule(ScheduleOperation):
    """Change a schedule that is still of this revision."""

    stored: StoredSchedule
    body: bytes


class RemoveSchedule(ScheduleOperation):
    """Forget a schedule and its slots."""


class Fire(ScheduleOperation):
    """Take a slot with all that follows from it."""

    firing: Firing
    posts: Sequence[tuple[Post, bytes]]
    name: ClassVar[str] = "slot"


class ExecuteMark(Execute):
    """Run one statement about a mark."""

    name: ClassVar[str] = "mark"


class ExecuteVariable(Execute):
    """Run one statement about an account's value."""

    name: ClassVar[str] = "variable"


class ChangeArtifacts(WriteOperation):
    """Make a change of lists, notes or views."""

    change: NewChange
    name: ClassVar[str] = "artifact"


class RestoreArtifacts(WriteOperation):
    """Put an owner's lists, notes and views back; what is there already stays."""

    kept: KeptArtifacts
    name: ClassVar[str] = "restore"


class RestoreSchedules(WriteOperation):
    """Put schedules back; what is there already stays."""

    kept: KeptSchedules
    name: ClassVar[str] = "restore"
