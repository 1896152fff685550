"""Agents: create, list, read, change, delete and command them."""

import re
from typing import Any, cast

import msgspec
from msgspec import UNSET
from starlette.responses import Response

from retinue.agents.command import AgentPatch
from retinue.agents.descriptor import (
    Descriptor,
    HeartbeatDescriptor,
    SwarmDescriptor,
    SystemDescriptor,
    UserDescriptor,
)
from retinue.engine.engine import Engine
from retinue.engine.lineage.family_tree import Branch, ancestors_of, tree_of
from retinue.errors import UsageError
from retinue.server.descriptor_wire import (
    HeartbeatPlace,
    NewAgent,
    Place,
    SwarmPlace,
    SystemPlace,
    UserPlace,
)
from retinue.server.endpoints import (
    AnyEndpoint,
    Endpoint,
    Plain,
    RouteCall,
    answer,
    known_agent_id,
    no_content,
)
from retinue.server.error_responses import too_large
from retinue.server.wire import (
    AgentChanges,
    AgentDetail,
    AgentEntry,
    AgentList,
    AgentsQuery,
    AgentTree,
    Attributes,
    CommandAnswer,
    CommandQuery,
    Nothing,
    ResetOrder,
    SwitchBackOrder,
    TerminateAnswer,
    TerminateOrder,
    ToolEntry,
    ToolList,
    ToolsQuery,
    TreeBranch,
    TreeQuery,
)
from retinue.stores.port import Agent, AgentQuery

ATTRIBUTES_BYTES = 64 * 1024
ATTRIBUTES_DEPTH = 32


def _fields(engine: Engine, agent: Agent) -> dict[str, Any]:
    return msgspec.structs.asdict(engine.view(agent))


def agent_entry(engine: Engine, agent: Agent) -> AgentEntry:
    return AgentEntry(**_fields(engine, agent))


def agent_detail(engine: Engine, agent: Agent) -> AgentDetail:
    fields = _fields(engine, agent)
    return AgentDetail(**fields, tokens=agent.state.tokens, stats=agent.state.stats)


def tree_branch(engine: Engine, branch: Branch) -> TreeBranch:
    return TreeBranch(
        agent=agent_entry(engine, branch.agent),
        children=[tree_branch(engine, child) for child in branch.children],
        hidden=branch.hidden,
    )


def _depth(value: Any) -> int:
    """Return how deeply a JSON value is nested; the decoder limits the recursion."""
    if isinstance(value, dict):
        return 1 + max(map(_depth, cast("dict[str, Any]", value).values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, cast("list[Any]", value)), default=0)
    return 0


def _checked_attributes(attributes: Attributes) -> Attributes:
    if _depth(attributes) > ATTRIBUTES_DEPTH:
        raise UsageError(
            f"field 'attributes': nested deeper than {ATTRIBUTES_DEPTH}",
            details={"field": "attributes"},
        )
    if len(msgspec.json.encode(attributes)) > ATTRIBUTES_BYTES:
        raise too_large(f"field 'attributes': more than {ATTRIBUTES_BYTES} bytes of JSON")
    return attributes


def _checked_name(name: str) -> str:
    name = " ".join(name.split())
    if not name:
        raise UsageError("field 'name': is empty; use null to remove it", details={"field": "name"})
    return name


def _check_cursor(cursor: str | None) -> None:
    # Databases do not accept integers beyond 64 bits.
    if cursor is not None and re.search(r"\d{19}", cursor):
        raise UsageError("parameter 'cursor': is invalid", details={"field": "cursor"})


_CONFIGURED = (SystemPlace, HeartbeatPlace, SwarmPlace)


def _descriptor(place: Place) -> Descriptor:
    match place:
        case UserPlace(connector=connector, user_id=user, channel_id=channel):
            return UserDescriptor(connector=connector, user_id=user, channel_id=channel)
        case SystemPlace(tag=tag):
            return SystemDescriptor(tag=tag)
        case HeartbeatPlace():
            return HeartbeatDescriptor()
        case SwarmPlace(id=swarm, contact_agent_id=contact):
            return SwarmDescriptor(id=swarm, contact_agent_id=known_agent_id(contact))


