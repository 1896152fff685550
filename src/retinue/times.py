"""Parses times as people write them: `0 8 * * MON-FRI`, `30m`, `18:30`, `2026-11-20T09:00`.

Cron times are local. When clocks go forward, a time in the gap runs at the first moment after
it; when clocks go back, a time that occurs twice runs once.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

from retinue.clock import zone_of
from retinue.errors import UsageError

_FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_PIECE = re.compile(
    r"(\d+(?:\.\d+)?)\s*"
    r"(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?|w|weeks?)(?=[\s\d,]|and|$)",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?:\s|,|and)*", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?:(?P<day>today|tomorrow)\s*(?:at\s+)?)?(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?"
    r"\s*(?P<half>am|pm)?",
    re.IGNORECASE,
)
_LONGEST = timedelta(days=3660)


def check_cron(cron: str) -> None:
    """Raise `UsageError` unless `cron` is a valid five-field expression that matches some date."""
    parts = cron.split()
    if len(parts) != len(_FIELDS):
        raise _cron_error(
            f"{cron!r} has {len(parts)} fields; expected 5: minute, hour, day, month, weekday, "
            "such as '0 8 * * MON-FRI'",
        )
    for index, name in enumerate(_FIELDS):
        alone = ["*"] * len(_FIELDS)
        alone[index] = parts[index]
        try:
            CronSim(" ".join(alone), datetime(2000, 1, 1))  # noqa: DTZ001  (only parsed)
        except CronSimError:
            raise _cron_error(f"invalid {name}: {parts[index]!r}") from None
    if next(cron_times(cron, "UTC", datetime(2000, 1, 1, tzinfo=UTC)), None) is None:
        raise _cron_error(f"{cron!r} never runs: no date matches it")


def cron_times(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Yield the times of a cron expression after a moment, in UTC."""
    try:
        local_times = CronSim(cron, after.astimezone(zone_of(timezone)))
    except CronSimError:
        return
    last = after
    for local in local_times:
        moment = local.astimezone(UTC)
        # When clocks go back, a time occurs twice and CronSim may return the first occurrence
        # again if it starts between the two.
        if moment > last:
            last = moment
            yield moment


def interval_of(text: str) -> timedelta:
    """Parse a duration such as `30m` or `1h 30m`."""
    seconds = 0.0
    rest = text.strip()
    while rest:
        piece = _PIECE.match(rest)
        if piece is None:
            raise UsageError(f"{text!r} is not a duration, such as 30m, 2h or 1d")
        seconds += float(piece[1]) * _UNITS[piece[2][0].lower()]
        rest = _BETWEEN.sub("", rest[piece.end() :], count=1)
    if not 0 < seconds <= _LONGEST.total_seconds():
        raise UsageError(f"{text!r} is not a duration from one second to ten years")
    return timedelta(seconds=seconds)


def moment_of(text: str, timezone: str, now: datetime) -> datetime:
    """Parse a time and return it in UTC.

    Without an offset the time is local; without a date it is the next time of day.
    """
    words = text.strip()
    zone = zone_of(timezone)
    span = words[3:] if words.lower().startswith("in ") else words
    if span != words or _PIECE.match(words):
        return now + interval_of(span)
    clock = _CLOCK.fullmatch(words)
    if clock is not None:
        return _next_time_of_day(clock, now.astimezone(zone)).astimezone(UTC)
    try:
        moment = datetime.fromisoformat(words)
    except ValueError:
        raise UsageError(
            f"{text!r} is not a time: write 18:30, tomorrow 9:00, in 20 minutes or 2026-11-20T09:00"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{text!r} is out of range") from None


def _next_time_of_day(clock: re.Match[str], now: datetime) -> datetime:
    hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
    if clock["half"] and hour <= 12:
        hour = hour % 12 + (12 if clock["half"].lower() == "pm" else 0)
    if hour > 23 or minute > 59:
        raise UsageError(f"{clock[0]!r} is not a time of day")
    moment = now.replace(hour=hour, minute=minute, second=0, microsecond=0, fold=0)
    day = (clock["day"] or "").lower()
    if day == "tomorrow" or (not day and moment <= now):
        moment += timedelta(days=1)
    return moment


def _cron_error(message: str) -> UsageError:
    return UsageError(f"cron: {message}", details={"field": "cron"})
