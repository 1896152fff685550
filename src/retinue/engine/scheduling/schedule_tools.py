"""Tools with which agents create, change and run schedules."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypedDict
from zoneinfo import ZoneInfo

import msgspec
from msgspec import UNSET

from retinue.agents.schedule import CatchUp, Schedule
from retinue.agents.watch import Watch
from retinue.engine.scheduling.schedule_scope import check_own, check_watch
from retinue.engine.scheduling.schedule_service import NewSchedule, ScheduleChanges, Schedules
from retinue.errors import UsageError
from retinue.ids import ScheduleId
from retinue.stores.schedule_port import Slot, StoredSchedule
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext

SCHEDULE_TOOLS = (
    "schedule_create",
    "schedule_list",
    "schedule_update",
    "schedule_delete",
    "schedule_run",
)
"""The names, for definitions that load before the engine exists."""

_SHOWN = "%a %Y-%m-%d %H:%M"


class WatchArgument(TypedDict, total=False):
    """Exactly one of these."""

    file: Annotated[str, "a path in the project or among your own files"]
    command: Annotated[str, "a shell command whose output is compared"]
    url: Annotated[str, "a web address"]
    list: Annotated[str, "the name of a list, for items that become due"]


def schedule_tools(schedules: Schedules) -> Sequence[FunctionTool[..., Any]]:
    return [
        _create_tool(schedules),
        _list_tool(schedules),
        _update_tool(schedules),
        _delete_tool(schedules),
        _run_tool(schedules),
    ]


def _create_tool(schedules: Schedules) -> FunctionTool[..., Any]:
    @tool(effect="keyed", capabilities=["schedules.write"])
    async def schedule_create(  # noqa: PLR0913  all options of a schedule
        ctx: ToolContext,
        prompt: str,
        title: str = "",
        cron: str | None = None,
        at: str | None = None,
        timezone: str | None = None,
        catch_up: CatchUp = "skip",
        watch: WatchArgument | None = None,
    ) -> str:
        """Schedule a task: once with `at`, or repeatedly with `cron`.

        A one-time task arrives in this conversation as a message. A repeating task is done by an
        agent of its own, whose final text is reported here.

        Args:
            prompt: The complete instructions for that time.
            title: A short title.
            cron: Minute, hour, day, month, weekday, such as "0 8 * * MON-FRI".
            at: A time such as "18:30", "tomorrow 9:00", "in 20 minutes" or "2026-11-20T09:00".
            timezone: An IANA time zone, such as Europe/Berlin; defaults to the owner's.
            catch_up: With "once", a run that was missed while the server was down is made up.
            watch: With cron, run only when this has changed: {"file": path}, {"command": line},
                {"url": address} or {"list": name}.
        """
        seen = _watch(watch)
        check_watch(ctx, seen)
        stored = await schedules.create(
            ctx.owner,
            NewSchedule(
                title=title.strip() or _title_of(prompt),
                prompt=prompt,
                cron=cron,
                at=at,
                timezone=timezone,
                catch_up=catch_up,
                definition=ctx.definition,
                target=ctx.agent_id if at is not None else None,
                report_to=ctx.agent_id if at is None else None,
                watch=seen,
                source="tool",
                made_by=ctx.agent_id,
                key=ctx.idempotency_key,
            ),
        )
        return f"Scheduled: {_line(stored)}"

    return schedule_create


def _list_tool(schedules: Schedules) -> FunctionTool[..., Any]:
    @tool(effect="pure", capabilities=["schedules.read"])
    async def schedule_list(ctx: ToolContext) -> str:
        """List the schedules and reminders: id, title, times, next and last run."""
        lines = [_line(stored) for stored in await schedules.all(ctx.owner)]
        return "\n".join(lines) or "There are no schedules."

    return schedule_list


def _update_tool(schedules: Schedules) -> FunctionTool[..., Any]:
    @tool(effect="keyed", capabilities=["schedules.write"])
    async def schedule_update(  # noqa: PLR0913  all options of a schedule
        ctx: ToolContext,
        id: str,
        action: Literal["change", "pause", "resume"] = "change",
        title: str | None = None,
        prompt: str | None = None,
        cron: str | None = None,
        at: str | None = None,
        timezone: str | None = None,
    ) -> str:
        """Pause, resume or change one of your schedules; omitted fields are unchanged.

        Args:
            id: The schedule's id, from schedule_list.
            action: "pause", "resume", or "change" together with the new values.
            title: A new title.
            prompt: New instructions.
            cron: New times, such as "0 8 * * MON-FRI".
            at: A new time for a one-time task.
            timezone: A new time zone.
        """
        changes = ScheduleChanges(
            title=_or_unset(title),
            prompt=_or_unset(prompt),
            cron=_or_unset(cron),
            at=_or_unset(at),
            timezone=_or_unset(timezone),
            is_paused=UNSET if action == "change" else action == "pause",
        )
        check_own(ctx, (await schedules.get(ctx.owner, ScheduleId(id))).schedule)
        return f"Changed: {_line(await schedules.change(ctx.owner, ScheduleId(id), changes))}"

    return schedule_update


def _delete_tool(schedules: Schedules) -> FunctionTool[..., Any]:
    @tool(effect="keyed", capabilities=["schedules.write"])
    async def schedule_delete(ctx: ToolContext, id: str) -> str:
        """Delete one of your schedules or reminders.

        Args:
            id: The schedule's id, from schedule_list.
        """
        known = {stored.schedule.id: stored for stored in await schedules.all(ctx.owner)}
        if id not in known:
            return f"There is no schedule {id!r}; nothing to delete."
        check_own(ctx, known[ScheduleId(id)].schedule)
        await schedules.delete(ctx.owner, ScheduleId(id))
        return f"Deleted: {known[ScheduleId(id)].schedule.title}"

    return schedule_delete


def _run_tool(schedules: Schedules) -> FunctionTool[..., Any]:
    @tool(effect="keyed", capabilities=["schedules.write"])
    async def schedule_run(ctx: ToolContext, id: str) -> str:
        """Run one of your schedules now, in addition to its regular times.

        Args:
            id: The schedule's id, from schedule_list.
        """
        check_own(ctx, (await schedules.get(ctx.owner, ScheduleId(id))).schedule)
        receipt = await schedules.run(ctx.owner, ScheduleId(id), key=ctx.idempotency_key)
        return f"Started, as message {receipt.item.id} to the agent {receipt.agent_id}."

    return schedule_run


def _or_unset(value: str | None) -> Any:
    return UNSET if value is None else value


def _watch(given: WatchArgument | None) -> Watch | None:
    try:
        return None if given is None else msgspec.convert(dict(given), Watch)
    except msgspec.ValidationError as error:
        raise UsageError(f"watch: {error}", details={"field": "watch"}) from error


def _title_of(prompt: str) -> str:
    first = " ".join(prompt.split())
    return first if len(first) <= 60 else f"{first[:59]}…"


def _line(stored: StoredSchedule) -> str:
    schedule = stored.schedule
    parts = [f"{schedule.id}: {schedule.title}", _when(stored)]
    if schedule.watch is not None:
        parts.append(f"when {schedule.watch.words} changes")
    if stored.last is not None:
        parts.append(f"last {_slot_words(schedule, stored.last)}")
    return "; ".join(parts)


def _when(stored: StoredSchedule) -> str:
    schedule = stored.schedule
    times = f"{schedule.cron} ({schedule.timezone})" if schedule.cron else "once"
    if schedule.is_paused:
        return f"{times}, paused"
    if stored.next_at is None:
        return f"{times}, done"
    local = stored.next_at.astimezone(ZoneInfo(schedule.timezone))
    return f"{times}, next {local.strftime(_SHOWN)} {schedule.timezone}"


def _slot_words(schedule: Schedule, slot: Slot) -> str:
    local = slot.due_at.astimezone(ZoneInfo(schedule.timezone))
    outcome = slot.fate or slot.status.replace("_", " ")
    return f"{local.strftime(_SHOWN)}: {outcome}"
