"""`notify_parent` and `set_status`: messages and status from a subagent to its parent."""

from collections.abc import Mapping
from typing import Annotated, Any

from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.engine.prompting.prompt_config import PromptCase
from retinue.ids import SideName
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import Tool, ToolContext

CHILD_TOOLS = ("notify_parent", "set_status")
"""The names, for definitions that load before the engine exists."""


@tool(name="notify_parent", effect="keyed", capabilities=["agents.write"])
async def notify_parent(
    ctx: ToolContext, content: Annotated[str, "the message to the parent"]
) -> str:
    """Write to the agent that started you. It reads this at its next step."""
    ctx.notify_parent(content)
    return "Sent."


@tool(name="set_status", effect="keyed", capabilities=["agents.write"])
async def set_status(
    ctx: ToolContext, status: Annotated[str, "the current activity, in a few words"]
) -> str:
    """Set a short status that the agent that started you can look up."""
    ctx.set_status(status)
    return "Status set."


class ChildTools:
    """Implements `OwnTools` for definitions that can be subagents."""

    def __init__(self) -> None:
        made: tuple[FunctionTool[..., Any], ...] = (notify_parent, set_status)
        self._tools = [function.as_tool(source="builtin") for function in made]

    def __call__(
        self, _catalog: Catalog, definition: Definition, side: SideName, _case: PromptCase
    ) -> Mapping[str, Tool]:
        if not (definition.is_dual and definition.expose_as_tool):
            return {}
        prompt = definition.side(side).prompt
        return {tool.name: tool for tool in self._tools if prompt.lists(tool.name)}
