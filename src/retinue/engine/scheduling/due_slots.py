"""Handles a due schedule: one decision, one transaction."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from retinue.agents.schedule import Due, Schedule, what_is_due
from retinue.agents.watch import Mark
from retinue.clock import Clock
from retinue.engine.scheduling.schedule_messages import run_key, schedule_text
from retinue.engine.scheduling.schedule_scope import why_refused
from retinue.engine.scheduling.schedule_service import Schedules
from retinue.errors import RetinueError, StoreError
from retinue.stores.port import Agent
from retinue.stores.schedule_port import Firing, StoredSchedule, mark_key
from retinue.tools.port import Tool

logger = logging.getLogger(__name__)

OVERLAPS = "the previous run has not finished"
MISSED = "it was due while the server was not running"


ToolsOf = Callable[[str, Agent | None], Awaitable[Sequence[Tool]]]
"""The tools that agents of a definition may currently use."""


class Firer:
    """Handles one due schedule."""

    def __init__(self, schedules: Schedules, clock: Clock, tools_of: ToolsOf) -> None:
        self._schedules = schedules
        self._tools_of = tools_of
        self._clock = clock

    async def fire(self, stored: StoredSchedule) -> None:
        """Run it, skip it, or record why it failed. Raises only `StoreError`."""
        now = self._clock.now()
        assert stored.next_at is not None  # it is due
        due = what_is_due(stored.schedule, stored.next_at, now)
        try:
            firing = await self._firing(stored, due, now)
            await self._schedules.store.fire(firing)
        except StoreError:
            raise
        except Exception as error:
            if not isinstance(error, RetinueError):
                logger.exception("a schedule failed", extra={"schedule": stored.schedule.id})
            reason = error.message if isinstance(error, RetinueError) else "an internal error"
            mark = replace(await self._mark(stored.schedule, now), ran_at=now, problem=reason)
            failed = await self._failed(stored, due, now, reason, mark)
            await self._schedules.store.fire(failed)

    async def _firing(self, stored: StoredSchedule, due: Due, now: datetime) -> Firing:
        schedule = stored.schedule
        empty = _firing(stored, due, now)
        if due.is_missed:
            return replace(empty, status="skipped_missed", reason=MISSED)
        if stored.is_running and not schedule.is_once:
            return replace(empty, status="skipped_overlap", reason=OVERLAPS)
        if schedule.watch is not None:
            return await self._watched(stored, due, now)
        firing = await self._run(stored, due, now, "")
        mark = (await self._schedules.store.marks(schedule.owner)).get(mark_key(schedule.id))
        if mark is None or not mark.problem:
            return firing
        return replace(
            firing, marks={mark_key(schedule.id): replace(mark, problem="", is_told=False)}
        )

    async def _run(
        self, stored: StoredSchedule, due: Due, now: datetime, difference: str
    ) -> Firing:
        schedule = stored.schedule
        text = schedule_text(schedule, due.slot, now, difference)
        post = await self._schedules.posting.run(
            schedule, text, now=now, key=run_key(schedule, due.slot)
        )
        return replace(_firing(stored, due, now), status="fired", post=post, difference=difference)

    async def _watched(self, stored: StoredSchedule, due: Due, now: datetime) -> Firing:
        schedule = stored.schedule
        assert schedule.watch is not None
        mark = await self._mark(schedule, now)
        refusal = await self._why_refused(schedule)
        if refusal is not None:
            reason = f"its watch on {schedule.watch.words} is no longer allowed: {refusal}"
            refused = replace(mark, ran_at=now, problem=reason)
            return await self._failed(stored, due, now, reason, refused)
        looked = await self._schedules.watching.look(
            schedule.watch, mark, owner=schedule.owner, agent_id=schedule.made_by, now=now
        )
        if looked.problem:
            reason = f"its watch on {schedule.watch.words} failed: {looked.problem}"
            return await self._failed(stored, due, now, reason, looked.mark)
        key = mark_key(schedule.id)
        if not looked.difference:
            return replace(_firing(stored, due, now), marks={key: looked.mark})
        firing = await self._run(stored, due, now, looked.difference)
        return replace(firing, marks={key: replace(looked.mark, woke_at=now)})

    async def _why_refused(self, schedule: Schedule) -> str | None:
        """Repeat the check made when the agent created the watch, as definitions change."""
        if schedule.made_by is None or schedule.watch is None:
            return None
        name, maker = await self._schedules.maker_of(schedule)
        tools = await self._tools_of(name, maker)
        definition = self._schedules.project.current.catalog.definition(name)
        return why_refused(schedule.watch, {tool.name for tool in tools}, definition)

    async def _mark(self, schedule: Schedule, now: datetime) -> Mark:
        marks = await self._schedules.store.marks(schedule.owner)
        return marks.get(mark_key(schedule.id)) or Mark(since=now)

    async def _failed(
        self, stored: StoredSchedule, due: Due, now: datetime, reason: str, mark: Mark
    ) -> Firing:
        """Record the failure and notify the owner, once until the schedule has worked again."""
        schedule = stored.schedule
        notice = None
        if not mark.is_told:
            notice = await self._schedules.posting.notice(
                schedule.owner,
                f"[schedule] {schedule.title}\nid: {schedule.id}\n\n"
                f"This schedule could not run: {reason}. Tell the user once. "
                "You will be notified again only after it has worked in between.",
                to=schedule.report_to or schedule.target,
                sender=schedule.id,
                now=now,
            )
        is_told = mark.is_told or notice is not None
        return replace(
            _firing(stored, due, now),
            status="failed",
            reason=reason,
            notice=notice,
            marks={mark_key(schedule.id): replace(mark, is_told=is_told)},
        )


def _firing(stored: StoredSchedule, due: Due, now: datetime) -> Firing:
    """A firing that records no slot and only advances the schedule."""
    return Firing(
        owner=stored.schedule.owner,
        schedule_id=stored.schedule.id,
        due_at=due.slot,
        at=now,
        status=None,
        revision=stored.revision,
        next_at=due.next_at,
    )
