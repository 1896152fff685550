"""What the writer thread is asked to do, with everything encoded that can be."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from retinue.agents.inbox import Item
from retinue.agents.state import AgentState, Lifecycle
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Commit, NewAgent, NewDelivery, Offset, Post


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


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    """An item with what only the store knows about it."""

    item: Item
    body: bytes
    dedupe_key: str | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAgent:
    """A whole agent, as a folder or an export holds it."""

    id: AgentId
    owner: OwnerId
    descriptor: bytes
    definition: str
    lifecycle: Lifecycle
    state: AgentState
    context_from: int
    records: Sequence[bytes]
    items: Sequence[StoredItem]
    deliveries: Sequence[NewDelivery] = field(default_factory=tuple[NewDelivery, ...])


@dataclass(slots=True, eq=False)
class Restore(Operation):
    """Put a whole agent back; the id and the identity must be free."""

    stored: StoredAgent
    name: ClassVar[str] = "restore"


@dataclass(slots=True, eq=False)
class Checkpoint(Operation):
    """Finish a checkpoint that readers began, so that the log starts over."""

    name: ClassVar[str] = "checkpoint"
