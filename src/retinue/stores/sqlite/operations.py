"""What the writer thread is asked to do, with everything encoded that can be."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Commit, NewAgent, Offset, Post
from retinue.stores.whole import StoredAgent


@dataclass(slots=True, eq=False)
class Operation:
    """One thing to do; `future` hears how it ended, after it is on disk."""

    future: "asyncio.Future[Any] | None"
    name: ClassVar[str] = "operation"


@dataclass(slots=True, eq=False)
class Admit(Operation):
    """Put an item into an inbox."""

    post: Post
    body: bytes
    offset: Offset | None
    name: ClassVar[str] = "admit"


@dataclass(slots=True, eq=False)
class Create(Operation):
    """Find an agent or create it."""

    new: NewAgent
    name: ClassVar[str] = "create"


@dataclass(slots=True, eq=False)
class Claim(Operation):
    """Take an agent's next epoch."""

    agent_id: AgentId
    name: ClassVar[str] = "claim"


@dataclass(slots=True, eq=False)
class Apply(Operation):
    """Apply a step."""

    commit: Commit
    state: bytes | None
    records: Sequence[bytes]
    bodies: Sequence[bytes]  # of the posts
    name: ClassVar[str] = "commit"


@dataclass(slots=True, eq=False)
class Delete(Operation):
    """Forget an agent."""

    owner: OwnerId
    agent_id: AgentId
    name: ClassVar[str] = "delete"


@dataclass(slots=True, eq=False)
class Execute(Operation):
    """Run one statement by its name."""

    statement: str
    parameters: Sequence[Any]
    name: ClassVar[str] = "delivery"


@dataclass(slots=True, eq=False)
class Restore(Operation):
    """Put a whole agent back; the id and the identity must be free."""

    stored: StoredAgent
    name: ClassVar[str] = "restore"


@dataclass(slots=True, eq=False)
class SetAside(Operation):
    """Keep the place of an agent that cannot be read."""

    agent_id: AgentId
    owner: OwnerId | None
    identity: str | None
    reason: str
    name: ClassVar[str] = "restore"


@dataclass(slots=True, eq=False)
class SkipTo(Operation):
    """Let the feed go on after a cursor that another database had reached."""

    cursor: int
    name: ClassVar[str] = "restore"


@dataclass(slots=True, eq=False)
class Checkpoint(Operation):
    """Finish a checkpoint that readers began, so that the log starts over."""

    name: ClassVar[str] = "checkpoint"
