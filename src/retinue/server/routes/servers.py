"""MCP servers: their state and number of tools."""

from starlette.responses import Response

from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.plugin_wire import ServerEntry, ServerList
from retinue.server.wire import Nothing


async def servers(call: Plain) -> Response:
    engine = call.engine
    await engine.project.look()
    found = [
        ServerEntry(name=one.name, state=one.state, tools=one.tools, problems=list(one.problems))
        for one in engine.servers()
    ]
    return answer(ServerList(servers=found))


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/mcp",
        summary="List the MCP servers of the settings, and their state",
        run=servers,
        query=Nothing,
        body=Nothing,
        answer=ServerList,
    ),
]
