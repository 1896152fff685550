"""The writer's cache of agents: written through, dropped when a transaction fails.

The process is the only writer, so the cache matches the database. Agents are loaded with their
open items, never with their history.
"""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from retinue.agents.descriptor import Descriptor, Kind, decode_descriptor, kind_of
from retinue.agents.inbox import Item
from retinue.agents.state import AgentState, Lifecycle, decode_state
from retinue.clock import to_microseconds
from retinue.ids import AgentId, ItemId, OwnerId
from retinue.stores.port import Agent
from retinue.stores.sqlite.queries import WRITING
from retinue.stores.sqlite.rows import Row, item_of

_encode = msgspec.json.encode
_WARM_AGENTS = 4096


class Counters:
    """The last row numbers in use, cached from the database."""

    __slots__ = ("agent", "cursor", "floor", "item")

    def __init__(self, agent: int, item: int, cursor: int, floor: int) -> None:
        self.agent = agent
        self.item = item
        self.cursor = cursor
        self.floor = floor  # changes up to this cursor are pruned


class OpenItem:
    """An item without a final fate, and its row number."""

    __slots__ = ("item", "number")

    def __init__(self, number: int, item: Item) -> None:
        self.number = number
        self.item = item


class CachedAgent:
    """One cached agent."""

    __slots__ = (
        "active_at",
        "context_from",
        "definition",
        "descriptor",
        "encoded",
        "epoch",
        "id",
        "identity",
        "kind",
        "lifecycle",
        "loud",
        "next_item",
        "next_seq",
        "number",
        "open",
        "owner",
        "queued",
        "running",
        "state",
    )

    def __init__(
        self,
        number: int,
        agent_id: AgentId,
        owner: OwnerId,
        identity: str,
        descriptor: Descriptor,
        definition: str,
        state: AgentState,
    ) -> None:
        self.number = number
        self.id = agent_id
        self.owner = owner
        self.identity = identity
        self.kind: Kind = kind_of(descriptor)
        self.descriptor = descriptor
        self.definition = definition
        self.state = state
        self.encoded = b""  # the state as stored
        self.active_at = to_microseconds(state.updated_at)
        self.lifecycle: Lifecycle = "active"
        self.epoch = 0
        self.context_from = 1
        self.next_seq = 1
        self.next_item = 1
        self.open: dict[ItemId, OpenItem] = {}
        self.queued = 0  # queued and not silent
        self.running = 0
        self.loud = 0  # open and not silent

    def agent(self) -> Agent:
        return Agent(
            id=self.id,
            owner=self.owner,
            kind=self.kind,
            descriptor=self.descriptor,
            definition=self.definition,
            state=self.state,
            lifecycle=self.lifecycle,
            queued=self.queued,
            running=self.running,
        )

    def count(self, item: Item, sign: int) -> None:
        """Add an open item to the counters, or subtract it."""
        if not item.silent:
            self.loud += sign
            if item.fate == "queued":
                self.queued += sign
        if item.fate == "running":
            self.running += sign

    def details(self) -> tuple[object, ...]:
        """The columns that change once or twice per turn, in the order of the statement."""
        state = self.state
        seen = state.last_user_activity_at
        return (
            self.number,
            self.definition,
            self.lifecycle,
            self.epoch,
            self.context_from,
            1 if state.pinned_at is not None else 0,
            self.active_at,
            None if seen is None else to_microseconds(seen),
            0 if state.turn is None else 1,
        )


class Claimed:
    """The cached data of a claim; records are read afterwards, as no one else can add any."""

    __slots__ = ("agent", "context_from", "epoch", "items", "next_seq", "number")

    def __init__(self, entry: CachedAgent) -> None:
        self.number = entry.number
        self.agent = entry.agent()
        self.epoch = entry.epoch
        self.next_seq = entry.next_seq
        self.context_from = entry.context_from
        self.items = tuple(open_item.item for open_item in entry.open.values())


def details_differ(before: AgentState, after: AgentState) -> bool:
    """Whether a new state also changes indexed columns, such as when a turn begins or ends."""
    return (
        (before.turn is None) != (after.turn is None)
        or before.last_user_activity_at != after.last_user_activity_at
        or before.pinned_at != after.pinned_at
    )


