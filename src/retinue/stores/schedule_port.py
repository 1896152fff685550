"""The store port for schedules: firing a slot is one transaction.

`fire` takes the slot, puts the item into the inbox and sets the next time, all or nothing. No crash
can separate these, and a slot can be fired only once.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from retinue.agents.inbox import Fate
from retinue.agents.schedule import Schedule
from retinue.agents.watch import Mark
from retinue.ids import AgentId, ItemId, OwnerId, ScheduleId
from retinue.stores.port import Post, Receipt

HEARTBEAT = ScheduleId("heartbeat")
"""The schedule id of the heartbeat's slots; no schedule uses it."""

SlotStatus = Literal["fired", "run_now", "skipped_overlap", "skipped_missed", "failed"]


def mark_key(schedule_id: ScheduleId) -> str:
    """The key under which the state of the schedule's watch is stored."""
    return f"schedule/{schedule_id}"


class Slot(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The outcome of one due time of a schedule."""

    due_at: datetime
    at: datetime  # when it was handled
    status: SlotStatus
    reason: str = ""
    difference: str = ""  # the change its watch detected
    item_id: ItemId | None = None
    agent_id: AgentId | None = None  # None also if that agent was deleted
    fate: Fate | None = None  # the current fate of the item
    fate_reason: str = ""
    ended_at: datetime | None = None


class StoredSchedule(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A schedule with its next due time and its latest slot."""

    schedule: Schedule
    next_at: datetime | None  # None = paused or finished
    revision: int  # increases with every change of the schedule
    last: Slot | None = None
    is_running: bool = False  # whether an item of one of its slots is still open


class Firing(Struct, frozen=True, kw_only=True):
    """Everything to store when a due time is handled."""

    owner: OwnerId
    schedule_id: ScheduleId
    due_at: datetime
    at: datetime
    status: SlotStatus | None  # None = no slot is recorded
    reason: str = ""
    difference: str = ""
    revision: int | None = None  # of the schedule as read; None = there is none to advance
    next_at: datetime | None = None
    post: Post | None = None  # the run
    notice: Post | None = None  # an additional message
    marks: Mapping[str, Mark] = {}  # watch states to store, by key


class KeptSchedules(Struct, frozen=True, kw_only=True, rename="camel"):
    """All schedules with slots and marks, as the mirror, exports and rebuilds transfer them."""

    schedules: Sequence[StoredSchedule] = []
    slots: Mapping[str, Mapping[str, Sequence[Slot]]] = {}  # most recent, by owner and schedule
    marks: Mapping[str, Mapping[str, Mark]] = {}  # by owner and key
    v: int = 1


class ScheduleStore(Protocol):
    """Schedules, their slots, and the states of watches."""

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        """Call back on the event loop after a change for an owner; returns an undo."""
        ...

    # -- writing

    async def add(
        self, schedule: Schedule, next_at: datetime | None
    ) -> tuple[StoredSchedule, bool]:
        """Store a new schedule; an existing one with the same id is kept."""
        ...

    async def replace(
        self, schedule: Schedule, next_at: datetime | None, *, revision: int
    ) -> StoredSchedule:
        """Replace a schedule. Raises `ConflictError` if it was changed in the meantime."""
        ...

    async def remove(self, owner: OwnerId, schedule_id: ScheduleId) -> None:
        """Delete the schedule, its slots and its mark. Raises `NotFoundError`."""
        ...

    async def fire(self, firing: Firing) -> Receipt | None:
        """Take the slot and apply everything in the firing.

        Returns None if the slot is already taken, the schedule has changed, or there was nothing to
        post. Raises what `admit` raises; then nothing changed.
        """
        ...

    async def remember(self, owner: OwnerId, key: str, mark: Mark) -> None: ...

    async def forget(self, owner: OwnerId, key: str) -> None: ...

    async def restore(self, kept: KeptSchedules) -> None:
        """Restore everything; existing entries are kept."""
        ...

    # -- reading

    async def get(self, owner: OwnerId, schedule_id: ScheduleId) -> StoredSchedule:
        """Raises `NotFoundError`."""
        ...

    async def all(self, owner: OwnerId) -> Sequence[StoredSchedule]:
        """An owner's schedules, next due first."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[StoredSchedule]:
        """Schedules of all owners that are due, longest overdue first."""
        ...

    async def earliest(self, after: datetime) -> datetime | None:
        """The next due time of all schedules after this time."""
        ...

    async def slots(self, owner: OwnerId, schedule_id: ScheduleId, limit: int) -> Sequence[Slot]:
        """The slots of a schedule, newest first."""
        ...

    async def is_running(self, owner: OwnerId, schedule_id: ScheduleId) -> bool:
        """Whether an item of one of its slots is still open."""
        ...

    async def marks(self, owner: OwnerId) -> Mapping[str, Mark]: ...
