"""Schedules in the embedded store: writes and queries."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from retinue.agents.schedule import Schedule
from retinue.agents.watch import Mark
from retinue.clock import from_microseconds, to_microseconds
from retinue.errors import ConflictError, NotFoundError
from retinue.ids import ItemId, OwnerId, ScheduleId
from retinue.stores.port import Post, Receipt
from retinue.stores.schedule_port import Firing, KeptSchedules, Slot, StoredSchedule, mark_key
from retinue.stores.sqlite.access import Access, Listeners
from retinue.stores.sqlite.batch import Batch
from retinue.stores.sqlite.queries import READING, WRITING
from retinue.stores.sqlite.rows import Row
from retinue.stores.sqlite.write_operations import (
    AddSchedule,
    ExecuteMark,
    Fire,
    RemoveSchedule,
    ReplaceSchedule,
    RestoreSchedules,
    ScheduleOperation,
)

SLOTS_KEPT = 500
_SLOTS_MIRRORED = 50

T = TypeVar("T")
Statement = tuple[str, Sequence[Any]]

_encode = msgspec.json.encode
_schedules = msgspec.json.Decoder(Schedule)
_marks = msgspec.json.Decoder(Mark)


class KnownSchedules:
    """The schedules and slots that a group refers to, including the group's own changes."""

    def __init__(
        self, connection: sqlite3.Connection, operations: Sequence[ScheduleOperation]
    ) -> None:
        self._revisions: dict[tuple[str, str], int] = {}
        self._taken: set[tuple[str, str, int]] = set()
        for operation in operations:
            key = (operation.owner, operation.schedule_id)
            row = connection.execute(WRITING["schedule_revision"], key).fetchone()
            if row is not None:
                self._revisions[key] = row[0]
            if isinstance(operation, Fire):
                slot = (*key, to_microseconds(operation.firing.due_at))
                if connection.execute(WRITING["slot_taken"], slot).fetchone() is not None:
                    self._taken.add(slot)

    def run(self, operation: ScheduleOperation | RestoreSchedules, batch: Batch) -> object:
        if isinstance(operation, RestoreSchedules):
            batch.statements += _restoring(operation.kept)
            return None
        key = (operation.owner, operation.schedule_id)
        match operation:
            case AddSchedule(stored=stored, body=body):
                is_new = key not in self._revisions
                if is_new:
                    self._put(stored, body, batch)
                return is_new
            case ReplaceSchedule(stored=stored, body=body):
                if self._known(key) != stored.revision - 1:
                    raise ConflictError(f"the schedule {key[1]!r} has changed meanwhile: try again")
                self._put(stored, body, batch)
            case RemoveSchedule():
                self._known(key)
                del self._revisions[key]
                self._taken = {slot for slot in self._taken if slot[:2] != key}
                for statement in ("delete_schedule", "delete_slots"):
                    batch.statements.append((statement, key))
                batch.statements.append(("delete_mark", (key[0], mark_key(operation.schedule_id))))
            case _:
                pass
        return None

    def may_take(self, firing: Firing, batch: Batch) -> bool:
        """Whether the slot is free; a schedule whose slot is taken advances anyway."""
        key = (firing.owner, firing.schedule_id)
        if firing.revision is not None and self._revisions.get(key) != firing.revision:
            return False
        if (*key, to_microseconds(firing.due_at)) in self._taken:
            self._move_on(firing, batch)
            return False
        return True

    def take(self, firing: Firing, item_id: ItemId | None, batch: Batch) -> None:
        key = (firing.owner, firing.schedule_id)
        if firing.status is not None:
            due_at = to_microseconds(firing.due_at)
            self._taken.add((*key, due_at))
            outcome = (firing.status, firing.reason, firing.difference)
            row = (*key, due_at, to_microseconds(firing.at), *outcome, item_id)
            batch.statements.append(("insert_slot", row))
            batch.statements.append(("prune_slots", (*key, SLOTS_KEPT)))
        for name, mark in firing.marks.items():
            if firing.post is not None and mark.woke_at == firing.at:
                mark = replace(mark, item=item_id)
            batch.statements.append(("put_mark", (firing.owner, name, _encode(mark))))
        self._move_on(firing, batch)

    def _move_on(self, firing: Firing, batch: Batch) -> None:
        if firing.revision is not None:
            next_at = _optional(firing.next_at)
            row = (firing.owner, firing.schedule_id, next_at)
            batch.statements.append(("move_schedule_on", row))

    def _known(self, key: tuple[str, str]) -> int:
        if key not in self._revisions:
            raise NotFoundError(f"there is no schedule {key[1]!r}")
        return self._revisions[key]

    def _put(self, stored: StoredSchedule, body: bytes, batch: Batch) -> None:
        schedule = stored.schedule
        self._revisions[schedule.owner, schedule.id] = stored.revision
        row = (schedule.owner, schedule.id, stored.revision, _optional(stored.next_at), body)
        batch.statements.append(("put_schedule", row))


