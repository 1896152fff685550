"""The clock that is passed to all code that needs the time or a delay."""

import asyncio
import difflib
import os
import time
import zoneinfo
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """Wall time for records, monotonic time for intervals, and `sleep`."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...

    async def sleep(self, seconds: float, /) -> None: ...


class SystemClock:
    """The machine's clock."""

    now = staticmethod(partial(datetime.now, UTC))
    monotonic = staticmethod(time.monotonic)

    sleep = staticmethod(asyncio.sleep)


_EPOCH = datetime.fromtimestamp(0, UTC)


def to_microseconds(moment: datetime) -> int:
    """Return the exact number of microseconds since 1970; a float would be rounded."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def from_microseconds(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)


class UnknownZoneError(ValueError):
    """There is no time zone with this name; the message suggests similar ones."""


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """Return an IANA time zone. Raises `UnknownZoneError`."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    known = zoneinfo.available_timezones()
    near = zones_of_city(name) or difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ", such as Europe/Berlin or UTC."
    raise UnknownZoneError(f"{name!r} is not an IANA time zone{hint}")


def zones_of_city(name: str) -> list[str]:
    """Return the time zones that are named after a city; a zone can have several names."""
    wanted = name.strip().replace(" ", "_").lower()
    known = zoneinfo.available_timezones()
    return sorted(zone for zone in known if zone.rpartition("/")[2].lower() == wanted)


def machine_zone() -> str:
    """Return the time zone of this machine, or UTC if none is configured."""
    link = Path("/etc/localtime")
    linked = str(link.readlink()) if link.is_symlink() else ""
    for name in (os.environ.get("TZ", "").lstrip(":"), linked.partition("zoneinfo/")[2]):
        try:
            if name:
                return zone_of(name).key
        except UnknownZoneError:
            continue
    return "UTC"
