"""The store port: each method is one transaction.

The store is the source of truth. `admit` returns only when the item is on disk. `commit` applies a
step completely or not at all, and only for the process that holds the agent's epoch.
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
    """An agent in the store, without its history."""

    id: AgentId
    owner: OwnerId
    kind: Kind
    descriptor: Descriptor
    definition: str
    state: AgentState
    lifecycle: Lifecycle
    queued: int  # items waiting in its inbox, without silent ones
    running: int  # items in the current turn

    @property
    def is_busy(self) -> bool:
        """Whether a turn is running or about to begin."""
        return self.state.turn is not None or self.queued > 0


class NewAgent(Struct, frozen=True, kw_only=True):
    """An agent to find by the identity of its descriptor, or to create."""

    id: AgentId  # used only when it is created
    owner: OwnerId
    descriptor: Descriptor
    definition: str
    state: AgentState


class NewItem(Struct, frozen=True, kw_only=True):
    """An item to put into an inbox."""

    id: ItemId
    kind: ItemKind
    body: ItemBody
    admitted_at: datetime
    silent: bool = False
    dedupe_key: str | None = None  # a repeated key returns the first item
    digest: str = ""  # of the content, to distinguish a repeat from a conflict


def command_item(
    command: Command, sender: Sender, at: datetime, *, text: str = "", key: str | None = None
) -> NewItem:
    """A command for an inbox. It is silent: it does not count in the queue of messages."""
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
    """An item for an existing agent, or for the agent that a descriptor finds or creates."""

    to: AgentId | NewAgent
    item: NewItem
    owner: OwnerId  # the target must belong to this owner
    is_optional: bool = False  # a notice: dropped if the target no longer exists


class Offset(Struct, frozen=True, kw_only=True):
    """The position a connector has reached in its source; stored with the message it read."""

    source: str
    value: str


class Receipt(Struct, frozen=True, kw_only=True):
    """The result of admitting an item."""

    item: Item
    agent_id: AgentId
    is_repeat: bool  # the key was already used; `item` is the first one in its current state
    position: int  # the number of items ahead of it


class FateChange(Struct, frozen=True, kw_only=True):
    """A new fate for an item of the committing agent."""

    item_id: ItemId
    fate: Fate
    reason: str = ""
    code: str = ""  # of a command: its error code, or `unchanged`
    reply_seq: int | None = None


class NewDelivery(Struct, frozen=True, kw_only=True):
    """A reply to deliver through a connector."""

    key: str  # stable, so that connectors can drop repeats
    connector: str
    channel: str
    text: str


class AuditLine(Struct, frozen=True, kw_only=True):
    """An event for the audit log."""

    action: str  # "tool_refused", "reset", "delete", ...
    detail: dict[str, str]


class AuditEntry(AuditLine, frozen=True, kw_only=True):
    """An audit log entry with its number, agent and time."""

    number: int  # increases with time
    agent_id: AgentId
    at: datetime


class Redescription(Struct, frozen=True, kw_only=True):
    """A new descriptor for an existing agent; its identity must be free or the agent's own."""

    agent_id: AgentId
    owner: OwnerId  # the agent must belong to this owner
    descriptor: Descriptor


class Departure(Struct, frozen=True, kw_only=True):
    """Moves the user from the committing agent to another one."""

    to: AgentId | NewAgent
    name: str  # the name shown for the other agent
    message: str = ""  # the first message there
    trail: Trail | None = None

    @property
    def target(self) -> AgentId:
        return self.to.id if isinstance(self.to, NewAgent) else self.to


