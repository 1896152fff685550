"""Times as people write them."""

from datetime import UTC, datetime, timedelta

import pytest

from retinue.errors import UsageError
from retinue.times import interval_of, moment_of

NOW = datetime(2026, 11, 16, 8, 30, tzinfo=UTC)  # 09:30 in Berlin


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30m", 30),
        ("90s", 1.5),
        ("2h", 120),
        ("1h30m", 90),
        ("1h 30m", 90),
        ("1 hour and 5 minutes", 65),
        ("1.5 hours", 90),
        ("1d", 1440),
        ("2 weeks", 20160),
    ],
)
def test_lengths_of_time(text: str, minutes: float) -> None:
    assert interval_of(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["", "0m", "soon", "30", "m", "-5m", "30 months", "5mm", "99999w"])
def test_what_is_no_length_of_time_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a duration"):
        interval_of(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("18:30", "2026-11-16T17:30"),
        ("9", "2026-11-17T08:00"),
        ("9:30", "2026-11-17T08:30"),
        ("10.15", "2026-11-16T09:15"),
        ("6pm", "2026-11-16T17:00"),
        ("12 am", "2026-11-16T23:00"),
        ("tomorrow at 7:00", "2026-11-17T06:00"),
        ("today 23:00", "2026-11-16T22:00"),
        ("in 20 minutes", "2026-11-16T08:50"),
        ("2 hours", "2026-11-16T10:30"),
        ("2026-11-20T09:00", "2026-11-20T08:00"),
        ("2026-11-20 09:00", "2026-11-20T08:00"),
        ("2026-07-01T09:00", "2026-07-01T07:00"),
        ("2026-11-20T09:00:00Z", "2026-11-20T09:00"),
        ("2026-11-20T09:00-05:00", "2026-11-20T14:00"),
    ],
)
def test_moments_are_local_unless_they_say_otherwise(text: str, expected: str) -> None:
    found = moment_of(text, "Europe/Berlin", NOW)
    assert found == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "25:00", "9:75", "someday", "in a while", "9999-12-31T23:59-12:00"]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        moment_of(text, "Europe/Berlin", NOW)
