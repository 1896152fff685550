"""The rows of one group, written with one statement for each table."""

import sqlite3
from typing import Any

import msgspec

from retinue.stores.sqlite.queries import WRITING
from retinue.stores.sqlite.warm import Entry

_encode = msgspec.json.encode


class Bodies:
    """Blobs of many rows as one, from which each row cuts its own."""

    __slots__ = ("_next", "_parts")

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._next = 1  # substr counts from one

    def add(self, body: bytes) -> tuple[int, int]:
        start, length = self._next, len(body)
        self._parts.append(body)
        self._next = start + length
        return start, length

    def joined(self) -> bytes:
        return b"".join(self._parts)


class Batch:
    """Rows to insert and update, gathered while a group is worked out."""

    def __init__(self) -> None:
        self.agents: list[tuple[Any, ...]] = []
        self.states: dict[int, Entry] = {}  # only the state changed
        self.details: dict[int, Entry] = {}  # the state and what is indexed
        self.records: list[tuple[int, int, int, int]] = []
        self.record_bodies = Bodies()
        self.items: list[tuple[Any, ...]] = []
        self.item_bodies = Bodies()
        self.fates: dict[int, tuple[Any, ...]] = {}  # by item
        self.changes: list[tuple[Any, ...]] = []
        self.deliveries: list[tuple[Any, ...]] = []
        self.audit: list[tuple[Any, ...]] = []
        self.offsets: dict[str, str] = {}
        self.deleted: list[int] = []
        self.statements: list[tuple[str, Any]] = []

    @property
    def is_empty(self) -> bool:
        return not (
            self.changes
            or self.details
            or self.statements
            or self.offsets
            or self.audit
            or self.deliveries
        )

    def write(self, connection: sqlite3.Connection) -> None:
        """Write everything; later statements may rely on the rows of earlier ones."""
        run = connection.execute
        if self.agents:
            run(WRITING["insert_agents"], (_text(self.agents),))
        if self.records:
            run(WRITING["insert_records"], (_text(self.records), self.record_bodies.joined()))
        if self.items:
            run(WRITING["insert_items"], (_text(self.items), self.item_bodies.joined()))
        if self.fates:
            run(WRITING["update_items"], (_text(list(self.fates.values())),))
        if self.states or self.details:
            self._write_agents(connection)
        if self.deliveries:
            run(WRITING["insert_deliveries"], (_text(self.deliveries),))
        if self.changes:
            run(WRITING["insert_changes"], (self.changes[-1][0], _encode(self.changes)))
        self._write_rare(connection)

    def _write_agents(self, connection: sqlite3.Connection) -> None:
        details = self.details
        bodies = Bodies()
        rows = [
            (number, *bodies.add(entry.encoded))
            for number, entry in self.states.items()
            if number not in details
        ]
        if rows:
            connection.execute(WRITING["update_states"], (_text(rows), bodies.joined()))
        if details:
            bodies = Bodies()
            full = [(*entry.details(), *bodies.add(entry.encoded)) for entry in details.values()]
            connection.execute(WRITING["update_details"], (_text(full), bodies.joined()))

    def _write_rare(self, connection: sqlite3.Connection) -> None:
        if self.offsets:
            connection.execute(WRITING["upsert_offsets"], (_text(list(self.offsets.items())),))
        if self.audit:
            connection.execute(WRITING["insert_audit"], (_text(self.audit),))
        if self.deleted:
            numbers = _text(self.deleted)
            for table in ("deliveries", "items", "records", "agents"):
                connection.execute(WRITING[f"delete_{table}"], (numbers,))
        for statement, parameters in self.statements:
            connection.execute(WRITING[statement], parameters)


def _text(rows: object) -> str:
    return _encode(rows).decode()