def _restoring(kept: KeptSchedules) -> list[Statement]:
    statements: list[Statement] = []
    for stored in kept.schedules:
        schedule = stored.schedule
        place = (schedule.owner, schedule.id, stored.revision, _optional(stored.next_at))
        statements.append(("restore_schedule", (*place, _encode(schedule))))
    for owner, by_schedule in kept.slots.items():
        for schedule_id, slots in by_schedule.items():
            for slot in slots:
                times = (to_microseconds(slot.due_at), to_microseconds(slot.at))
                outcome = (slot.status, slot.reason, slot.difference)
                row = (owner, schedule_id, *times, *outcome, slot.item_id)
                statements.append(("insert_slot", row))
    for owner, marks in kept.marks.items():
        for key, mark in marks.items():
            statements.append(("restore_mark", (owner, key, _encode(mark))))
    return statements


class SqliteSchedules:
    """Implements `ScheduleStore` for the embedded store."""

    def __init__(self, access: Access) -> None:
        self._future, self._write, self._read = access
        self._listeners = Listeners[OwnerId]()

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        return self._listeners.add(listener)

    # -- writing

    async def add(
        self, schedule: Schedule, next_at: datetime | None
    ) -> tuple[StoredSchedule, bool]:
        stored = StoredSchedule(schedule=schedule, next_at=next_at, revision=1)
        operation = AddSchedule(
            self._future(), schedule.owner, schedule.id, stored, _encode(schedule)
        )
        is_new: bool = await self._write(operation)
        if is_new:
            self._announce(schedule.owner)
            return stored, True
        return await self.get(schedule.owner, schedule.id), False

    async def replace(
        self, schedule: Schedule, next_at: datetime | None, *, revision: int
    ) -> StoredSchedule:
        stored = StoredSchedule(schedule=schedule, next_at=next_at, revision=revision + 1)
        operation = ReplaceSchedule(
            self._future(), schedule.owner, schedule.id, stored, _encode(schedule)
        )
        await self._write(operation)
        self._announce(schedule.owner)
        return await self.get(schedule.owner, schedule.id)

    async def remove(self, owner: OwnerId, schedule_id: ScheduleId) -> None:
        await self._write(RemoveSchedule(self._future(), owner, schedule_id))
        self._announce(owner)

    async def fire(self, firing: Firing) -> Receipt | None:
        posts = [(post, _body(post)) for post in (firing.post, firing.notice) if post is not None]
        operation = Fire(self._future(), firing.owner, firing.schedule_id, firing, posts)
        receipt = await self._write(operation)
        self._announce(firing.owner)
        return receipt

    async def remember(self, owner: OwnerId, key: str, mark: Mark) -> None:
        row = (owner, key, _encode(mark))
        await self._write(ExecuteMark(self._future(), "put_mark", row))
        self._announce(owner)

    async def forget(self, owner: OwnerId, key: str) -> None:
        await self._write(ExecuteMark(self._future(), "delete_mark", (owner, key)))
        self._announce(owner)

    async def restore(self, kept: KeptSchedules) -> None:
        await self._write(RestoreSchedules(self._future(), kept))
        for owner in {stored.schedule.owner for stored in kept.schedules}:
            self._announce(owner)

    def _announce(self, owner: OwnerId) -> None:
        self._listeners.notify(owner)

    # -- reading

    async def get(self, owner: OwnerId, schedule_id: ScheduleId) -> StoredSchedule:
        found = await self._read(_read_schedules, owner, schedule_id)
        if not found:
            raise NotFoundError(f"there is no schedule {schedule_id!r}")
        return found[0]

    async def all(self, owner: OwnerId) -> Sequence[StoredSchedule]:
        return await self._read(_read_schedules, owner, None)

    async def due(self, now: datetime, limit: int) -> Sequence[StoredSchedule]:
        return await self._read(_read_due, to_microseconds(now), limit)

    async def earliest(self, after: datetime) -> datetime | None:
        return await self._read(_read_earliest, to_microseconds(after))

    async def slots(self, owner: OwnerId, schedule_id: ScheduleId, limit: int) -> Sequence[Slot]:
        return await self._read(_read_slots, owner, schedule_id, limit)

    async def is_running(self, owner: OwnerId, schedule_id: ScheduleId) -> bool:
        return await self._read(_read_running, owner, schedule_id)

    async def marks(self, owner: OwnerId) -> Mapping[str, Mark]:
        return await self._read(_read_marks, owner)


