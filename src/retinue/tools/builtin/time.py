"""The tool that tells the time."""

import difflib
import zoneinfo
from typing import Any

from retinue.clock import Clock
from retinue.errors import UsageError
from retinue.tools.function import FunctionTool, tool


def time_tool(clock: Clock) -> FunctionTool[..., Any]:
    """Make the tool for this clock."""

    @tool(effect="pure", capabilities=["time.read"])
    async def time(zone: str = "UTC") -> str:
        """Tell the date, the weekday and the time of now.

        Args:
            zone: An IANA time zone, such as Europe/Berlin.
        """
        now = clock.now().astimezone(_zone(zone))
        return f"{now:%A, %Y-%m-%d %H:%M:%S} {now.tzname()} ({zone}, {now.isoformat()})"

    return time


def _zone(name: str) -> zoneinfo.ZoneInfo:
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        pass
    known = zoneinfo.available_timezones()
    if not known:
        raise UsageError("This machine has no time zone data: install the system's tzdata.")
    by_city = {zone.rpartition("/")[2].lower(): zone for zone in sorted(known, reverse=True)}
    wanted = name.strip().replace(" ", "_").lower()
    near = [by_city[wanted]] if wanted in by_city else difflib.get_close_matches(name, known, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ", such as Europe/Berlin or UTC."
    raise UsageError(f"{name!r} is not an IANA time zone{hint}")