async def create(call: RouteCall[Nothing, NewAgent]) -> Response:
    body = call.body
    if body.definition is None and not isinstance(body.descriptor, _CONFIGURED):
        raise UsageError("field 'definition': is missing", details={"field": "definition"})
    agent = await call.engine.create(
        call.owner,
        body.definition,
        name=None if body.name is None else _checked_name(body.name),
        attributes=None if body.attributes is None else _checked_attributes(body.attributes),
        descriptor=None if body.descriptor is None else _descriptor(body.descriptor),
        env=body.env,
    )
    return answer(agent_detail(call.engine, agent), 201, {"Location": f"/api/agents/{agent.id}"})


async def list_agents(call: RouteCall[AgentsQuery, Nothing]) -> Response:
    query = call.query
    _check_cursor(query.cursor)
    page = await call.engine.store.agents(
        AgentQuery(
            owner=call.owner,
            definition=query.definition,
            kind=query.kind,
            text=query.query or None,
            limit=query.limit,
            cursor=query.cursor,
        )
    )
    entries = [agent_entry(call.engine, agent) for agent in page.agents]
    return answer(AgentList(agents=entries, next_cursor=page.next_cursor))


async def read(call: Plain) -> Response:
    agent = await call.engine.store.agent(call.owner, call.agent_id)
    return answer(agent_detail(call.engine, agent))


async def tree(call: RouteCall[TreeQuery, Nothing]) -> Response:
    engine = call.engine
    branch = await tree_of(engine.store, call.owner, call.agent_id, depth=call.query.depth)
    ancestors = await ancestors_of(engine.store, branch.agent)
    return answer(
        AgentTree(
            ancestors=[agent_entry(engine, agent) for agent in ancestors],
            tree=tree_branch(engine, branch),
        )
    )


Bare = RouteCall[CommandQuery, Nothing]
"""A command without a body."""


async def change(call: RouteCall[CommandQuery, AgentChanges]) -> Response:
    body = call.body
    if isinstance(body.model, str):
        await call.engine.models.get(body.model)
    patch = AgentPatch(
        name=_checked_name(body.name) if isinstance(body.name, str) else body.name,
        pinned=body.pinned,
        attributes=UNSET if body.attributes is UNSET else _checked_attributes(body.attributes),
        model=body.model,
    )
    changed = await call.engine.update(call.owner, call.agent_id, patch, key=call.query.key)
    return answer(agent_detail(call.engine, changed))


async def delete(call: Bare) -> Response:
    await call.engine.delete(call.owner, call.agent_id, key=call.query.key)
    return no_content()


async def reset(call: RouteCall[CommandQuery, ResetOrder]) -> Response:
    key = call.query.key
    await call.engine.reset(call.owner, call.agent_id, reason=call.body.reason, key=key)
    return answer(CommandAnswer(applied=True))


async def terminate(call: RouteCall[CommandQuery, TerminateOrder]) -> Response:
    reason = " ".join(call.body.reason.split()) or "by its owner"
    key = call.query.key
    ended = await call.engine.terminate(call.owner, call.agent_id, reason=reason, key=key)
    return answer(TerminateAnswer(applied=bool(ended), ended=list(ended)))


async def stop(call: Bare) -> Response:
    applied = await call.engine.interrupt(call.owner, call.agent_id, key=call.query.key)
    return answer(CommandAnswer(applied=applied))


async def compact(call: Bare) -> Response:
    applied = await call.engine.compact(call.owner, call.agent_id, key=call.query.key)
    return answer(CommandAnswer(applied=applied))


async def switch_back(call: RouteCall[CommandQuery, SwitchBackOrder]) -> Response:
    leaving = None if call.body.leaving is None else known_agent_id(call.body.leaving)
    applied = await call.engine.switch_back(
        call.owner, call.agent_id, leaving=leaving, key=call.query.key
    )
    return answer(CommandAnswer(applied=applied))


