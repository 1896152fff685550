"""The store port: one method is one transaction, named by what it does.

The store is the truth. `admit` returns only when the item is on disk; `commit` applies a step whole
or not at all, and only for the process that holds the agent's epoch. Everything else reads.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from retinue.agents.children import ChildEntry, ChildUpdate
from retinue.agents.command import Command
from retinue.agents.deferral import Deferral
from retinue.agents.descriptor import Descriptor, Kind
from retinue.agents.inbox import Fate, Item, ItemBody, ItemKind, Sender, Trail
from retinue.agents.request import Request
from retinue.agents.state import AgentState, Handoff, Lifecycle
from retinue.ids import AgentId, ItemId, OwnerId, new_item_id
from retinue.records import AnyRecord, Usage
from retinue.stores.artifact_port import ArtifactNews, ArtifactStore
from retinue.stores.request_port import RequestStore, Voiding
from retinue.stores.usage_port import UsageStore
from retinue.stores.variable_port import VariableStore


class Agent(Struct, frozen=True, kw_only=True):
    """An agent as the store knows it, without its history."""

    id: AgentId
    owner: OwnerId
    kind: Kind
    descriptor: Descriptor
    definition: str
    state: AgentState
    lifecycle: Lifecycle
    queued: int  # items that wait in its inbox, silent ones not counted
    running: int  # items in the turn that is going on

    @property
    def is_busy(self) -> bool:
        """Whether a turn goes on or is about to begin."""
        return self.state.turn is not None or self.queued > 0


class NewAgent(Struct, frozen=True, kw_only=True):
    """An agent to find by its descriptor's identity, or to create."""

    id: AgentId  # used only when it is created
    owner: OwnerId
    descriptor: Descriptor
    definition: str
    state: AgentState


class NewItem(Struct, frozen=True, kw_only=True):
    """A message to put into an inbox."""

    id: ItemId
    kind: ItemKind
    body: ItemBody
    admitted_at: datetime
    silent: bool = False
    dedupe_key: str | None = None  # the same key gives the first item again
    digest: str = ""  # of what was said, to tell a repeat from a clash


def command_item(
    command: Command, sender: Sender, at: datetime, *, text: str = "", key: str | None = None
) -> NewItem:
    """A command for an inbox. It is silent: it takes no place in the queue of messages."""
    digest = blake2b(msgspec.json.encode(command), digest_size=16).hexdigest() if key else ""
    return NewItem(
        id=new_item_id(),
        kind="command",
        body=ItemBody(text=text, sender=sender, command=command),
        admitted_at=at,
        silent=True,
        dedupe_key=key,
        digest=digest,
    )


class Post(Struct, frozen=True, kw_only=True):
    """An item for an agent that exists, or for the one that a descriptor finds or creates."""

    to: AgentId | NewAgent
    item: NewItem
    owner: OwnerId  # the target must be this owner's
    is_optional: bool = False  # dropped when the target is gone: a notice, not a request


class Offset(Struct, frozen=True, kw_only=True):
    """How far a connector has read its source; stored with what it read."""

    source: str
    value: str


class Receipt(Struct, frozen=True, kw_only=True):
    """What an admitted sender is told."""

    item: Item
    agent_id: AgentId
    is_repeat: bool  # the key was seen before; `item` is the first one, as it is now
    position: int  # items of the inbox that come before it


class FateChange(Struct, frozen=True, kw_only=True):
    """What becomes of an item of the committing agent."""

    item_id: ItemId
    fate: Fate
    reason: str = ""
    code: str = ""  # of a command: the code of its error, or `unchanged`
    reply_seq: int | None = None


class NewDelivery(Struct, frozen=True, kw_only=True):
    """A reply that has to leave through a connector."""

    key: str  # stable, so that a connector that can will drop a repeat
    connector: str
    channel: str
    text: str


class AuditLine(Struct, frozen=True, kw_only=True):
    """Something that a security review would ask about."""

    action: str  # "tool_refused", "reset", "delete", ...
    detail: dict[str, str]


class AuditEntry(AuditLine, frozen=True, kw_only=True):
    """A line of the audit log where it stands."""

    number: int  # grows with time
    agent_id: AgentId
    at: datetime


class Redescription(Struct, frozen=True, kw_only=True):
    """A new descriptor for an agent that exists; its identity must be free or its own."""

    agent_id: AgentId
    owner: OwnerId  # the agent must be this owner's
    descriptor: Descriptor


class Departure(Struct, frozen=True, kw_only=True):
    """Sends the person from the committing agent to another one."""

    to: AgentId | NewAgent
    name: str  # how people are shown where they are now
    message: str = ""  # the first words there
    trail: Trail | None = None

    @property
    def target(self) -> AgentId:
        return self.to.id if isinstance(self.to, NewAgent) else self.to


