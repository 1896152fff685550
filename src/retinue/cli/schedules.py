"""`retinue schedules`: lists, adds, pauses, runs and deletes schedules."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from retinue.cli.output import one_line, print_json, print_table, say
from retinue.cli.phrases import moment
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common
from retinue.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from retinue.cli.client import Client
    from retinue.events import ScheduleView, SlotView

Act = Literal["list", "add", "pause", "resume", "run", "runs", "delete"]

_WAIT_SECONDS = 600.0


def schedules(  # noqa: PLR0913  (each is an option)
    common: Common,
    act: Annotated[
        Act, typer.Argument(metavar="ACTION", help="list, add, pause, resume, run, runs or delete.")
    ] = "list",
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Schedule id; for add, its title.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Argument(metavar="PROMPT", help="For add: the instructions of each run.")
    ] = None,
    cron: Annotated[
        str | None, typer.Option(help="For add: repeat, such as '0 8 * * MON-FRI'.")
    ] = None,
    at: Annotated[
        str | None, typer.Option(help="For add: run once, such as '18:30' or 'in 20 minutes'.")
    ] = None,
    timezone: Annotated[str | None, typer.Option(help="For add: time zone name.")] = None,
    definition: Annotated[str | None, typer.Option(help="For add: its agent's definition.")] = None,
    catch_up: Annotated[
        Literal["skip", "once"], typer.Option(help="For add: runs missed during downtime.")
    ] = "skip",
    limit: Annotated[int, typer.Option(min=1, max=500, help="For runs: maximum number.")] = 20,
) -> None:
    """List schedules with their next and last run; add, pause, resume, run or delete one."""
    if act != "list" and name is None:
        raise UsageError(f"missing argument. Usage: retinue schedules {act} {_expected(act)}")
    if act == "add" and prompt is None:
        raise UsageError("missing instructions. Usage: retinue schedules add TITLE PROMPT")

    async def work(client: "Client") -> None:
        from retinue.server.wire import ScheduleBody

        if act == "add":
            new = ScheduleBody(
                title=name or "",
                prompt=prompt or "",
                cron=cron,
                at=at,
                timezone=timezone,
                catch_up=catch_up,
                definition=definition,
            )
            _show([await client.add_schedule(new)], is_json=common.is_json)
        elif act == "runs":
            _show_runs(await client.schedule_runs(name or "", limit=limit), is_json=common.is_json)
        else:
            await _perform(client, act, name or "", is_json=common.is_json)

    run_with_client(common.project, work, needs_engine=act == "run")


async def _perform(client: "Client", act: Act, name: str, *, is_json: bool) -> None:
    match act:
        case "pause" | "resume":
            changed = await client.pause_schedule(name, paused=act == "pause")
            _show([changed], is_json=is_json)
        case "run":
            await _run(client, name, is_json=is_json)
        case "delete":
            await client.delete_schedule(name)
            _say_or_json({"deleted": name}, f"Deleted {name}.", is_json=is_json)
        case _:
            _show(await client.schedules(), is_json=is_json)


def _expected(act: Act) -> str:
    return "TITLE PROMPT --cron '0 8 * * *'" if act == "add" else "ID (see: retinue schedules)"


async def _run(client: "Client", name: str, *, is_json: bool) -> None:
    """Run a schedule now; without a server, this process does the work and waits for it."""
    admitted = await client.run_schedule(name)
    wait = 0.0 if client.is_remote else _WAIT_SECONDS
    message = await client.message(admitted.id, agent_id=admitted.agent_id, wait_seconds=wait)
    if is_json:
        print_json(message)
    else:
        say(f"{message.id} is {message.fate}. {one_line(message.reply, 200)}".rstrip())


def _show(found: "Sequence[ScheduleView]", *, is_json: bool) -> None:
    from retinue.clock import SystemClock

    if is_json:
        print_json({"schedules": list(found)})
        return
    if not found:
        say("No schedules yet. Add one: retinue schedules add TITLE PROMPT --cron '0 8 * * *'")
        return
    now = SystemClock().now()
    rows = [
        (
            view.id,
            view.cron or "once",
            view.state,
            "–" if view.next_at is None else moment(view.next_at, now),
            _last(view, now),
            one_line(view.problem or view.title, 60),
        )
        for view in found
    ]
    print_table(("ID", "WHEN", "STATE", "NEXT", "LAST", "TITLE"), rows)


def _last(view: "ScheduleView", now: "datetime") -> str:
    if view.last is None:
        return "–"
    return f"{moment(view.last.due_at, now)} {_outcome(view.last)}"


def _outcome(slot: "SlotView") -> str:
    return slot.fate or slot.status.replace("_", " ")


def _show_runs(found: "Sequence[SlotView]", *, is_json: bool) -> None:
    from retinue.clock import SystemClock

    if is_json:
        print_json({"runs": list(found)})
        return
    if not found:
        say("No runs yet.")
        return
    now = SystemClock().now()
    rows = [
        (
            moment(slot.due_at, now),
            slot.status.replace("_", " "),
            slot.fate or "–",
            slot.message_id or "–",
            one_line(slot.reason or slot.fate_reason, 60),
        )
        for slot in found
    ]
    print_table(("DUE", "STATUS", "FATE", "MESSAGE", "REASON"), rows)


def _say_or_json(value: object, text: str, *, is_json: bool) -> None:
    if is_json:
        print_json(value)
    else:
        say(text)