def read_kept(connection: sqlite3.Connection) -> KeptSchedules:
    """Read everything that the mirror stores."""
    slots: dict[str, dict[str, list[Slot]]] = defaultdict(lambda: defaultdict(list))
    for owner, schedule, *row in connection.execute(READING["kept_slots"], (_SLOTS_MIRRORED,)):
        slots[owner][schedule].append(_slot_of((*row, None, None, None, None)))
    marks: dict[str, dict[str, Mark]] = defaultdict(dict)
    for owner, key, body in connection.execute(READING["kept_marks"]):
        marks[owner][key] = _marks.decode(body)
    rows = connection.execute(READING["kept_schedules"]).fetchall()
    return KeptSchedules(
        schedules=[_schedule_of(row) for row in rows], slots=dict(slots), marks=dict(marks)
    )


def _read_due(connection: sqlite3.Connection, due_by: int, limit: int) -> list[StoredSchedule]:
    due = connection.execute(READING["due_schedules"], (due_by, limit)).fetchall()
    return [stored for key in due for stored in _read_schedules(connection, *key)]


def _read_schedules(
    connection: sqlite3.Connection, owner: OwnerId, schedule_id: ScheduleId | None
) -> list[StoredSchedule]:
    rows = connection.execute(READING["schedules"], (owner, schedule_id)).fetchall()
    return [
        replace(
            _schedule_of(row),
            is_running=bool(row[3]),
            last=None if row[4] is None else _slot_of(row[4:]),
        )
        for row in rows
    ]


def _read_earliest(connection: sqlite3.Connection, after: int) -> datetime | None:
    (earliest,) = connection.execute(READING["earliest_schedule"], (after,)).fetchone()
    return None if earliest is None else from_microseconds(earliest)


def _read_slots(
    connection: sqlite3.Connection, owner: OwnerId, schedule_id: ScheduleId, limit: int
) -> list[Slot]:
    rows = connection.execute(READING["slots"], (owner, schedule_id, limit)).fetchall()
    return [_slot_of(row) for row in rows]


def _read_running(connection: sqlite3.Connection, owner: OwnerId, schedule_id: ScheduleId) -> bool:
    row = connection.execute(READING["schedule_is_running"], (owner, schedule_id)).fetchone()
    return bool(row[0])


def _read_marks(connection: sqlite3.Connection, owner: OwnerId) -> dict[str, Mark]:
    rows = connection.execute(READING["marks"], (owner,)).fetchall()
    return {key: _marks.decode(body) for key, body in rows}


def _schedule_of(row: Row) -> StoredSchedule:
    revision, next_at, body = row[:3]
    return StoredSchedule(
        schedule=_schedules.decode(body),
        next_at=None if next_at is None else from_microseconds(next_at),
        revision=revision,
    )


def _slot_of(row: Row) -> Slot:
    due_at, at, status, reason, difference, item, agent, fate, fate_reason, ended = row
    return Slot(
        due_at=from_microseconds(due_at),
        at=from_microseconds(at),
        status=status,
        reason=reason,
        difference=difference,
        item_id=item,
        agent_id=agent,
        fate=fate,
        fate_reason=fate_reason or "",
        ended_at=None if ended is None else from_microseconds(ended),
    )


def _body(post: Post) -> bytes:
    return _encode(post.item.body)


def _optional(time: datetime | None) -> int | None:
    return None if time is None else to_microseconds(time)
