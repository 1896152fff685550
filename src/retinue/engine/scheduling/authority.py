"""What an agent may do with schedules: no more than it may do by itself."""

from retinue.agents.schedule import Schedule
from retinue.agents.watch import Watch
from retinue.engine.collaboration.services import call_of
from retinue.errors import RefusedError
from retinue.tools.port import ToolContext

_COMMAND_TOOL = "shell"
_URL_TOOL = "web_fetch"


def check_watch(ctx: ToolContext, watch: Watch | None) -> None:
    """Refuse a watch that does, unattended, what the agent may not do or must ask about."""
    name = None if watch is None else _tool_of(watch)
    if name is None:
        return
    plan = call_of(ctx).plan
    if name not in plan.tools:
        raise RefusedError(
            f"watch: this needs the tool {name!r}, which is not among yours: your definition "
            "decides which tools you have"
        )
    if plan.definition.needs_approval(name):
        raise RefusedError(
            f"watch: each call of {name!r} needs an approval, and a watch looks without asking: "
            "only the operator can make such a schedule"
        )


def check_own(ctx: ToolContext, schedule: Schedule) -> None:
    """Refuse to touch what the agent did not make, and what neither runs in nor reports to it."""
    if ctx.agent_id not in (schedule.made_by, schedule.target, schedule.report_to):
        raise RefusedError(
            f"the schedule {schedule.id!r} ({schedule.title}) is not yours: you can change, run "
            "and delete only those that you made, or that run in or report to this conversation"
        )


def _tool_of(watch: Watch) -> str | None:
    """The tool that does the same as this watch; files and lists are the agent's own."""
    if watch.command is not None:
        return _COMMAND_TOOL
    return _URL_TOOL if watch.url is not None else None
