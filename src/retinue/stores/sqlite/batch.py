"""The rows of one group of operations, usually written with a single statement."""

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from retinue.agents.inbox import Item
from retinue.agents.request import Request
from retinue.agents.usage import Spent
from retinue.clock import to_microseconds
from retinue.ids import OwnerId
from retinue.records import AnyRecord, Usage
from retinue.stores.port import AuditLine
from retinue.stores.sqlite.queries import WRITING
from retinue.stores.sqlite.writer_cache import CachedAgent

UsageCell = tuple[str, int, str, str, str]
"""Owner, day, definition, model, agent."""

_encode = msgspec.json.encode


class AgentChange:
    """The changes of one operation to one agent."""

    __slots__ = ("entry", "items", "numbers", "records", "requests")

    def __init__(self, entry: CachedAgent) -> None:
        self.entry = entry
        self.records: Sequence[AnyRecord] = ()
        self.items: list[Item] = []
        self.numbers: list[int] = []
        self.requests: Sequence[Request] = ()


class Bodies:
    """Joins the blobs of many rows into one, from which each row takes its slice."""

    __slots__ = ("_next", "_parts")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._next = 1  # substr is one-based

    def add(self, body: bytes) -> tuple[int, int]:
        start, length = self._next, len(body)
        self._parts.append(body)
        self._next = start + length
        return start, length

    def joined(self) -> bytes:
        return b"".join(self._parts)


def prepare(connection: sqlite3.Connection) -> None:
    """Create the temporary view and trigger that a batch is written through."""
    connection.execute(WRITING["create_batch"])
    connection.execute(WRITING["create_batch_trigger"])


class Batch:
    """Rows to insert and update, collected while a group is computed."""

    def __init__(self) -> None:
        self.agents: list[tuple[Any, ...]] = []
        self.states: dict[int, CachedAgent] = {}  # only the state changed
        self.details: dict[int, CachedAgent] = {}  # the state and indexed columns
        self.records: list[tuple[int, int, int, int]] = []
        self.items: list[tuple[Any, ...]] = []
        self.fates: dict[int, tuple[Any, ...]] = {}  # by item number
        self.changes: list[tuple[Any, ...]] = []
        self.deliveries: list[tuple[Any, ...]] = []
        self.usage: dict[UsageCell, list[int]] = {}  # amounts to add, by cell
        self.bodies = Bodies()  # of records and items
        self.audit: list[tuple[Any, ...]] = []
        self.offsets: dict[str, str] = {}
        self.deleted: list[int] = []
        self.renamed: list[tuple[int, str]] = []  # agents that released their identity
        self.statements: list[tuple[str, Any]] = []

    def note(self, entry: CachedAgent, at: datetime, lines: Iterable[AuditLine]) -> None:
        """Add entries to the audit log."""
        for line in lines:
            detail = _encode(line.detail).decode()
            self.audit.append((entry.id, entry.owner, to_microseconds(at), line.action, detail))

    def add_usage(self, entry: CachedAgent, day: int, usages: Iterable[tuple[str, Usage]]) -> None:
        """Count the model calls of a commit."""
        for model, usage in usages:
            _count(self.usage, (entry.owner, day, entry.definition, model, entry.id), usage)

    def restore_usage(self, entry: CachedAgent, calls: Iterable[Spent]) -> None:
        """Count the model calls of an agent's history, unless they are already counted."""
        sums: dict[UsageCell, list[int]] = {}
        for one in calls:
            cell = (entry.owner, one.at.toordinal(), one.definition, one.model, entry.id)
            _count(sums, cell, one.usage)
        if sums:
            self.statements.append(("restore_usage", (_text(_usage_rows(sums)),)))

    def add_item(
        self,
        number: int,
        entry: CachedAgent,
        item: Item,
        body: bytes,
        key: tuple[OwnerId, str | None, str],
    ) -> None:
        owner, dedupe_key, digest = key if key[1] is not None else (None, None, None)
        self.items.append(
            (
                number,
                item.id,
                entry.number,
                item.seq,
                item.kind,
                1 if item.silent else 0,
                to_microseconds(item.admitted_at),
                item.fate,
                item.reason,
                item.reply_seq,
                None if item.ended_at is None else to_microseconds(item.ended_at),
                owner,
                dedupe_key,
                digest,
                item.code,
                *self.bodies.add(body),
            )
        )

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.details or self.deliveries or self.is_unusual)

    @property
    def is_unusual(self) -> bool:
        """Whether it needs more than one statement, and therefore a transaction."""
        return bool(self.audit or self.offsets or self.deleted or self.renamed or self.statements)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write everything; later statements may refer to the rows of earlier ones."""
        for row in self.renamed:  # before new agents take the released identities
            connection.execute(WRITING["rename_agent"], row)
        if self.changes or self.details or self.deliveries:
            connection.execute(WRITING["write_batch"], self._parts())
        if self.is_unusual:
            self._write_rare(connection)

    def _parts(self) -> tuple[object, ...]:
        bodies, details = self.bodies, self.details
        states = [
            (number, *bodies.add(entry.encoded))
            for number, entry in self.states.items()
            if number not in details
        ]
        full = [(*entry.details(), *bodies.add(entry.encoded)) for entry in details.values()]
        return (
            _rows(self.agents),
            _rows(self.records),
            _rows(self.items),
            _rows(list(self.fates.values())),
            _rows(states),
            _rows(full),
            _rows(self.deliveries),
            _rows(_usage_rows(self.usage)),
            self.changes[-1][0] if self.changes else None,
            _encode(self.changes),
            bodies.joined(),
        )

    def _write_rare(self, connection: sqlite3.Connection) -> None:
        if self.offsets:
            connection.execute(WRITING["upsert_offsets"], (_text(list(self.offsets.items())),))
        if self.audit:
            connection.execute(WRITING["insert_audit"], (_text(self.audit),))
        if self.deleted:
            numbers = _text(self.deleted)
            for table in ("requests", "deliveries", "items", "records", "agents"):
                connection.execute(WRITING[f"delete_{table}"], (numbers,))
        for statement, parameters in self.statements:
            connection.execute(WRITING[statement], parameters)


def _text(rows: object) -> str:
    return _encode(rows).decode()


def _rows(rows: Sequence[object]) -> str | None:
    return _text(rows) if rows else None


def _count(sums: dict[UsageCell, list[int]], cell: UsageCell, usage: Usage) -> None:
    row = sums.get(cell)
    if row is None:
        row = sums[cell] = [0, 0, 0, 0, 0]
    row[0] += 1
    row[1] += usage.input
    row[2] += usage.output
    row[3] += usage.cache_read
    row[4] += usage.cache_write


def _usage_rows(sums: dict[UsageCell, list[int]]) -> Sequence[tuple[object, ...]]:
    return [(*cell, *row) for cell, row in sums.items()]
