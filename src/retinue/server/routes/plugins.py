"""Plugins: list their operations and call them."""

from starlette.responses import Response

from retinue.engine.calls.plugin_calls import Caller
from retinue.plugins.port import Operation, Plugin
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteCall, answer, known_agent_id
from retinue.server.plugin_wire import (
    OperationCall,
    OperationEntry,
    OperationResult,
    PluginEntry,
    PluginList,
)
from retinue.server.routes.definitions import problem_entry
from retinue.server.wire import Nothing


async def plugins(call: Plain) -> Response:
    snapshot = await call.engine.project.look()
    return answer(
        PluginList(
            plugins=[_entry(plugin) for plugin in snapshot.plugins.values()],
            problems=[problem_entry(one) for one in snapshot.plugin_problems],
        )
    )


async def operate(call: RouteCall[Nothing, OperationCall]) -> Response:
    body = call.body
    agent_id = None if body.agent_id is None else known_agent_id(body.agent_id)
    result = await call.engine.operations.call(
        Caller(owner=call.owner, agent_id=agent_id),
        call.parameter("plugin"),
        call.parameter("operation"),
        body.arguments,
        key=body.key,
    )
    return answer(OperationResult(result=result))


def _entry(plugin: Plugin) -> PluginEntry:
    return PluginEntry(
        id=plugin.id,
        title=plugin.title,
        description=plugin.description,
        operations=[_operation(plugin, one) for one in plugin.operations],
        file=plugin.file,
    )


def _operation(plugin: Plugin, operation: Operation) -> OperationEntry:
    return OperationEntry(
        id=operation.id,
        tool=plugin.tool_name(operation),
        summary=operation.summary,
        description=operation.description,
        parameters=dict(operation.parameters),
        effect=operation.effect,
        capabilities=list(operation.capabilities),
        needs_agent=operation.needs_agent,
    )


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/plugins",
        summary="List plugins with their operations, and load errors",
        run=plugins,
        query=Nothing,
        body=Nothing,
        answer=PluginList,
    ),
    Endpoint(
        method="POST",
        path="/api/plugins/{plugin}/operations/{operation}",
        summary="Call an operation, as yourself or as an agent within its scope",
        run=operate,
        query=Nothing,
        body=OperationCall,
        takes="json",
        answer=OperationResult,
        refuses=(404, 409, 410, 507),
    ),
]
