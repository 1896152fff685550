from datetime import UTC, datetime

import pytest

from retinue.clock import SystemClock
from retinue.tools.builtin.time import time_tool
from tests.unit.tools.support import Context, run


class StoppedClock(SystemClock):
    def now(self) -> datetime:
        return datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "Sunday, 2026-03-29 01:30:00 UTC (UTC, 2026-03-29T01:30:00+00:00)"),
        (
            "Europe/Berlin",
            "Sunday, 2026-03-29 03:30:00 CEST (Europe/Berlin, 2026-03-29T03:30:00+02:00)",
        ),
        (
            "Tokyo",
            "Sunday, 2026-03-29 10:30:00 JST (Asia/Tokyo, 2026-03-29T10:30:00+09:00)",
        ),
        (
            "new york",
            "Saturday, 2026-03-28 21:30:00 EDT (America/New_York, 2026-03-28T21:30:00-04:00)",
        ),
    ],
)
async def test_the_time_is_told_in_a_zone(ctx: Context, zone: str, text: str) -> None:
    assert (await run(time_tool(StoppedClock()), ctx, zone=zone)).output.text == text


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin"),
        ("qqqqqqq", "such as Europe/Berlin"),
        ("/etc/passwd", "not an IANA time zone"),
        ("../../etc/passwd", "not an IANA time zone"),
        ("", "not an IANA time zone"),
        ("Europe", "not an IANA time zone"),
    ],
)
async def test_an_unknown_zone_is_a_clear_error(ctx: Context, zone: str, hint: str) -> None:
    done = await run(time_tool(SystemClock()), ctx, zone=zone)
    assert done.status == "error"
    assert hint in done.output.text
