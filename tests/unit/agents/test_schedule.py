"""Cron lines, time zones, days on which clocks change, and what was missed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.agents.schedule import (
    CatchUp,
    Schedule,
    check,
    next_due,
    what_is_due,
)
from retinue.agents.watch import Watch
from retinue.errors import UsageError
from retinue.ids import LOCAL_OWNER, ScheduleId
from retinue.times import check_cron

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def daily(**fields: Any) -> Schedule:
    known: dict[str, Any] = {
        "id": ScheduleId("daily"),
        "owner": LOCAL_OWNER,
        "title": "Daily",
        "prompt": "Report.",
        "cron": "0 8 * * *",
        "timezone": "UTC",
        "created_at": moment("2026-01-01T00:00"),
    }
    return Schedule(**(known | fields))


def times(cron: str, timezone: str, after: str, count: int) -> list[str]:
    schedule, last, found = daily(cron=cron, timezone=timezone), moment(after), list[str]()
    for _ in range(count):
        due = next_due(schedule, last)
        assert due is not None
        found.append(f"{due:%Y-%m-%dT%H:%M}")
        last = due
    return found


@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        ("*/20 * * * *", "2026-01-01T00:00", ["2026-01-01T00:20", "2026-01-01T00:40"]),
        ("5,35 6-7 * * *", "2026-01-01T06:10", ["2026-01-01T06:35", "2026-01-01T07:05"]),
        ("0 9-17/4 * * *", "2026-01-01T00:00", ["2026-01-01T09:00", "2026-01-01T13:00"]),
        ("0 0,*/12 * * *", "2026-01-01T00:00", ["2026-01-01T12:00", "2026-01-02T00:00"]),
        ("0 8 * * mon-fri", "2026-01-02T08:00", ["2026-01-05T08:00", "2026-01-06T08:00"]),
        ("0 8 * * 7", "2026-01-01T00:00", ["2026-01-04T08:00", "2026-01-11T08:00"]),
        ("0 8 * * 0", "2026-01-01T00:00", ["2026-01-04T08:00", "2026-01-11T08:00"]),
        ("0 0 1 FEB,AUG *", "2026-01-01T00:00", ["2026-02-01T00:00", "2026-08-01T00:00"]),
        ("0 0 29 2 *", "2026-01-01T00:00", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 31 * *", "2026-01-31T00:00", ["2026-03-31T00:00", "2026-05-31T00:00"]),
    ],
)
def test_names_steps_lists_and_leap_days(cron: str, after: str, expected: list[str]) -> None:
    assert times(cron, "UTC", after, 2) == expected


def test_a_day_of_the_month_or_a_weekday_is_enough_when_both_are_given() -> None:
    found = times("0 0 13 * FRI", "UTC", "2026-01-01T00:00", 4)
    assert found == ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"]


@pytest.mark.parametrize(
    ("cron", "timezone", "after", "expected"),
    [
        # 2026-03-29, Berlin: 02:00 becomes 03:00; a time that does not exist comes right after.
        ("30 2 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("0 8 * * *", BERLIN, "2026-03-28T12:00", ["2026-03-29T06:00", "2026-03-30T06:00"]),
        # 2026-10-25, Berlin: 03:00 becomes 02:00; a fixed time comes once, at its first moment.
        ("30 2 * * *", BERLIN, "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("30 2 * * *", BERLIN, "2026-10-25T01:15", ["2026-10-26T01:30", "2026-10-27T01:30"]),
        # What repeats within the hour goes on by real time, through the gap and the overlap.
        ("*/30 * * * *", BERLIN, "2026-03-29T00:30", ["2026-03-29T01:00", "2026-03-29T01:30"]),
        ("*/30 * * * *", BERLIN, "2026-10-25T00:30", ["2026-10-25T01:00", "2026-10-25T01:30"]),
        # 2026-03-08 and 2026-11-01, New York.
        ("15 2 * * *", NEW_YORK, "2026-03-07T12:00", ["2026-03-08T07:00", "2026-03-09T06:15"]),
        ("30 1 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-11-01T05:30", "2026-11-02T06:30"]),
        ("0 9 * * *", NEW_YORK, "2026-10-31T12:00", ["2026-10-31T13:00", "2026-11-01T14:00"]),
    ],
)
def test_days_on_which_clocks_change(
    cron: str, timezone: str, after: str, expected: list[str]
) -> None:
    assert times(cron, timezone, after, 2) == expected


@given(
    st.sampled_from(["0 * * * *", "30 2 * * *", "*/7 1-3 * * *", "0 0 1 * MON", "15 1,2 * * *"]),
    st.sampled_from([BERLIN, NEW_YORK, "Asia/Kolkata", "Australia/Lord_Howe", "UTC"]),
    st.integers(0, 365 * 86_400),
)
def test_the_next_time_is_always_later(cron: str, timezone: str, seconds: int) -> None:
    start = moment("2026-01-01T00:00") + timedelta(seconds=seconds)
    due = next_due(daily(cron=cron, timezone=timezone), start)
    assert due is not None
    assert due > start
    assert due - start < timedelta(days=40)


@pytest.mark.parametrize(
    ("cron", "complaint"),
    [
        ("0 0 30 2 *", "never runs"),
        ("0 0 31 4,6 *", "never runs"),
        ("* * * *", "has 4 fields"),
        ("0 * * * * *", "has 6 fields"),
        ("", "has 0 fields"),
        ("61 * * * *", "invalid minute: '61'"),
        ("0 24 * * *", "invalid hour: '24'"),
        ("0 0 32 * *", "invalid day of the month: '32'"),
        ("0 0 * 13 *", "invalid month: '13'"),
        ("0 0 * * FUNDAY", "invalid day of the week: 'FUNDAY'"),
        ("*/0 * * * *", "invalid minute: '*/0'"),
        ("5x * * * *", "invalid minute: '5x'"),
        ("0 0 * * FRI-MON", "invalid day of the week: 'FRI-MON'"),
    ],
)
def test_a_line_that_is_wrong_or_never_happens_is_refused(cron: str, complaint: str) -> None:
    with pytest.raises(UsageError, match="cron: ") as raised:
        check_cron(cron)
    assert complaint in raised.value.message
    assert raised.value.details == {"field": "cron"}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"timezone": "Europe/Berlim"}, "did you mean Europe/Berlin"),
        ({"timezone": "Berlin"}, "did you mean Europe/Berlin"),
        ({"timezone": "../etc"}, "is not an IANA time zone"),
        ({"title": " "}, "title: "),
        ({"prompt": ""}, "prompt: "),
        ({"id": ScheduleId("a/b")}, "id: "),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, "either cron"),
        ({"cron": None}, "either cron"),
        ({"watch": Watch()}, "watch: set exactly one of"),
        ({"watch": Watch(file="a", url="b")}, "got file, url"),
        ({"watch": Watch(file=" ")}, "file is empty"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused_by_field(
    fields: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError) as raised:
        check(daily(**fields))
    assert complaint in raised.value.message
    check(daily())


@pytest.mark.parametrize(
    ("catch_up", "now", "slot", "is_missed"),
    [
        ("skip", "2026-01-02T08:00:05", "2026-01-02T08:00", False),
        ("skip", "2026-01-02T08:00:59", "2026-01-02T08:00", False),
        ("skip", "2026-01-02T09:00:00", "2026-01-02T08:00", True),
        ("skip", "2026-01-05T07:59:00", "2026-01-04T08:00", True),
        ("skip", "2026-01-05T08:00:30", "2026-01-05T08:00", False),
        ("once", "2026-01-05T07:59:00", "2026-01-04T08:00", False),
        ("once", "2029-01-05T07:59:00", "2029-01-04T08:00", False),
    ],
)
def test_of_all_times_that_passed_the_last_one_counts(
    catch_up: CatchUp, now: str, slot: str, is_missed: bool
) -> None:
    due = what_is_due(daily(catch_up=catch_up), moment("2026-01-02T08:00"), moment(now))
    assert (due.slot, due.is_missed) == (moment(slot), is_missed)
    assert due.next_at is not None
    assert moment(now) < due.next_at <= moment(now) + timedelta(days=1)


def test_a_year_of_missed_minutes_is_not_counted_through() -> None:
    minutely = daily(cron="* * * * *", catch_up="once")
    due = what_is_due(minutely, moment("2026-01-01T00:00"), moment("2036-01-01T00:00:20"))
    assert due.slot == moment("2036-01-01T00:00")


def test_what_happens_once_stays_due_however_late_it_is() -> None:
    once = daily(cron=None, at=moment("2026-01-02T08:00"))
    later = moment("2026-06-01T00:00")
    assert next_due(once, later) == moment("2026-01-02T08:00")
    due = what_is_due(once, moment("2026-01-02T08:00"), later)
    assert (due.is_missed, due.next_at) == (False, None)
