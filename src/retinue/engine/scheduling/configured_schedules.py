"""Keeps schedules in sync with the entries in the settings."""

import logging
from datetime import datetime

import msgspec
from msgspec.structs import replace

from retinue.agents.schedule import Schedule, check, next_due
from retinue.agents.watch import Watch
from retinue.clock import Clock
from retinue.engine.scheduling.schedule_service import Schedules, next_after_change
from retinue.errors import RetinueError, UsageError
from retinue.ids import LOCAL_OWNER, ScheduleId
from retinue.settings.tables import CronSettings, slug_of

logger = logging.getLogger(__name__)

_TAKEN = (
    "retinue.toml: cron %r is ignored: a schedule with this id, %r, was created elsewhere; "
    "give the entry another id, or delete that schedule"
)


async def reconcile(schedules: Schedules, clock: Clock) -> None:
    """Apply the settings to the store; unchanged schedules keep their time and history."""
    now = clock.now()
    wanted = await _wanted(schedules, now)
    store = schedules.store
    for stored in await store.all(LOCAL_OWNER):
        schedule = stored.schedule
        new = wanted.pop(schedule.id, None)
        if schedule.source != "settings":
            if new is not None:
                logger.error(_TAKEN, schedule.id, schedule.title)
        elif new is None:
            await store.remove(LOCAL_OWNER, schedule.id)
        else:
            after = _merged(schedule, new)
            if after != schedule:
                await store.replace(
                    after, next_after_change(stored, after, now), revision=stored.revision
                )
    for new in wanted.values():
        await store.add(new, None if new.is_paused else next_due(new, now))


async def _wanted(schedules: Schedules, now: datetime) -> dict[ScheduleId, Schedule]:
    found: dict[ScheduleId, Schedule] = {}
    for index, entry in enumerate(schedules.settings.cron):
        schedule = _schedule(entry, schedules.timezone, now)
        try:
            check(schedule)
        except UsageError as error:
            raise UsageError(f"retinue.toml: cron[{index}].{error.message}") from error
        try:
            await schedules.posting.check_definition(schedule.definition)
        except RetinueError as error:
            # The file may be repaired before the schedule is due; if not, the run reports it.
            logger.warning("retinue.toml: cron[%d].definition: %s", index, error.message)
        found[schedule.id] = schedule
    return found


def _schedule(entry: CronSettings, timezone: str, now: datetime) -> Schedule:
    watch = entry.watch
    return Schedule(
        id=ScheduleId(entry.id or slug_of(entry.title)),
        owner=LOCAL_OWNER,
        title=entry.title,
        prompt=entry.prompt,
        cron=entry.schedule,
        timezone=entry.timezone or timezone,
        catch_up=entry.catch_up,
        definition=entry.definition,
        watch=None if watch is None else msgspec.convert(watch.model_dump(), Watch),
        is_paused=entry.paused,
        source="settings",
        created_at=now,
    )


def _merged(before: Schedule, new: Schedule) -> Schedule:
    """The schedule from the file; a pause that was set elsewhere is kept."""
    return replace(new, is_paused=before.is_paused or new.is_paused, created_at=before.created_at)