class WriterCache:
    """Evicts the least recently used agents when there are too many."""

    def __init__(self) -> None:
        self._by_id: OrderedDict[str, CachedAgent] = OrderedDict()
        self._by_identity: dict[tuple[str, str], CachedAgent] = {}
        self._aside: dict[tuple[str | None, str], str] = {}  # by owner and identity, or by id

    def set_aside(
        self, agent_id: str, owner: str | None, identity: str | None, reason: str
    ) -> None:
        self._aside[None, agent_id] = reason
        if identity is not None:
            self._aside[owner, identity] = reason

    def why_aside(self, agent_id: str, owner: str, identity: str) -> str | None:
        """The reason an id or identity is reserved, or None."""
        aside = self._aside
        if not aside:
            return None
        return (
            aside.get((None, agent_id))
            or aside.get((owner, identity))
            or aside.get((None, identity))
        )

    def __contains__(self, agent_id: str) -> bool:
        return agent_id in self._by_id

    def get(self, agent_id: str) -> CachedAgent | None:
        return self._by_id.get(agent_id)

    def find(self, owner: str, identity: str) -> CachedAgent | None:
        return self._by_identity.get((owner, identity))

    def add(self, entry: CachedAgent) -> None:
        self._by_id[entry.id] = entry
        self._by_identity[entry.owner, entry.identity] = entry

    def remove(self, entry: CachedAgent) -> None:
        self._by_id.pop(entry.id, None)
        self._by_identity.pop((entry.owner, entry.identity), None)

    def rename(self, entry: CachedAgent, identity: str) -> None:
        """Release the agent's identity and set a new one."""
        self._by_identity.pop((entry.owner, entry.identity), None)
        entry.identity = identity
        self._by_identity[entry.owner, identity] = entry

    def clear(self) -> None:
        """Drop the agents, but keep the reserved ids and identities."""
        self._by_id.clear()
        self._by_identity.clear()

    def trim(self, used: Iterable[str]) -> None:
        """Mark agents as recently used, and evict the oldest."""
        for agent_id in used:
            if agent_id in self._by_id:
                self._by_id.move_to_end(agent_id)
        while len(self._by_id) > _WARM_AGENTS:
            self.remove(next(iter(self._by_id.values())))

    def load(
        self, connection: sqlite3.Connection, ids: set[str], identities: set[tuple[str, str]]
    ) -> None:
        """Load the agents that exist and are not cached, with one statement."""
        rows: list[Row] = []
        cold = [agent_id for agent_id in ids if agent_id not in self._by_id]
        if cold:
            rows += connection.execute(WRITING["load_agents"], (_encode(cold).decode(),))
        unknown = [pair for pair in identities if pair not in self._by_identity]
        if unknown:
            rows += connection.execute(WRITING["load_identities"], (_encode(unknown).decode(),))
        if rows:
            self._add_rows(connection, rows)

    def _add_rows(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        entries: dict[str, CachedAgent] = {}
        for row in rows:
            if row[1] not in self._by_id:
                entries[row[1]] = _entry_of(row)
        numbers = [entry.number for entry in entries.values()]
        items = connection.execute(WRITING["load_open_items"], (_encode(numbers).decode(),))
        for row in items:
            item = item_of(row)
            entry = entries[item.agent_id]
            entry.open[item.id] = OpenItem(row[0], item)
            entry.count(item, 1)
        for entry in entries.values():
            self.add(entry)


def _entry_of(row: Row) -> CachedAgent:
    number, agent_id, owner, identity, descriptor, definition = row[:6]
    lifecycle, epoch, context_from, state, last_seq, last_item = row[6:]
    entry = CachedAgent(
        number,
        agent_id,
        owner,
        identity,
        decode_descriptor(descriptor),
        definition,
        decode_state(state),
    )
    entry.encoded = state
    entry.lifecycle = lifecycle
    entry.epoch = epoch
    entry.context_from = context_from
    entry.next_seq = last_seq + 1
    entry.next_item = last_item + 1
    return entry