class Effects(NamedTuple):
    """What a tool call, a hook or a step asks for, besides the records that it writes.

    A named tuple of tuples: `merge` covers every field, and code that unpacks the whole value stops
    type checking when a field is added. The agent's state and the store each unpack it once.
    """

    # For other agents and for people: the store applies these.
    posts: tuple[Post, ...] = ()  # messages of the turn, counted as written to their agents
    notices: tuple[Post, ...] = ()  # items that are no messages of the turn
    creates: tuple[NewAgent, ...] = ()
    redescribed: tuple[Redescription, ...] = ()
    requests: tuple[Request, ...] = ()  # that the agent's owner has to decide
    voids: tuple[Voiding, ...] = ()
    deliveries: tuple[NewDelivery, ...] = ()
    audit: tuple[AuditLine, ...] = ()
    # For the sums of the store and of the agent's state.
    usages: tuple[tuple[str, Usage], ...] = ()  # of the models that were called, by name
    # For the agent itself: its state holds these when the store gets it.
    children: tuple[ChildEntry | ChildUpdate, ...] = ()  # for its registry of subagents
    deferred: tuple[Deferral, ...] = ()  # subagents that wait for their variables
    moved: tuple[str, ...] = ()  # its variables that a child has now
    spent: tuple[str, ...] = ()  # approvals that were used up
    handoff: tuple[Handoff, ...] = ()  # to the definition that acts next; the last one counts
    departure: tuple[Departure, ...] = ()  # the last one counts

    @property
    def items(self) -> tuple[Post, ...]:
        """Everything that goes into inboxes, in order."""
        return self.notices + self.posts if self.notices else self.posts

    def merge(self, other: "Effects") -> "Effects":
        """Both, in order."""
        if self is NO_EFFECTS:
            return other
        if other is NO_EFFECTS:
            return self
        return Effects._make(ours + theirs for ours, theirs in zip(self, other, strict=True))

    @property
    def costs(self) -> "Effects":
        """What holds although nothing else of this happens."""
        return Effects(usages=self.usages, audit=self.audit)

    @property
    def after_error(self) -> "Effects":
        """What holds of a call that failed: its costs, and what its owner is asked for."""
        return self.costs._replace(deferred=self.deferred, requests=self.requests)


NO_EFFECTS = Effects()


class Commit(Struct, frozen=True, kw_only=True):
    """Everything that one step changes; applied whole or not at all."""

    agent_id: AgentId
    epoch: int
    at: datetime
    state: AgentState | None = None  # None = as it was
    records: Sequence[AnyRecord] = ()  # stamped: seq continues the history without a gap
    context_from: int | None = None  # records before this seq are no longer needed to go on
    fates: Sequence[FateChange] = ()
    begins: Post | None = None  # an item of its own that is admitted first; `fates` may name it
    effects: Effects = NO_EFFECTS
    lifecycle: Lifecycle | None = None
    definition: str | None = None


class Committed(Struct, frozen=True, kw_only=True):
    """The cursor of the change and what became of the posts that were not dropped, in order.

    When the key of `Commit.begins` was used before, its receipt is a repeat, and the only thing
    that came of the commit. When other items of the agent are open, it raises `BusyError`.
    """

    cursor: int
    receipts: Sequence[Receipt] = ()


class Snapshot(Struct, frozen=True, kw_only=True):
    """An agent claimed for running: nobody else can commit to it any more."""

    agent: Agent
    epoch: int
    next_seq: int  # of the next record
    records: Sequence[AnyRecord]  # from `context_from` on, oldest first
    items: Sequence[Item]  # not final, in order of admission, silent ones too


NOBODY = AgentId("")
"""The agent of a change that is about none."""


class Change(Struct, frozen=True, kw_only=True):
    """One committed fact of the feed; live and replayed ones are alike."""

    cursor: int
    agent_id: AgentId
    owner: OwnerId
    agent: Agent | None = None  # as of now, when anything about it changed; None when deleted
    records: Sequence[AnyRecord] = ()
    items: Sequence[Item] = ()  # admitted, or with a new fate
    requests: Sequence[Request] = ()  # made, or settled
    is_deleted: bool = False
    artifacts: Sequence[ArtifactNews] = ()  # then it is about nobody


class AgentQuery(Struct, frozen=True, kw_only=True):
    """What to list; agents come newest activity first, pinned ones before all."""

    owner: OwnerId
    definition: str | None = None
    kind: Kind | None = None
    text: str | None = None  # in the name or the last snippet, without case
    limit: int = 50
    cursor: str | None = None


class AgentPage(Struct, frozen=True, kw_only=True):
    """Agents and where the next page begins."""

    agents: Sequence[Agent]
    next_cursor: str | None


class Delivery(Struct, frozen=True, kw_only=True):
    """A reply in the outbox."""

    id: int
    agent_id: AgentId
    key: str
    connector: str
    channel: str
    text: str
    attempts: int
    due_at: datetime


class StoreFacts(Struct, frozen=True, kw_only=True):
    """What `doctor` and `/api/health` tell about the store."""

    kind: str
    schema: int
    agents: int
    items_open: int
    deliveries_open: int
    cursor: int
    bytes: int
    problems: Sequence[str] = ()


Waking = tuple[AgentId, Literal["foreground", "background"]]


