"""What an agent may do with schedules: no more than it may do by itself."""

from collections.abc import Collection

from retinue.agents.schedule import Schedule
from retinue.agents.watch import Watch
from retinue.definitions.definition import Definition
from retinue.engine.collaboration.services import call_of
from retinue.errors import RefusedError
from retinue.tools.port import ToolContext

_COMMAND_TOOL = "shell"
_URL_TOOL = "web_fetch"
_LIST_TOOL = "lists_items_list"


def check_watch(ctx: ToolContext, watch: Watch | None) -> None:
    """Refuse a watch that does, unattended, what the agent may not do or must ask about."""
    if watch is None:
        return
    config = call_of(ctx).config
    refusal = why_refused(watch, config.tools, config.definition)
    if refusal is not None:
        raise RefusedError(
            f"watch: {refusal}; your definition decides that, and only the operator can make "
            "such a schedule"
        )


def why_refused(watch: Watch, tools: Collection[str], definition: Definition) -> str | None:
    """Say why agents of a definition may not watch this; None when they may."""
    name = _tool_of(watch)
    if name is None:
        return None
    if name not in tools:
        return f"it needs the tool {name!r}, which agents of {definition.name!r} do not have"
    if definition.needs_approval(name):
        return f"each call of {name!r} needs an approval, and a watch looks without asking"
    return None


def check_own(ctx: ToolContext, schedule: Schedule) -> None:
    """Refuse to touch what the agent did not make, and what neither runs in nor reports to it."""
    if ctx.agent_id not in (schedule.made_by, schedule.target, schedule.report_to):
        raise RefusedError(
            f"the schedule {schedule.id!r} ({schedule.title}) is not yours: you can change, run "
            "and delete only those that you made, or that run in or report to this conversation"
        )


def _tool_of(watch: Watch) -> str | None:
    """The tool that does the same as this watch; files are the agent's own."""
    if watch.command is not None:
        return _COMMAND_TOOL
    if watch.list is not None:
        return _LIST_TOOL
    return _URL_TOOL if watch.url is not None else None
