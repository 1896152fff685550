"""The complete data of an agent, as folders, exports and rebuilds transfer it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from retinue.agents.artifact import ArtifactId
from retinue.agents.inbox import FinalFate, Item
from retinue.agents.state import Lifecycle
from retinue.ids import AgentId, ItemId, OwnerId
from retinue.stores.artifact_port import (
    ArtifactChange,
    ArtifactStore,
    KeptArtifacts,
    StoredArtifact,
)
from retinue.stores.port import Agent
from retinue.stores.schedule_port import KeptSchedules, ScheduleStore
from retinue.stores.variable_port import KeptVariables, VariableStore


class HeldItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """An open item with its idempotency key and digest."""

    item: Item
    key: str | None = None
    digest: str = ""


class EndedItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """The stored summary of a finished item; its text is in the history."""

    id: ItemId
    seq: int
    kind: str  # as stored; older data has `ending` and `switch`, which are commands today
    silent: bool
    fate: FinalFate
    reason: str
    reply_seq: int | None
    key: str | None
    digest: str
    admitted_at: datetime
    ended_at: datetime
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAgent:
    """The complete data of an agent; JSON read from a store is kept byte for byte."""

    id: AgentId
    owner: OwnerId
    descriptor: bytes
    definition: str
    lifecycle: Lifecycle
    context_from: int
    state: bytes
    last_seq: int
    last_item: int  # the seq of the newest item
    history: bytes  # JSON lines, each with its newline; may hold only the newest ones
    inbox: bytes  # JSON array of `HeldItem`
    ended: bytes  # JSON array of `EndedItem`, only those after `settled`
    outbox: bytes  # JSON array of `NewDelivery`
    requests: bytes = b"[]"  # JSON array of `Request`: pending ones and the most recent others
    settled: int = 0  # items up to this seq have ended and are stored elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """The agents that changed after a feed cursor."""

    cursor: int
    changed: frozenset[AgentId]
    deleted: frozenset[AgentId]


class ArtifactReader(Protocol):
    """Reads lists, notes and views for the folders and for exports."""

    def bounds(self) -> tuple[int, int]:
        """The numbers of the oldest and newest stored change, or zeros if there is none."""
        ...

    def changes(self, after: int, limit: int) -> list[ArtifactChange]:
        """Changes of all owners, oldest first."""
        ...

    def owners(self) -> Sequence[OwnerId]: ...

    def get(self, owner: OwnerId, artifact_id: ArtifactId) -> StoredArtifact | None: ...

    def items(self, owner: OwnerId, list_id: ArtifactId) -> Sequence[StoredArtifact]: ...

    def kept(self, owner: OwnerId, changes: int) -> KeptArtifacts:
        """Everything of an owner, with the given number of most recent changes."""
        ...


class WholeReader(Protocol):
    """Reads complete agents from a thread of its own."""

    def cursor(self) -> int: ...

    def touched(self, after: int) -> Touched | None:
        """The agents changed after the cursor; None if the feed does not go back that far."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Run all reads in the block against one snapshot; keep the block short."""
        ...

    def ids(self) -> Iterator[AgentId]: ...

    def read(self, agent_id: AgentId, *, after: int, settled: int = 0) -> StoredAgent | None:
        """The agent with its records after a seq and its items after `settled`."""
        ...

    def offsets(self) -> Mapping[str, str]:
        """The positions that connectors have reached in their sources."""
        ...

    def schedules(self) -> KeptSchedules: ...

    def variables(self) -> KeptVariables: ...

    @property
    def artifacts(self) -> ArtifactReader: ...

    def close(self) -> None: ...


class WholeStore(Protocol):
    """A store that can export and restore complete agents."""

    @property
    def schedules(self) -> ScheduleStore: ...

    @property
    def variables(self) -> VariableStore: ...

    @property
    def artifacts(self) -> ArtifactStore: ...

    def whole_reader(self) -> WholeReader: ...

    async def restore(self, stored: StoredAgent) -> Agent:
        """Restore an agent. Raises `ConflictError` when its id or identity is taken."""
        ...

    async def restore_all(self, agents: Iterable[StoredAgent]) -> None:
        """Restore agents in one transaction, all or none.

        The iterable is consumed in the store's thread, which writes nothing else meanwhile.
        Raises what `restore` raises and what the iterable raises.
        """
        ...

    async def restore_feed(self, cursor: int, offsets: Mapping[str, str]) -> None:
        """Continue the feed after this cursor, so old cursors are detected, and set the offsets."""
        ...

    async def set_aside(
        self, agent_id: AgentId, *, owner: OwnerId | None, identity: str | None, reason: str
    ) -> None:
        """Reserve the id and identity of an unreadable agent, so no new agent takes them."""
        ...
