"""The schedules' part of the store port: a time that has come is one transaction.

`fire` takes the slot, puts the item into the inbox and moves the schedule on, all or nothing: no
crash can come between them, and of two that fire the same slot one is told that it was taken.
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
"""The slots of the heartbeat's batches; no schedule has this id."""

SlotStatus = Literal["fired", "run_now", "skipped_overlap", "skipped_missed", "failed"]


def mark_key(schedule_id: ScheduleId) -> str:
    """Where what the schedule's watch saw is remembered."""
    return f"schedule/{schedule_id}"


class Slot(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What became of one time of a schedule."""

    due_at: datetime
    at: datetime  # when it was handled
    status: SlotStatus
    reason: str = ""
    difference: str = ""  # what its watch saw that woke somebody
    item_id: ItemId | None = None
    agent_id: AgentId | None = None  # None also when that agent is gone
    fate: Fate | None = None  # of the item, as it is now
    fate_reason: str = ""
    ended_at: datetime | None = None


class StoredSchedule(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A schedule, when it is due next, and what became of its last time."""

    schedule: Schedule
    next_at: datetime | None  # None: paused, or done
    revision: int  # grows with every change of the schedule
    last: Slot | None = None
    is_running: bool = False  # an item of one of its slots has no final fate yet


class Firing(Struct, frozen=True, kw_only=True):
    """Everything that follows from one time that has come."""

    owner: OwnerId
    schedule_id: ScheduleId
    due_at: datetime
    at: datetime
    status: SlotStatus | None  # None: nothing to tell of this time
    reason: str = ""
    difference: str = ""
    revision: int | None = None  # of the schedule that was read; None: there is none to move on
    next_at: datetime | None = None
    post: Post | None = None  # the run
    notice: Post | None = None  # what somebody is told beside it
    marks: Mapping[str, Mark] = {}  # what is remembered from now on, by key


class KeptSchedules(Struct, frozen=True, kw_only=True, rename="camel"):
    """All of it, as the mirror, exports and rebuilding carry it."""

    schedules: Sequence[StoredSchedule] = []
    slots: Mapping[str, Mapping[str, Sequence[Slot]]] = {}  # the last ones, by owner and schedule
    marks: Mapping[str, Mapping[str, Mark]] = {}  # by owner and key
    v: int = 1


class ScheduleStore(Protocol):
    """Schedules, the slots they took, and what watches remember."""

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        """Call back on the event loop after anything here changed for an owner; gives the undo."""
        ...

    # -- writing

    async def add(
        self, schedule: Schedule, next_at: datetime | None
    ) -> tuple[StoredSchedule, bool]:
        """Store a new schedule; one that has its id already stays as it is."""
        ...

    async def replace(
        self, schedule: Schedule, next_at: datetime | None, *, revision: int
    ) -> StoredSchedule:
        """Change a schedule. Raises `ConflictError` when another change came first."""
        ...

    async def remove(self, owner: OwnerId, schedule_id: ScheduleId) -> None:
        """Forget the schedule, its slots and its mark. Raises `NotFoundError`."""
        ...

    async def fire(self, firing: Firing) -> Receipt | None:
        """Take the slot with all that follows from it.

        None when the slot was taken before, when the schedule is not as it was read, or when there
        was nothing to post. Raises what `admit` raises; then nothing changed.
        """
        ...

    async def remember(self, owner: OwnerId, key: str, mark: Mark) -> None: ...

    async def forget(self, owner: OwnerId, key: str) -> None: ...

    async def restore(self, kept: KeptSchedules) -> None:
        """Put everything back; what is there already stays."""
        ...

    # -- reading

    async def get(self, owner: OwnerId, schedule_id: ScheduleId) -> StoredSchedule:
        """Raises `NotFoundError`."""
        ...

    async def all(self, owner: OwnerId) -> Sequence[StoredSchedule]:
        """An owner's schedules, the next one due first."""
        ...

    async def due(self, now: datetime, limit: int) -> Sequence[StoredSchedule]:
        """Everybody's schedules whose time has come, the longest waiting first."""
        ...

    async def earliest(self, after: datetime) -> datetime | None:
        """When the next schedule of anybody is due, after that moment."""
        ...

    async def slots(self, owner: OwnerId, schedule_id: ScheduleId, limit: int) -> Sequence[Slot]:
        """What became of its times, the newest first."""
        ...

    async def is_running(self, owner: OwnerId, schedule_id: ScheduleId) -> bool:
        """Whether an item of one of its slots has no final fate yet."""
        ...

    async def marks(self, owner: OwnerId) -> Mapping[str, Mark]: ...
