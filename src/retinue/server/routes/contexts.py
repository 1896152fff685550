"""Contexts: the request that an agent's model would receive now."""

from starlette.responses import Response

from retinue.engine.prompting.context_view import ContextView
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.wire import Nothing


async def read(call: Plain) -> Response:
    return answer(await call.engine.contexts.view(call.owner, call.agent_id))


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/agents/{agent_id}/context",
        summary="Read the request that the agent's model would receive now, with tokens by part",
        run=read,
        query=Nothing,
        body=Nothing,
        answer=ContextView,
        refuses=(404,),
    )
]
