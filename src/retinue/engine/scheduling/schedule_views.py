"""Schedules and heartbeat tasks as the API returns them."""

from collections.abc import Mapping
from typing import Any, cast

from retinue.agents.visible_text import visible
from retinue.agents.watch import Mark, Watch
from retinue.engine.scheduling.heartbeat import Heartbeat, TaskState
from retinue.engine.scheduling.schedule_service import Schedules
from retinue.events import (
    HeartbeatView,
    ScheduleView,
    SlotView,
    TaskProblemView,
    TaskView,
    WatchView,
)
from retinue.ids import LOCAL_OWNER, OwnerId, ScheduleId
from retinue.stores.schedule_port import HEARTBEAT, Slot, StoredSchedule, mark_key

_BATCHES = 20


async def schedule_views(schedules: Schedules, owner: OwnerId) -> list[ScheduleView]:
    marks = await schedules.store.marks(owner)
    return [_schedule_view(stored, marks) for stored in await schedules.all(owner)]


async def schedule_view(
    schedules: Schedules, owner: OwnerId, schedule_id: ScheduleId
) -> ScheduleView:
    stored = await schedules.get(owner, schedule_id)
    return _schedule_view(stored, await schedules.store.marks(owner))


async def run_views(
    schedules: Schedules, owner: OwnerId, schedule_id: ScheduleId, *, limit: int
) -> list[SlotView]:
    return [_slot_view(slot) for slot in await schedules.runs(owner, schedule_id, limit=limit)]


async def heartbeat_view(heartbeat: Heartbeat, schedules: Schedules) -> HeartbeatView:
    await schedules.project.look()
    states = await heartbeat.states()
    agent = await heartbeat.agent()
    slots = await schedules.store.slots(LOCAL_OWNER, HEARTBEAT, _BATCHES)
    return HeartbeatView(
        enabled=heartbeat.is_enabled,
        tasks=[_task_view(state) for state in states],
        problems=[
            TaskProblemView(
                file=problem.file,
                message=problem.message,
                using_last_good=problem.is_using_last_good,
            )
            for problem in heartbeat.problems
        ],
        runs=[_slot_view(slot) for slot in slots],
        agent_id=None if agent is None else agent.id,
        problem=heartbeat.problem,
    )


def _schedule_view(stored: StoredSchedule, marks: Mapping[str, Mark]) -> ScheduleView:
    schedule = stored.schedule
    mark = marks.get(mark_key(schedule.id))
    return ScheduleView(
        id=schedule.id,
        title=schedule.title,
        prompt=schedule.prompt,
        state=_state(stored),
        cron=schedule.cron,
        at=schedule.at,
        timezone=schedule.timezone,
        catch_up=schedule.catch_up,
        definition=schedule.definition,
        target=schedule.target,
        report_to=schedule.report_to,
        watch=_watch_view(schedule.watch, mark),
        paused=schedule.is_paused,
        source=schedule.source,
        created_at=schedule.created_at,
        next_at=stored.next_at,
        last=None if stored.last is None else _slot_view(stored.last),
        problem="" if mark is None else mark.problem,
    )


def _state(stored: StoredSchedule) -> Any:
    if stored.is_running:
        return "running"
    if stored.schedule.is_paused:
        return "paused"
    return "done" if stored.next_at is None else "waiting"


def _slot_view(slot: Slot) -> SlotView:
    return SlotView(
        due_at=slot.due_at,
        at=slot.at,
        status=slot.status,
        reason=slot.reason,
        difference=visible(slot.difference),
        message_id=slot.item_id,
        agent_id=slot.agent_id,
        fate=slot.fate,
        fate_reason=slot.fate_reason,
        ended_at=slot.ended_at,
    )


def _watch_view(watch: Watch | None, mark: Mark | None) -> WatchView | None:
    if watch is None:
        return None
    kind, _, what = watch.words.partition(" ")
    return WatchView(
        kind=cast("Any", kind),
        what=what,
        checked_at=None if mark is None else mark.ran_at,
        changed_at=None if mark is None else mark.woke_at,
        problem="" if mark is None else mark.problem,
    )


def _task_view(state: TaskState) -> TaskView:
    task, mark = state.task, state.mark
    return TaskView(
        id=task.id,
        title=task.title,
        prompt=task.prompt,
        every_seconds=task.every.total_seconds(),
        watch=_watch_view(task.watch, mark),
        next_at=state.due_at,
        last_run_at=None if mark is None else mark.woke_at,
    )
