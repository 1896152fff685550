"""Parses dates and times in queries; words such as `today` are relative to the run time."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS = {"yesterday": -1, "today": 0, "tomorrow": 1}
_SHIFT = re.compile(r"([+-])(\d{1,5})([dw])", re.IGNORECASE)

DAY_EXAMPLES = "2026-11-20, today, yesterday, tomorrow, -7d, +2w or friday"


@dataclass(frozen=True, slots=True)
class Present:
    """The time and time zone in which a query runs."""

    now: datetime
    zone: ZoneInfo

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def day_of(self, moment: datetime) -> date:
        """Return the local date, or that of UTC at the limits of the calendar."""
        try:
            return moment.astimezone(self.zone).date()
        except OverflowError:
            return moment.date()


def day(text: str, present: Present) -> date | None:
    """Parse a date; a weekday is the next one, including today."""
    word = text.strip().lower()
    today = present.today
    try:
        if word in _DAYS:
            return today + timedelta(days=_DAYS[word])
        shift = _SHIFT.fullmatch(word)
        if shift is not None:
            days = int(shift[2]) * (7 if shift[3] == "w" else 1)
            return today + timedelta(days=-days if shift[1] == "-" else days)
    except OverflowError:
        return None
    for number, name in enumerate(_WEEKDAYS):
        if word in (name, name[:3]):
            return today + timedelta(days=(number - today.weekday()) % 7)
    return plain_day(text)


def plain_day(text: str) -> date | None:
    """Parse a date in the format of field values: 2026-11-20."""
    try:
        return date.fromisoformat(text.strip()) if len(text.strip()) == 10 else None
    except ValueError:
        return None


def moment(text: str, present: Present) -> datetime | None:
    """Parse a date and time; without an offset it is local."""
    if text.strip().lower() == "now":
        return present.now
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    try:
        local = found.replace(tzinfo=present.zone) if found.tzinfo is None else found
        return local.astimezone(UTC)
    except OverflowError:
        return None


def clock_time(text: str) -> time | None:
    """Parse a time of day: 18:30."""
    try:
        found = time.fromisoformat(text.strip().zfill(5))
    except ValueError:
        return None
    return found if found.tzinfo is None and ":" in text else None
