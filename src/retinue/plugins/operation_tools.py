"""Provides the operations of plugins as tools."""

from collections.abc import Mapping, Sequence
from typing import Any

from retinue.clock import Clock
from retinue.plugins.port import Operation, OperationContext, Plugin
from retinue.tools.execution import as_json
from retinue.tools.port import Tool, ToolContext, ToolOutput


def plugin_tools(plugins: Mapping[str, Plugin], clock: Clock) -> Mapping[str, Tool]:
    """The operations of all plugins as tools, by name."""
    return {tool.name: tool for plugin in plugins.values() for tool in tools_of(plugin, clock)}


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
