"""A task that sleeps until something is due, and handles it in a task of its own."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta

from retinue.clock import Clock
from retinue.engine.scheduling.configured_schedules import reconcile
from retinue.engine.scheduling.due_slots import Firer, ToolsOf
from retinue.engine.scheduling.heartbeat import Heartbeat
from retinue.engine.scheduling.schedule_service import Schedules
from retinue.errors import StoreError
from retinue.ids import OwnerId, ScheduleId
from retinue.repeated_log import RepeatedLog
from retinue.stores.schedule_port import StoredSchedule

logger = logging.getLogger(__name__)

_BATCH = 100
_RETRY_SECONDS = 5.0
_CLOCK_SECONDS = 1.0


class Scheduler:
    """Fires due schedules and the heartbeat."""

    def __init__(
        self,
        schedules: Schedules,
        heartbeat: Heartbeat,
        clock: Clock,
        announce: Callable[[OwnerId], None],
        tools_of: ToolsOf,
    ) -> None:
        self._schedules = schedules
        self._heartbeat = heartbeat
        self._clock = clock
        self._announce = announce
        self._firer = Firer(schedules, clock, tools_of)
        self._trouble = RepeatedLog(
            logger, "schedules are delayed", over="schedules continue", monotonic=clock.monotonic
        )
        self._news = asyncio.Event()
        heartbeat.on_end = self._news.set
        self._next_at: datetime | None = None
        self._busy: dict[tuple[OwnerId, ScheduleId], asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._unlisten: Callable[[], None] | None = None

    async def start(self) -> None:
        """Apply the settings, then start; waits for no model."""
        await reconcile(self._schedules, self._clock)
        self._unlisten = self._schedules.store.listen(self._changed)
        self._task = asyncio.create_task(self._work())

    async def stop(self) -> None:
        if self._unlisten is not None:
            self._unlisten()
        tasks = [task for task in (self._task, *self._busy.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._heartbeat.stop()

    def _changed(self, owner: OwnerId) -> None:
        self._news.set()
        self._announce(owner)

    def wake(self) -> None:
        """Look again at what is due: the tasks of the heartbeat changed."""
        self._news.set()

    async def _work(self) -> None:
        while True:
            self._news.clear()
            self._next_at = await self._round()
            await self._sleep()

    async def _round(self) -> datetime | None:
        """Start everything that is due; returns the next due time."""
        now = self._clock.now()
        try:
            # Running ones stay due until they finish, so the limit must leave room for others.
            due = await self._schedules.store.due(now, _BATCH + len(self._busy))
            begun = [self._begin(stored) for stored in due]
            if sum(begun) >= _BATCH:
                return now
            times = [
                await self._schedules.store.earliest(now),
                await self._heartbeat.beat(now),
            ]
        except StoreError as error:
            self._trouble.report(error)
            return now + timedelta(seconds=_RETRY_SECONDS)
        except Exception:
            logger.exception("schedules are delayed")
            return now + timedelta(seconds=_RETRY_SECONDS)
        return min((time for time in times if time is not None), default=None)

    def _begin(self, stored: StoredSchedule) -> bool:
        key = (stored.schedule.owner, stored.schedule.id)
        if key in self._busy:
            return False
        task = asyncio.create_task(self._handle(stored))
        self._busy[key] = task
        task.add_done_callback(lambda _: self._busy.pop(key, None))
        return True

    async def _handle(self, stored: StoredSchedule) -> None:
        try:
            await self._firer.fire(stored)
            self._trouble.clear()
        except StoreError as error:
            self._trouble.report(error)
            await self._clock.sleep(_RETRY_SECONDS)
        except Exception:
            logger.exception("a schedule is delayed", extra={"schedule": stored.schedule.id})
            await self._clock.sleep(_RETRY_SECONDS)
        self._news.set()

    async def _sleep(self) -> None:
        """Sleep until the next due time or the next change."""
        if self._next_at is None:
            await self._news.wait()
            return
        seconds = (self._next_at - self._clock.now()).total_seconds()
        await first_of(
            self._clock.sleep(max(0.0, seconds)),
            self._clock_set_to(self._next_at),
            self._news.wait(),
        )

    async def _clock_set_to(self, due: datetime) -> None:
        """Wait until the wall clock shows this time: somebody may set it forward meanwhile."""
        while due > self._clock.now():
            await self._clock.sleep(_CLOCK_SECONDS)


async def first_of(*waits: Coroutine[None, None, object]) -> None:
    """Wait for the first of these, and cancel the others."""
    tasks = [asyncio.create_task(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
