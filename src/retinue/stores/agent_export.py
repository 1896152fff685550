"""A whole agent, as folders, exports and rebuilding carry it between stores."""

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
    """An open item with what only the store knows about it."""

    item: Item
    key: str | None = None
    digest: str = ""


class EndedItem(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is kept of an item that ended; history has its text."""

    id: ItemId
    seq: int
    kind: str  # a kind of its time: `ending` and `switch` are commands today
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
    """Everything that is needed to go on; what was read is kept byte for byte."""

    id: AgentId
    owner: OwnerId
    descriptor: bytes
    definition: str
    lifecycle: Lifecycle
    context_from: int
    state: bytes
    last_seq: int
    last_item: int  # the seq of the newest item
    history: bytes  # JSON lines, each with its newline; possibly only the newest ones
    inbox: bytes  # JSON array of `HeldItem`
    ended: bytes  # JSON array of `EndedItem`: those after `settled`
    outbox: bytes  # JSON array of `NewDelivery`
    requests: bytes = b"[]"  # JSON array of `Request`: the pending ones and the last others
    settled: int = 0  # items up to this seq ended, and are told elsewhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """Agents of the feed after a cursor."""

    cursor: int
    changed: frozenset[AgentId]
    deleted: frozenset[AgentId]


class ArtifactReader(Protocol):
    """Reads lists, notes and views for the folders and for exports."""

    def bounds(self) -> tuple[int, int]:
        """The numbers of the oldest and the newest change that is kept; zeros without any."""
        ...

    def changes(self, after: int, limit: int) -> list[ArtifactChange]:
        """Everybody's changes, oldest first."""
        ...

    def owners(self) -> Sequence[OwnerId]: ...

    def get(self, owner: OwnerId, artifact_id: ArtifactId) -> StoredArtifact | None: ...

    def items(self, owner: OwnerId, list_id: ArtifactId) -> Sequence[StoredArtifact]: ...

    def kept(self, owner: OwnerId, changes: int) -> KeptArtifacts:
        """Everything of an owner, with so many of the last changes."""
        ...


class WholeReader(Protocol):
    """Reads whole agents, in a thread of its own."""

    def cursor(self) -> int: ...

    def touched(self, after: int) -> Touched | None:
        """What changed; None when the feed does not go back that far."""
        ...

    def snapshot(self) -> AbstractContextManager[None]:
        """Let all reads within it see one moment; keep it short."""
        ...

    def ids(self) -> Iterator[AgentId]: ...

    def read(self, agent_id: AgentId, *, after: int, settled: int = 0) -> StoredAgent | None:
        """The agent with its records after a seq, and its items that are not settled."""
        ...

    def offsets(self) -> Mapping[str, str]:
        """How far connectors have read their sources."""
        ...

    def schedules(self) -> KeptSchedules: ...

    def variables(self) -> KeptVariables: ...

    @property
    def artifacts(self) -> ArtifactReader: ...

    def close(self) -> None: ...


class WholeStore(Protocol):
    """A store that whole agents can be read from and put back into."""

    @property
    def schedules(self) -> ScheduleStore: ...

    @property
    def variables(self) -> VariableStore: ...

    @property
    def artifacts(self) -> ArtifactStore: ...

    def whole_reader(self) -> WholeReader: ...

    async def restore(self, stored: StoredAgent) -> Agent:
        """Put an agent back. Raises `ConflictError` when its id or identity is taken."""
        ...

    async def restore_all(self, agents: Iterable[StoredAgent]) -> None:
        """Put agents back in one transaction, all or none.

        They are asked for one by one in the store's own thread, and nothing else is written
        meanwhile. Raises what `restore` raises, and what the iterable does.
        """
        ...

    async def restore_feed(self, cursor: int, offsets: Mapping[str, str]) -> None:
        """Go on after this cursor, so that an older one is noticed, and from these offsets."""
        ...

    async def set_aside(
        self, agent_id: AgentId, *, owner: OwnerId | None, identity: str | None, reason: str
    ) -> None:
        """Keep an unreadable agent's place, so that no new one takes it."""
        ...
