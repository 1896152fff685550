"""Provides the operations of plugins as tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from retinue.clock import Clock
from retinue.plugins.port import Operation, OperationContext, Plugin, PluginSource
from retinue.plugins.skill_folders import SkillFolders
from retinue.problems import LoadProblem
from retinue.tools.execution import as_json
from retinue.tools.port import Tool, ToolContext, ToolOutput


class PluginToolbox:
    """Implements `Toolbox` over plugins."""

    def __init__(
        self, source: PluginSource, clock: Clock, folders: SkillFolders | None = None
    ) -> None:
        self._source = source
        self._folders = folders  # the skill folders of the same plugins
        self._clock = clock
        self._seen: Mapping[str, Plugin] = {}
        self._tools: Mapping[str, Tool] = {}

    async def tools(self) -> Mapping[str, Tool]:
        plugins = await self._source.plugins()
        if plugins is not self._seen:
            if self._folders is not None:
                self._folders.take(plugins)
            self._seen = plugins
            self._tools = {
                tool.name: tool
                for plugin in plugins.values()
                for tool in tools_of(plugin, self._clock)
            }
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return self._source.problems()


def tools_of(plugin: Plugin, clock: Clock) -> Sequence[Tool]:
    return [_tool(plugin, operation, clock) for operation in plugin.operations]


def as_text(value: Any) -> str:
    """Format the result of an operation for a model or a terminal."""
    match value:
        case None:
            return "Done."
        case str():
            return value
        case _:
            return as_json(value)


def _tool(plugin: Plugin, operation: Operation, clock: Clock) -> Tool:
    async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
        context = OperationContext(
            owner=ctx.owner,
            idempotency_key=ctx.idempotency_key,
            clock=clock,
            agent_id=ctx.agent_id,
            env=ctx.env,
        )
        return ToolOutput(text=as_text(await operation.run(context, arguments)))

    return Tool(
        name=plugin.tool_name(operation),
        description=operation.description,
        parameters=operation.parameters,
        invoke=invoke,
        validate=operation.validate,
        effect=operation.effect,
        capabilities=operation.capabilities,
        timeout_seconds=operation.timeout_seconds,
        output_limit=operation.output_limit,
        variables=operation.variables,
        source=plugin.source,
        file=plugin.file,
        line=plugin.line,
    )
