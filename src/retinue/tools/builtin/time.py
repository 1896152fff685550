"""The tool that tells the time."""

from typing import Any
from zoneinfo import ZoneInfo

from retinue.clock import Clock, UnknownZoneError, zone_of
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


def _zone(name: str) -> ZoneInfo:
    try:
        return zone_of(name)
    except UnknownZoneError as error:
        raise UsageError(str(error)) from None
