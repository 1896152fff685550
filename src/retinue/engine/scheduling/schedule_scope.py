"""Limits the use of schedules by agents to what they may do themselves."""

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
    """Refuse a watch whose unattended check the agent may not do, or not without approval."""
    if watch is None:
        return
    config = call_of(ctx).config
    refusal = why_refused(watch, config.tools, config.definition)
    if refusal is not None:
        raise RefusedError(
            f"watch: {refusal}; this depends on your definition, and only the operator can "
            "create such a schedule"
        )


def why_refused(watch: Watch, tools: Collection[str], definition: Definition) -> str | None:
    """The reason agents of a definition may not use this watch, or None."""
    name = _tool_of(watch)
    if name is None:
        return None
    if name not in tools:
        return f"it needs the tool {name!r}, which agents of {definition.name!r} do not have"
    if definition.needs_approval(name):
        return f"each call of {name!r} needs an approval, and a watch runs unattended"
    return None


def check_own(ctx: ToolContext, schedule: Schedule) -> None:
    """Refuse schedules that the agent did not create and that neither run in nor report to it."""
    if ctx.agent_id not in (schedule.made_by, schedule.target, schedule.report_to):
        raise RefusedError(
            f"the schedule {schedule.id!r} ({schedule.title}) is not yours: you can only change, "
            "run and delete schedules that you created, or that run in or report to this chat"
        )


def _tool_of(watch: Watch) -> str | None:
    """The tool equivalent to this watch; none for files, which are the agent's own."""
    if watch.command is not None:
        return _COMMAND_TOOL
    if watch.list is not None:
        return _LIST_TOOL
    return _URL_TOOL if watch.url is not None else None
