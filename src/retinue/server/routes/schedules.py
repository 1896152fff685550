"""Schedules, their runs, and the heartbeat."""

from msgspec import UNSET, UnsetType
from starlette.responses import Response

from retinue.agents.watch import Watch
from retinue.engine.scheduling.schedule_service import NewSchedule, ScheduleChanges
from retinue.engine.scheduling.schedule_views import (
    heartbeat_view,
    run_views,
    schedule_view,
    schedule_views,
)
from retinue.errors import NotFoundError
from retinue.events import HeartbeatView, ScheduleView
from retinue.ids import LOCAL_OWNER, AgentId, ScheduleId
from retinue.server import wire
from retinue.server.endpoints import (
    AnyEndpoint,
    Endpoint,
    Plain,
    RouteCall,
    answer,
    known_agent_id,
    no_content,
)
from retinue.server.wire import Nothing


def _watch(order: wire.WatchOrder | None) -> Watch | None:
    if order is None:
        return None
    return Watch(file=order.file, command=order.command, url=order.url, list=order.list)


async def list_schedules(call: Plain) -> Response:
    schedules = call.engine.schedules
    views = await schedule_views(schedules, call.owner)
    return answer(wire.ScheduleList(schedules=views, timezone=schedules.timezone))


async def create(call: RouteCall[Nothing, wire.ScheduleBody]) -> Response:
    body = call.body
    new = NewSchedule(
        title=body.title,
        prompt=body.prompt,
        cron=body.cron,
        at=body.at,
        timezone=body.timezone,
        catch_up=body.catch_up,
        definition=body.definition,
        target=None if body.target is None else known_agent_id(body.target),
        report_to=None if body.report_to is None else known_agent_id(body.report_to),
        watch=_watch(body.watch),
        is_paused=body.paused,
        key=body.key,
    )
    stored = await call.engine.schedules.create(call.owner, new)
    view = await schedule_view(call.engine.schedules, call.owner, stored.schedule.id)
    return answer(view, 201, {"Location": f"/api/schedules/{stored.schedule.id}"})


async def read(call: Plain) -> Response:
    name = ScheduleId(call.parameter("schedule_id"))
    return answer(await schedule_view(call.engine.schedules, call.owner, name))


def _known(agent: str | UnsetType | None) -> AgentId | UnsetType | None:
    return agent if agent is None or isinstance(agent, UnsetType) else known_agent_id(agent)


async def change(call: RouteCall[Nothing, wire.SchedulePatch]) -> Response:
    body = call.body
    name = ScheduleId(call.parameter("schedule_id"))
    changes = ScheduleChanges(
        title=body.title,
        prompt=body.prompt,
        cron=body.cron,
        at=body.at,
        timezone=body.timezone,
        catch_up=body.catch_up,
        definition=body.definition,
        target=_known(body.target),
        report_to=_known(body.report_to),
        watch=UNSET if isinstance(body.watch, UnsetType) else _watch(body.watch),
        is_paused=body.paused,
    )
    await call.engine.schedules.change(call.owner, name, changes)
    return answer(await schedule_view(call.engine.schedules, call.owner, name))


async def delete(call: Plain) -> Response:
    await call.engine.schedules.delete(call.owner, ScheduleId(call.parameter("schedule_id")))
    return no_content()


async def run(call: Plain) -> Response:
    name = ScheduleId(call.parameter("schedule_id"))
    receipt = await call.engine.schedules.run(call.owner, name)
    return answer(
        wire.Admission(
            id=receipt.item.id,
            agent_id=receipt.agent_id,
            fate=receipt.item.fate,
            position=receipt.position,
            repeated=receipt.is_repeat,
        ),
        202,
    )


async def runs(call: RouteCall[wire.RunsQuery, Nothing]) -> Response:
    name = ScheduleId(call.parameter("schedule_id"))
    found = await run_views(call.engine.schedules, call.owner, name, limit=call.query.limit)
    return answer(wire.RunList(runs=found))


def _require_operator(call: RouteCall[Nothing, wire.HeartbeatOrder] | Plain) -> None:
    """Only the operator, who owns the project's files, has a heartbeat."""
    if call.owner != LOCAL_OWNER:
        raise NotFoundError("this account has no heartbeat")


async def heartbeat(call: Plain) -> Response:
    _require_operator(call)
    return answer(await heartbeat_view(call.engine.heartbeat, call.engine.schedules))


async def run_heartbeat(call: RouteCall[Nothing, wire.HeartbeatOrder]) -> Response:
    _require_operator(call)
    receipt = await call.engine.heartbeat.run_now(call.body.tasks)
    return answer(
        wire.HeartbeatRun(
            applied=receipt is not None,
            message_id=None if receipt is None else receipt.item.id,
            agent_id=None if receipt is None else receipt.agent_id,
        )
    )


_SCHEDULE = "/api/schedules/{schedule_id}"

ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/schedules",
        summary="List schedules, next due first",
        run=list_schedules,
        query=Nothing,
        body=Nothing,
        answer=wire.ScheduleList,
    ),
    Endpoint(
        method="POST",
        path="/api/schedules",
        summary="Create a schedule: `cron` repeats, `at` runs once",
        run=create,
        query=Nothing,
        body=wire.ScheduleBody,
        takes="json",
        status=201,
        answer=ScheduleView,
        refuses=(404, 409),
    ),
    Endpoint(
        method="GET",
        path=_SCHEDULE,
        summary="Read a schedule",
        run=read,
        query=Nothing,
        body=Nothing,
        answer=ScheduleView,
        refuses=(404,),
    ),
    Endpoint(
        method="PATCH",
        path=_SCHEDULE,
        summary="Change, pause or resume a schedule",
        run=change,
        query=Nothing,
        body=wire.SchedulePatch,
        takes="json",
        answer=ScheduleView,
        refuses=(404, 409),
    ),
    Endpoint(
        method="DELETE",
        path=_SCHEDULE,
        summary="Delete a schedule; its agent stays",
        run=delete,
        query=Nothing,
        body=Nothing,
        status=204,
        refuses=(404,),
    ),
    Endpoint(
        method="POST",
        path=f"{_SCHEDULE}/run",
        summary="Run a schedule now, in addition to its own times",
        run=run,
        query=Nothing,
        body=Nothing,
        takes="optional json",
        status=202,
        answer=wire.Admission,
        refuses=(404, 409),
    ),
    Endpoint(
        method="GET",
        path=f"{_SCHEDULE}/runs",
        summary="List a schedule's runs",
        run=runs,
        query=wire.RunsQuery,
        body=Nothing,
        answer=wire.RunList,
        refuses=(404,),
    ),
    Endpoint(
        method="GET",
        path="/api/heartbeat",
        summary="Read the heartbeat's tasks, last batches and load errors",
        run=heartbeat,
        query=Nothing,
        body=Nothing,
        answer=HeartbeatView,
        refuses=(404,),
    ),
    Endpoint(
        method="POST",
        path="/api/heartbeat/run",
        summary="Run heartbeat tasks now",
        run=run_heartbeat,
        query=Nothing,
        body=wire.HeartbeatOrder,
        takes="optional json",
        answer=wire.HeartbeatRun,
        refuses=(404,),
    ),
]