class Store(Protocol):
    """What the engine and the doors need; SQLite implements it, PostgreSQL will."""

    async def open(self) -> None:
        """Make ready: migrate, check, recover. Raises `StoreDamagedError`, `BusyError`."""
        ...

    async def close(self) -> None:
        """Finish what waits and mark the shutdown as clean."""
        ...

    @property
    def was_clean(self) -> bool:
        """Whether the process before this one closed the store."""
        ...

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> Callable[[], None]:
        """Call back on the event loop after each group of commits, in order; returns the undo."""
        ...

    @property
    def requests(self) -> RequestStore: ...

    @property
    def variables(self) -> VariableStore: ...

    @property
    def usage(self) -> UsageStore: ...

    @property
    def artifacts(self) -> ArtifactStore: ...

    # -- writing

    def admit(self, post: Post, *, offset: Offset | None = None) -> Awaitable[Receipt]:
        """Store the item and the offset.

        Raises `NotFoundError`, `TerminatedError`, `ConflictError` (the key was used for another
        message) and `StoreFullError`.
        """
        ...

    async def create(self, new: NewAgent) -> tuple[Agent, bool]:
        """Find the agent of this identity or create it with its `start` record.

        A terminated agent gives its identity free, unless it is a chat or a subagent.
        """
        ...

    async def claim(self, agent_id: AgentId) -> Snapshot:
        """Take the agent's next epoch and read what is needed to go on."""
        ...

    def commit(self, commit: Commit) -> Awaitable[Committed]:
        """Apply a step. Raises `FencedError` when the epoch is not the agent's."""
        ...

    async def delete(self, owner: OwnerId, agent_id: AgentId) -> None:
        """Forget the agent, its items, history and outbox; its identity becomes free.

        Raises `ConflictError` while other agents wait for its answers.
        """
        ...

    async def note(self, owner: OwnerId, agent_id: AgentId, line: AuditLine) -> None:
        """Put a line into the audit log that belongs to no step of the agent."""
        ...

    async def audited(
        self, owner: OwnerId, actions: Sequence[str], *, before: int | None, limit: int
    ) -> Sequence[AuditEntry]:
        """The lines about those actions, newest first, below a number."""
        ...

    # -- reading, always within one owner

    async def agent(self, owner: OwnerId, agent_id: AgentId) -> Agent: ...

    async def find(self, owner: OwnerId, descriptor: Descriptor) -> Agent | None: ...

    async def agents(self, query: AgentQuery) -> AgentPage: ...

    async def item(self, owner: OwnerId, item_id: ItemId) -> tuple[Item, int]:
        """The item and its position."""
        ...

    async def open_items(self, owner: OwnerId, agent_id: AgentId) -> Sequence[Item]: ...

    async def history(
        self, owner: OwnerId, agent_id: AgentId, *, after: int, limit: int
    ) -> Sequence[AnyRecord]:
        """Records with a higher seq, oldest first."""
        ...

    async def context(self, owner: OwnerId, agent_id: AgentId) -> Sequence[AnyRecord]:
        """The records that a claim would give, without claiming the agent."""
        ...

    async def record(self, owner: OwnerId, agent_id: AgentId, seq: int) -> AnyRecord | None: ...

    async def changes(
        self, owner: OwnerId, *, after: int, agent_id: AgentId | None, limit: int
    ) -> Sequence[Change] | None:
        """The feed after a cursor; None when it is pruned there and the reader must start anew."""
        ...

    async def cursor(self) -> int: ...

    async def most_recent_foreground(self, owner: OwnerId) -> Agent | None:
        """The user agent with the last real user input."""
        ...

    async def latest_conversation(
        self, owner: OwnerId, definition: str, *, excluding: Collection[AgentId]
    ) -> Agent | None:
        """The user agent of this definition that took up a message last and has not ended."""
        ...

    async def children(self, owner: OwnerId, agent_id: AgentId) -> Sequence[Agent]:
        """The subagents of an agent, oldest first, ended ones too."""
        ...

    async def waking(self) -> Sequence[Waking]:
        """Agents with work left over: a turn that goes on, or queued items that wake, also of ended
        agents: such an item came while its agent ended, and needs its fate."""
        ...

    async def facts(self) -> StoreFacts: ...

    async def check(self) -> None:
        """Write something small; raises `StoreFullError` when messages are refused now."""
        ...

    # -- outbox

    async def due_deliveries(self, now: datetime, limit: int) -> Sequence[Delivery]:
        """The first undelivered reply of each channel, when it is due: order holds per channel."""
        ...

    async def delivered(self, delivery_id: int) -> None:
        """Forget the reply at once; the feed tells that its agent changed, so the folders do too.

        Its number is never used again, so that a repeat does nothing.
        """
        ...

    async def delivery_failed(
        self, delivery_id: int, *, error: str, retry_at: datetime | None
    ) -> None:
        """Try again at that time, or never; what was given up is kept for thirty days."""
        ...

    async def offset(self, source: str) -> str | None: ...
