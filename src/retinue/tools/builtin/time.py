"""The `time` tool."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from retinue.clock import Clock, UnknownZoneError, zone_of, zones_of_city
from retinue.errors import UsageError
from retinue.tools.function_tool import FunctionTool, tool


def time_tool(clock: Clock) -> FunctionTool[..., Any]:
    """Create the tool for this clock."""

    @tool(effect="pure", capabilities=["time.read"])
    async def time(zone: str = "UTC") -> str:
        """Return the current date, weekday and time.

        Args:
            zone: An IANA time zone, such as Europe/Berlin, or its city.
        """
        found = _zone(zone, clock.now())
        now = clock.now().astimezone(found)
        return f"{now:%A, %Y-%m-%d %H:%M:%S} {now.tzname()} ({found.key}, {now.isoformat()})"

    return time


def _zone(name: str, now: datetime) -> ZoneInfo:
    try:
        return zone_of(name)
    except UnknownZoneError as error:
        cities = [zone_of(zone) for zone in zones_of_city(name)]
        if len({now.astimezone(zone).utcoffset() for zone in cities}) == 1:
            return cities[0]
        raise UsageError(str(error)) from None
