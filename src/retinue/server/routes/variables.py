"""Variables: list, set and unset them, and provide those that subagents wait for."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from retinue.engine.subagents.variable_service import VariableView
from retinue.ids import RequestId
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteCall, answer, no_content
from retinue.server.variable_wire import (
    NewValue,
    Provided,
    SubagentBegun,
    VariableEntry,
    VariableList,
    VariablesWanted,
)
from retinue.server.wire import Nothing


def _listed(found: Sequence[VariableView]) -> Response:
    entries = [VariableEntry(**msgspec.structs.asdict(one)) for one in found]
    return answer(VariableList(variables=entries))


async def list_account(call: Plain) -> Response:
    return _listed(await call.engine.variables.of_account(call.owner))


async def set_account(call: RouteCall[Nothing, NewValue]) -> Response:
    await call.engine.variables.set_account(call.owner, call.parameter("name"), call.body.value)
    return no_content()


async def unset_account(call: Plain) -> Response:
    await call.engine.variables.unset_account(call.owner, call.parameter("name"))
    return no_content()


async def list_agent(call: Plain) -> Response:
    return _listed(await call.engine.variables.of_agent(call.owner, call.agent_id))


async def set_agent(call: RouteCall[Nothing, NewValue]) -> Response:
    values = {call.parameter("name"): call.body.value}
    await call.engine.variables.set_agent(call.owner, call.agent_id, values)
    return no_content()


async def unset_agent(call: Plain) -> Response:
    values = {call.parameter("name"): None}
    await call.engine.variables.set_agent(call.owner, call.agent_id, values)
    return no_content()


async def wanted(call: Plain) -> Response:
    request_id = RequestId(call.parameter("request_id"))
    found = await call.engine.variables.request(call.owner, call.agent_id, request_id)
    return answer(VariablesWanted(**msgspec.structs.asdict(found)))


async def provide(call: RouteCall[Nothing, Provided]) -> Response:
    request_id = RequestId(call.parameter("request_id"))
    child = await call.engine.variables.provide(
        call.owner, call.agent_id, request_id, call.body.env, by=call.decider
    )
    return answer(SubagentBegun(request_id=request_id, child_thread_id=child))


_ACCOUNT = "/api/variables"
_AGENT = "/api/agents/{agent_id}/variables"
_REQUEST = "/threads/{agent_id}/variables/{request_id}"


def _requests(prefix: str) -> list[AnyEndpoint]:
    return [
        Endpoint(
            method="GET",
            path=f"{prefix}{_REQUEST}",
            summary="Read the variables that a subagent waits for",
            run=wanted,
            query=Nothing,
            body=Nothing,
            answer=VariablesWanted,
            refuses=(404,),
        ),
        Endpoint(
            method="POST",
            path=f"{prefix}{_REQUEST}",
            summary="Give a subagent its variables and start it, once",
            run=provide,
            query=Nothing,
            body=Provided,
            takes="json",
            answer=SubagentBegun,
            refuses=(404, 409, 410, 507),
        ),
    ]


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path=_ACCOUNT,
        summary="List the variables of your account, without values",
        run=list_account,
        query=Nothing,
        body=Nothing,
        answer=VariableList,
    ),
    Endpoint(
        method="PUT",
        path=f"{_ACCOUNT}/{{name}}",
        summary="Set a variable of your account, encrypted",
        run=set_account,
        query=Nothing,
        body=NewValue,
        takes="json",
        status=204,
        refuses=(507,),
    ),
    Endpoint(
        method="DELETE",
        path=f"{_ACCOUNT}/{{name}}",
        summary="Unset a variable of your account",
        run=unset_account,
        query=Nothing,
        body=Nothing,
        status=204,
        refuses=(404, 507),
    ),
    Endpoint(
        method="GET",
        path=_AGENT,
        summary="List the variables that an agent needs and has, without values",
        run=list_agent,
        query=Nothing,
        body=Nothing,
        answer=VariableList,
        refuses=(404,),
    ),
    Endpoint(
        method="PUT",
        path=f"{_AGENT}/{{name}}",
        summary="Set a variable of one agent and its children, encrypted",
        run=set_agent,
        query=Nothing,
        body=NewValue,
        takes="json",
        status=204,
        refuses=(404, 410, 507),
    ),
    Endpoint(
        method="DELETE",
        path=f"{_AGENT}/{{name}}",
        summary="Unset a variable of one agent and its children",
        run=unset_agent,
        query=Nothing,
        body=Nothing,
        status=204,
        refuses=(404, 410, 507),
    ),
    *_requests(""),
    *_requests("/api"),
]
