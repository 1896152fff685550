"""Requests of agents (permissions, approvals, questions) and the owner's decisions."""

import msgspec
from starlette.responses import Response

from retinue.agents.request import Request
from retinue.engine.feed.request_views import request_view
from retinue.ids import RequestId
from retinue.server.endpoints import (
    AnyEndpoint,
    Endpoint,
    Plain,
    RouteCall,
    answer,
    known_agent_id,
)
from retinue.server.wire import Nothing, RequestEntry, RequestList, RequestsQuery, Verdict


async def list_requests(call: RouteCall[RequestsQuery, Nothing]) -> Response:
    query = call.query
    agent_id = None
    if query.agent is not None:
        agent_id = known_agent_id(query.agent)
        await call.engine.store.agent(call.owner, agent_id)
    found = await call.engine.store.requests.list(
        call.owner,
        status=query.status,
        agent_id=agent_id,
        before=RequestId(query.before) if query.before is not None else None,
        limit=query.limit + 1,
    )
    page = found[: query.limit]
    return answer(
        RequestList(
            requests=[entry_of(request) for request in page],
            next_before=page[-1].id if len(found) > query.limit else None,
        )
    )


async def read(call: Plain) -> Response:
    request_id = RequestId(call.parameter("request_id"))
    return answer(entry_of(await call.engine.store.requests.get(call.owner, request_id)))


async def decide(call: RouteCall[Nothing, Verdict]) -> Response:
    body = call.body
    decided = await call.engine.requests.decide(
        call.owner,
        RequestId(call.parameter("request_id")),
        body.decision,
        by=call.decider,
        note=body.note,
        values=body.values,
    )
    return answer(entry_of(decided))


def entry_of(request: Request) -> RequestEntry:
    return RequestEntry(**msgspec.structs.asdict(request_view(request)))


_PERMISSIONS = "/api/permissions"

ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path=_PERMISSIONS,
        summary="List requests of agents: permissions, approvals and questions",
        run=list_requests,
        query=RequestsQuery,
        body=Nothing,
        answer=RequestList,
        refuses=(404,),
    ),
    Endpoint(
        method="GET",
        path=f"{_PERMISSIONS}/{{request_id}}",
        summary="Read one request",
        run=read,
        query=Nothing,
        body=Nothing,
        answer=RequestEntry,
        refuses=(404,),
    ),
    Endpoint(
        method="POST",
        path=f"{_PERMISSIONS}/{{request_id}}",
        summary="Decide a request, once",
        run=decide,
        query=Nothing,
        body=Verdict,
        takes="json",
        answer=RequestEntry,
        refuses=(404, 409, 507),
    ),
]