class Effects(NamedTuple):
    """The effects of a tool call, a hook or a step, apart from the records it writes.

    A named tuple of tuples: `merge` covers every field, and code that unpacks the whole value stops
    type checking when a field is added. The agent's state and the store each unpack it once.
    """

    # Applied by the store: effects on other agents and users.
    posts: tuple[Post, ...] = ()  # messages of the turn; they count as sent by the agent
    notices: tuple[Post, ...] = ()  # items that are not messages of the turn
    creates: tuple[NewAgent, ...] = ()
    redescribed: tuple[Redescription, ...] = ()
    requests: tuple[Request, ...] = ()  # for the agent's owner to decide
    voids: tuple[Voiding, ...] = ()
    deliveries: tuple[NewDelivery, ...] = ()
    audit: tuple[AuditLine, ...] = ()
    # Added to the usage sums of the store and of the agent's state.
    usages: tuple[tuple[str, Usage], ...] = ()  # by model name
    # Applied to the agent's own state before it is stored.
    children: tuple[ChildEntry | ChildUpdate, ...] = ()  # for its subagent registry
    deferred: tuple[Deferral, ...] = ()  # subagents waiting for their variables
    moved: tuple[str, ...] = ()  # variables that were moved to a child
    spent: tuple[str, ...] = ()  # approvals that were used
    handoff: tuple[Handoff, ...] = ()  # to the definition that acts next; the last one wins
    departure: tuple[Departure, ...] = ()  # the last one wins

    @property
    def items(self) -> tuple[Post, ...]:
        """All items to put into inboxes, in order."""
        return self.notices + self.posts if self.notices else self.posts

    def merge(self, other: "Effects") -> "Effects":
        """Both effects, in order."""
        if self is NO_EFFECTS:
            return other
        if other is NO_EFFECTS:
            return self
        return Effects._make(ours + theirs for ours, theirs in zip(self, other, strict=True))

    @property
    def costs(self) -> "Effects":
        """The effects that apply even if the step is discarded."""
        return Effects(usages=self.usages, audit=self.audit)

    @property
    def after_error(self) -> "Effects":
        """The effects of a failed call: its costs, and requests to its owner."""
        return self.costs._replace(deferred=self.deferred, requests=self.requests)


NO_EFFECTS = Effects()


class Commit(Struct, frozen=True, kw_only=True):
    """All changes of one step, applied completely or not at all."""

    agent_id: AgentId
    epoch: int
    at: datetime
    state: AgentState | None = None  # None = unchanged
    records: Sequence[AnyRecord] = ()  # stamped: seq continues the history without a gap
    context_from: int | None = None  # earlier records are no longer part of the context
    fates: Sequence[FateChange] = ()
    begins: Post | None = None  # an item of its own, admitted first; `fates` may name it
    effects: Effects = NO_EFFECTS
    lifecycle: Lifecycle | None = None
    definition: str | None = None


class Committed(Struct, frozen=True, kw_only=True):
    """The cursor of the change, and the receipts of the posts that were not dropped, in order.

    If the key of `Commit.begins` was already used, nothing is committed and the only receipt is a
    repeat. If other items of the agent are open, the commit raises `BusyError`.
    """

    cursor: int
    receipts: Sequence[Receipt] = ()


class Snapshot(Struct, frozen=True, kw_only=True):
    """An agent claimed by a runner; commits with an older epoch are refused."""

    agent: Agent
    epoch: int
    next_seq: int  # of the next record
    records: Sequence[AnyRecord]  # from `context_from` on, oldest first
    items: Sequence[Item]  # open ones in order of admission, including silent ones


NOBODY = AgentId("")
"""The agent id of a change that concerns no agent."""


class Change(Struct, frozen=True, kw_only=True):
    """One committed change of the feed; live and replayed changes are identical."""

    cursor: int
    agent_id: AgentId
    owner: OwnerId
    agent: Agent | None = None  # its current state; None if deleted
    records: Sequence[AnyRecord] = ()
    items: Sequence[Item] = ()  # admitted, or with a new fate
    requests: Sequence[Request] = ()  # created or settled
    is_deleted: bool = False
    artifacts: Sequence[ArtifactNews] = ()  # set only when `agent_id` is `NOBODY`


class AgentQuery(Struct, frozen=True, kw_only=True):
    """Filters for a list of agents, sorted by pin, then by latest activity."""

    owner: OwnerId
    definition: str | None = None
    kind: Kind | None = None
    text: str | None = None  # in the name or the last snippet, ignoring case
    limit: int = 50
    cursor: str | None = None


