"""A clock that a test advances by hand."""

import asyncio
import heapq
from datetime import UTC, datetime, timedelta
from itertools import count

_BEGINNING = datetime(2026, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """Time passes only in `advance`; sleepers wake in the order of their times."""

    def __init__(self, now: datetime = _BEGINNING) -> None:
        self._began = now
        self._elapsed = 0.0
        self._numbers = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._news = asyncio.Event()

    def now(self) -> datetime:
        return self._began + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        return self._elapsed

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._numbers), sleeper))
        self._news.set()
        await sleeper

    @property
    def delays(self) -> list[float]:
        """Return the remaining time of each sleeper, shortest first."""
        return sorted(
            due - self._elapsed for due, _, sleeper in self._sleepers if not sleeper.done()
        )

    async def someone_sleeps(self, at_least: float = 0) -> float:
        """Wait until a task sleeps for that long, and return its remaining time."""
        while True:
            for delay in self.delays:
                if delay >= at_least:
                    return delay
            self._news.clear()
            await self._news.wait()

    def advance(self, seconds: float) -> None:
        """Advance the time and wake all sleepers that are due."""
        end = self._elapsed + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, sleeper = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, due)
            if not sleeper.done():
                sleeper.set_result(None)
        self._elapsed = end

    def jump(self, seconds: float) -> None:
        """Change the wall clock, as an operator or NTP would."""
        self._began += timedelta(seconds=seconds)
