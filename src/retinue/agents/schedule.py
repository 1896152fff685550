"""Schedules, and the rules for due and missed runs."""

import re
from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from retinue.agents.watch import Watch, check_watch
from retinue.clock import UnknownZoneError, zone_of
from retinue.errors import UsageError
from retinue.ids import AgentId, OwnerId, ScheduleId
from retinue.times import check_cron, cron_times

CatchUp = Literal["skip", "once"]
Source = Literal["settings", "tool", "http"]

LATE = timedelta(seconds=60)
"""A run counts as missed only if it is later than this, the resolution of cron."""

_LONGEST_TITLE = 200
_LONGEST_PROMPT = 50_000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LOOK_BACK = [timedelta(hours=1), timedelta(days=1), timedelta(days=40), timedelta(days=800)]


class Schedule(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A prompt that is sent to an agent at certain times."""

    id: ScheduleId
    owner: OwnerId
    title: str
    prompt: str
    timezone: str
    created_at: datetime
    cron: str | None = None  # five fields, in the time zone
    at: datetime | None = None  # the time of a one-shot schedule
    catch_up: CatchUp = "skip"  # policy for missed runs
    definition: str | None = None  # of the schedule's own agent
    target: AgentId | None = None  # the agent that receives the prompt instead
    report_to: AgentId | None = None  # the agent that receives the final text
    watch: Watch | None = None  # runs only if this has changed
    is_paused: bool = False
    source: Source = "http"
    made_by: AgentId | None = None  # the agent that created it with a tool call

    @property
    def is_once(self) -> bool:
        return self.at is not None


class Due(Struct, frozen=True, kw_only=True):
    """What to do about a due time."""

    slot: datetime
    is_missed: bool  # the server was down, and the policy is to skip
    next_at: datetime | None


def check(schedule: Schedule) -> None:
    """Raise `UsageError` with the name of the field if the schedule is invalid."""
    if _ID.fullmatch(schedule.id) is None:
        raise _invalid("id", f"expected 1 to 64 of A-Z a-z 0-9 _ . -, got {schedule.id!r}")
    if not schedule.title.strip() or len(schedule.title) > _LONGEST_TITLE:
        raise _invalid("title", f"expected 1 to {_LONGEST_TITLE} characters")
    if not schedule.prompt.strip() or len(schedule.prompt) > _LONGEST_PROMPT:
        raise _invalid("prompt", f"expected 1 to {_LONGEST_PROMPT} characters")
    try:
        zone_of(schedule.timezone)
    except UnknownZoneError as error:
        raise _invalid("timezone", str(error)) from None
    if (schedule.cron is None) == (schedule.at is None):
        raise _invalid("cron", "set either cron (recurring) or at (one time)")
    if schedule.cron is not None:
        check_cron(schedule.cron)
    if schedule.watch is not None:
        check_watch(schedule.watch)
        if schedule.at is not None:
            raise _invalid("watch", "a watch requires a recurring schedule: set cron instead of at")


def next_due(schedule: Schedule, after: datetime) -> datetime | None:
    """Return the first time after a moment; a one-shot that has not run is due at its time."""
    if schedule.at is not None:
        return schedule.at
    assert schedule.cron is not None  # one of the two, as checked
    return next(cron_times(schedule.cron, schedule.timezone, after), None)


def what_is_due(schedule: Schedule, slot: datetime, now: datetime) -> Due:
    """Decide about a due slot; of several passed slots, only the last one counts."""
    if schedule.at is not None:
        return Due(slot=slot, is_missed=False, next_at=None)
    last = _last_between(schedule, slot, now)
    is_missed = schedule.catch_up == "skip" and now - last > LATE
    return Due(slot=last, is_missed=is_missed, next_at=next_due(schedule, now))


def _last_between(schedule: Schedule, slot: datetime, now: datetime) -> datetime:
    """Return the last time between the slot and now; tries short periods first, which is fast."""
    assert schedule.cron is not None
    for span in _LOOK_BACK:
        since = max(slot, now - span)
        last = None
        for moment in cron_times(schedule.cron, schedule.timezone, since):
            if moment > now:
                break
            last = moment
        if last is not None:
            return last
        if since == slot:
            break
    return slot


def _invalid(field: str, message: str) -> UsageError:
    return UsageError(f"{field}: {message}", details={"field": field})