class AgentPage(Struct, frozen=True, kw_only=True):
    """A page of agents and the cursor of the next one."""

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
    """Statistics of the store for `doctor` and `/api/health`."""

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
    """The operations of a store. Implemented on SQLite."""

    async def open(self) -> None:
        """Migrate, check and recover. Raises `StoreDamagedError` and `BusyError`."""
        ...

    async def close(self) -> None:
        """Finish queued operations and mark the shutdown as clean."""
        ...

    @property
    def was_clean(self) -> bool:
        """Whether the previous process closed the store."""
        ...

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> Callable[[], None]:
        """Call back on the event loop after each group of commits, in order; returns an undo."""
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

        Raises `NotFoundError`, `TerminatedError`, `ConflictError` (the key was used for a different
        message) and `StoreFullError`.
        """
        ...

    async def create(self, new: NewAgent) -> tuple[Agent, bool]:
        """Find the agent with this identity, or create it with its `start` record.

        A terminated agent releases its identity, unless it is a chat or a subagent.
        """
        ...

    async def claim(self, agent_id: AgentId) -> Snapshot:
        """Take the agent's next epoch and read what a turn needs."""
        ...

    def commit(self, commit: Commit) -> Awaitable[Committed]:
        """Apply a step. Raises `FencedError` if the epoch is no longer the agent's."""
        ...

    async def delete(self, owner: OwnerId, agent_id: AgentId) -> None:
        """Delete the agent with its items, history and outbox; its identity becomes free.

        Raises `ConflictError` while other agents wait for its answers.
        """
        ...

    async def note(self, owner: OwnerId, agent_id: AgentId, line: AuditLine) -> None:
        """Add an audit entry that belongs to no step of the agent."""
        ...

    async def audited(
        self, owner: OwnerId, actions: Sequence[str], *, before: int | None, limit: int
    ) -> Sequence[AuditEntry]:
        """Audit entries with these actions and a lower number, newest first."""
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
        """The records that a claim would return, without claiming the agent."""
        ...

    async def record(self, owner: OwnerId, agent_id: AgentId, seq: int) -> AnyRecord | None: ...

    async def changes(
        self, owner: OwnerId, *, after: int, agent_id: AgentId | None, limit: int
    ) -> Sequence[Change] | None:
        """The feed after a cursor; None if that part is pruned and the reader must start over."""
        ...

    async def cursor(self) -> int: ...

    async def most_recent_foreground(self, owner: OwnerId) -> Agent | None:
        """The user agent with the most recent input of a user."""
        ...

    async def latest_conversation(
        self, owner: OwnerId, definition: str, *, excluding: Collection[AgentId]
    ) -> Agent | None:
        """The active user agent of this definition that most recently took up a message."""
        ...

    async def children(self, owner: OwnerId, agent_id: AgentId) -> Sequence[Agent]:
        """The subagents of an agent, oldest first, including ended ones."""
        ...

    async def waking(self) -> Sequence[Waking]:
        """Agents with unfinished work: a running turn, or queued items that wake them.

        Includes ended agents with such items, which still need a fate.
        """
        ...

    async def facts(self) -> StoreFacts: ...

    async def check(self) -> None:
        """Write a small value. Raises `StoreFullError` while messages are refused."""
        ...

    # -- outbox

    async def due_deliveries(self, now: datetime, limit: int) -> Sequence[Delivery]:
        """The first undelivered reply of each channel, if it is due; keeps order per channel."""
        ...

    async def delivered(self, delivery_id: int) -> None:
        """Remove the reply from the outbox and report the agent's change to the feed.

        Delivery ids are never reused, so a repeated call has no effect.
        """
        ...

    async def delivery_failed(
        self, delivery_id: int, *, error: str, retry_at: datetime | None
    ) -> None:
        """Retry at this time, or never; abandoned replies are kept for thirty days."""
        ...

    async def offset(self, source: str) -> str | None: ...