async def tools(call: RouteCall[ToolsQuery, Nothing]) -> Response:
    found = await call.engine.tools_of(call.owner, known_agent_id(call.query.agent))
    entries = [
        ToolEntry(
            name=tool.name,
            description=tool.description,
            effect=tool.effect,
            capabilities=list(tool.capabilities),
            source=tool.source,
        )
        for tool in found
    ]
    return answer(ToolList(tools=entries))


_AGENT = "/api/agents/{agent_id}"

ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="POST",
        path="/api/agents",
        summary="Create an agent; with a descriptor, find or create it",
        run=create,
        query=Nothing,
        body=NewAgent,
        takes="json",
        status=201,
        answer=AgentDetail,
        refuses=(404, 409),
    ),
    Endpoint(
        method="GET",
        path="/api/agents",
        summary="List agents, pinned ones first, then by activity",
        run=list_agents,
        query=AgentsQuery,
        body=Nothing,
        answer=AgentList,
    ),
    Endpoint(
        method="GET",
        path=_AGENT,
        summary="Read an agent",
        run=read,
        query=Nothing,
        body=Nothing,
        answer=AgentDetail,
        refuses=(404,),
    ),
    Endpoint(
        method="GET",
        path=f"{_AGENT}/tree",
        summary="Read an agent's parents and children, and what they wait for",
        run=tree,
        query=TreeQuery,
        body=Nothing,
        answer=AgentTree,
        refuses=(404,),
    ),
    Endpoint(
        method="PATCH",
        path=_AGENT,
        summary="Rename or pin an agent, set its attributes or its model",
        run=change,
        query=CommandQuery,
        body=AgentChanges,
        takes="json",
        answer=AgentDetail,
        refuses=(404, 409, 410, 507),
    ),
    Endpoint(
        method="DELETE",
        path=_AGENT,
        summary="Delete an agent with its history and files",
        run=delete,
        query=CommandQuery,
        body=Nothing,
        status=204,
        refuses=(404, 409, 507),
    ),
    Endpoint(
        method="POST",
        path=f"{_AGENT}/reset",
        summary="Reset the context; the history is kept",
        run=reset,
        query=CommandQuery,
        body=ResetOrder,
        takes="optional json",
        answer=CommandAnswer,
        refuses=(404, 409, 410, 507),
    ),
    Endpoint(
        method="POST",
        path=f"{_AGENT}/stop",
        summary="Stop the running turn; the queue stays",
        run=stop,
        query=CommandQuery,
        body=Nothing,
        takes="optional json",
        answer=CommandAnswer,
        refuses=(404, 409, 410, 507),
    ),
    Endpoint(
        method="POST",
        path=f"{_AGENT}/compact",
        summary="Summarise the older part of the context",
        run=compact,
        query=CommandQuery,
        body=Nothing,
        takes="optional json",
        answer=CommandAnswer,
        refuses=(404, 409, 410, 502, 507),
    ),
    Endpoint(
        method="POST",
        path=f"{_AGENT}/switch-back",
        summary="Return to an agent that switched you to another; it receives what was said there",
        run=switch_back,
        query=CommandQuery,
        body=SwitchBackOrder,
        takes="optional json",
        answer=CommandAnswer,
        refuses=(404, 409, 410, 507),
    ),
    Endpoint(
        method="POST",
        path=f"{_AGENT}/terminate",
        summary="End an agent and its children permanently; the history is kept",
        run=terminate,
        query=CommandQuery,
        body=TerminateOrder,
        takes="optional json",
        answer=TerminateAnswer,
        refuses=(404, 409, 507),
    ),
    Endpoint(
        method="GET",
        path="/api/tools",
        summary="List the tools in an agent's scope",
        run=tools,
        query=ToolsQuery,
        body=Nothing,
        answer=ToolList,
        refuses=(404,),
    ),
]
