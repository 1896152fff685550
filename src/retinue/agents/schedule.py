"""Schedules as data, and the rules of what is due and what was missed."""

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
"""What is less late than cron can tell is not late."""

_LONGEST_TITLE = 200
_LONGEST_PROMPT = 50_000
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LOOK_BACK = [timedelta(hours=1), timedelta(days=1), timedelta(days=40), timedelta(days=800)]


class Schedule(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is to happen when, and for whom."""

    id: ScheduleId
    owner: OwnerId
    title: str
    prompt: str
    timezone: str
    created_at: datetime
    cron: str | None = None  # five fields, in the time zone
    at: datetime | None = None  # once, at this moment
    catch_up: CatchUp = "skip"  # of times that passed while nobody looked
    definition: str | None = None  # of the schedule's own agent
    target: AgentId | None = None  # an agent that gets it instead
    report_to: AgentId | None = None  # who hears the final text
    watch: Watch | None = None  # wakes only when this has changed
    is_paused: bool = False
    source: Source = "http"
    made_by: AgentId | None = None  # the agent whose tool call made it

    @property
    def is_once(self) -> bool:
        return self.at is not None


class Due(Struct, frozen=True, kw_only=True):
    """What to do about a time that has come."""

    slot: datetime
    is_missed: bool  # it passed while nobody looked, and the policy is to skip it
    next_at: datetime | None


def check(schedule: Schedule) -> None:
    """Raise a `UsageError` that names the field, when the schedule cannot be."""
    if _ID.fullmatch(schedule.id) is None:
        raise _wrong("id", f"{schedule.id!r} is not 1 to 64 of the letters A-Z a-z 0-9 _ . -")
    if not schedule.title.strip() or len(schedule.title) > _LONGEST_TITLE:
        raise _wrong("title", f"expected 1 to {_LONGEST_TITLE} characters")
    if not schedule.prompt.strip() or len(schedule.prompt) > _LONGEST_PROMPT:
        raise _wrong("prompt", f"expected 1 to {_LONGEST_PROMPT} characters")
    try:
        zone_of(schedule.timezone)
    except UnknownZoneError as error:
        raise _wrong("timezone", str(error)) from None
    if (schedule.cron is None) == (schedule.at is None):
        raise _wrong("cron", "give either cron, for a schedule that repeats, or at, for once")
    if schedule.cron is not None:
        check_cron(schedule.cron)
    if schedule.watch is not None:
        check_watch(schedule.watch)
        if schedule.at is not None:
            raise _wrong("watch", "a watch needs a schedule that repeats: give cron, not at")


def next_due(schedule: Schedule, after: datetime) -> datetime | None:
    """The first time after that moment; a one-shot that did not run yet is due whenever it was."""
    if schedule.at is not None:
        return schedule.at
    assert schedule.cron is not None  # one of the two, as checked
    return next(cron_times(schedule.cron, schedule.timezone, after), None)


def what_is_due(schedule: Schedule, slot: datetime, now: datetime) -> Due:
    """Decide about a slot whose time has come: of several that passed, only the last counts."""
    if schedule.at is not None:
        return Due(slot=slot, is_missed=False, next_at=None)
    last = _last_between(schedule, slot, now)
    is_missed = schedule.catch_up == "skip" and now - last > LATE
    return Due(slot=last, is_missed=is_missed, next_at=next_due(schedule, now))


def _last_between(schedule: Schedule, slot: datetime, now: datetime) -> datetime:
    """The last time from the slot up to now, without counting through years of minutes."""
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


def _wrong(field: str, message: str) -> UsageError:
    return UsageError(f"{field}: {message}", details={"field": field})
