"""The Tools page: the built-in tools."""

from itertools import groupby

from manual.markdown import code, page
from manual.schemas import fields_table
from retinue.assembly import App
from retinue.engine.subagents.parent_tools import notify_parent, set_status
from retinue.tools.port import Tool

_INTRODUCTION = """\
The built-in tools. Definitions restrict them by name (`toolAllowlist`, `toolDenylist`) and by
capability (`capabilityAllowlist`, `capabilityDenylist`). The *effect* decides what happens to a
call whose outcome was lost in a crash: `pure` and `keyed` run again, `verifiable` checks first,
`once` is not repeated and the model learns that the outcome is unknown."""
_CHILDREN = """\
`notify_parent` and `set_status` are offered to subagents whose prompt lists them. `subagent_create`
and `subagent_message` come with a prompt that lists resumable subagents: see
[Subagents](../subagents.md)."""


async def tools_page(app: App) -> str:
    own = [function.as_tool(source="builtin") for function in (notify_parent, set_status)]
    listed = [*app.engine.project.current.tools.values(), *own]
    tools = sorted(listed, key=lambda tool: (_family(tool), tool.name))
    sections: list[str] = []
    for family, members in groupby(tools, _family):
        sections += [f"## {family}", *(_tool(tool) for tool in members)]
    return page("Tools", _INTRODUCTION, _CHILDREN, *sections)


def _family(tool: Tool) -> str:
    """Return the group of a tool: the noun of its first capability."""
    return tool.capabilities[0].partition(".")[0] if tool.capabilities else "others"


def _tool(tool: Tool) -> str:
    capabilities = ", ".join(map(code, tool.capabilities)) or "none"
    lines = [
        f"### `{tool.name}`",
        tool.description.strip(),
        f"Effect: `{tool.effect}`. Capabilities: {capabilities}.",
        fields_table(tool.parameters, demand="required"),
    ]
    return "\n\n".join(filter(None, lines))
