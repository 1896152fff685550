"""Permanent agents: background agents with a stable name and a prompt of their own."""

from typing import Annotated, Any

from pydantic import Field

from retinue.agents.command import TerminateCommand
from retinue.agents.descriptor import PermanentDescriptor
from retinue.agents.inbox import Sender
from retinue.engine.collaboration.services import CollaborationServices, call_of, new_agent
from retinue.engine.lineage.peers import contact_of, may_know, reachable
from retinue.engine.prompting.permanent_directory import Listed, permanent_agents
from retinue.errors import NotFoundError, RefusedError, UsageError
from retinue.ids import AgentId, new_agent_id
from retinue.stores.port import Agent, Effects, Post, Redescription, command_item
from retinue.text import clean_text
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext

_LONGEST_NAME = 100
_LONGEST_DESCRIPTION = 1_000

AgentKey = Annotated[str | None, Field(description="the one to change; else it is found by name")]
DefinitionName = Annotated[
    str | None, Field(description="what kind of agent a new one is; without it one like you")
]


def permanent_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    return [_creating(services), _listing(services), _deleting(services)]


def _creating(services: CollaborationServices) -> FunctionTool[..., Any]:
    @tool(name="create_permanent_agent", effect="keyed", capabilities=["agents.write"])
    async def create(
        ctx: ToolContext,
        name: Annotated[str, "what the agent is called; each name is used once"],
        description: Annotated[str, Field(description="what it is good for, for other agents")],
        systemPrompt: Annotated[str, Field(description="how it works")],  # noqa: N803
        agentId: AgentKey = None,  # noqa: N803
        definition: DefinitionName = None,
    ) -> str:
        """Make an agent that stays, under a name, or change the one of that name or id."""
        call = call_of(ctx)
        name = _text("name", " ".join(name.split()), _LONGEST_NAME)
        description = _text("description", description, _LONGEST_DESCRIPTION)
        prompt = _text("systemPrompt", systemPrompt, services.limits.message_characters)
        known = await _wanted(services, ctx, name, agentId)
        if known is None:
            chosen = definition or ctx.definition
            if chosen != ctx.definition:
                chosen = reachable(services.catalog, ctx.definition, chosen).name
            agent_id = new_agent_id()
        else:
            if definition not in (None, known.definition):
                raise UsageError(f"definition: {name!r} is a {known.definition!r} and stays one")
            chosen, agent_id = known.definition, known.id
        descriptor = PermanentDescriptor(
            id=agent_id, name=name, description=description, system_prompt=prompt
        )
        if known is None:
            new = new_agent(call, descriptor, chosen, agent_id=agent_id)
            call.emit(Effects(creates=(new,)))
            return f'Created the permanent agent "{name}" ({agent_id}).'
        change = Redescription(agent_id=agent_id, owner=ctx.owner, descriptor=descriptor)
        call.emit(Effects(redescribed=(change,)))
        return f'Updated the permanent agent "{name}" ({agent_id}); its history stays.'

    return create


def _listing(services: CollaborationServices) -> FunctionTool[..., Any]:
    @tool(name="list_permanent_agents", effect="pure", capabilities=["agents.read"])
    async def listed(ctx: ToolContext) -> dict[str, Any]:
        """List the permanent agents, with the ids that reach them."""
        found = await _known(services, ctx)
        return {
            "agents": [
                {"agentId": one.id, "name": one.name, "description": one.description}
                for one in found
            ]
        }

    return listed


def _deleting(services: CollaborationServices) -> FunctionTool[..., Any]:
    @tool(name="delete_permanent_agent", effect="keyed", capabilities=["agents.write"])
    async def delete(
        ctx: ToolContext,
        agentId: Annotated[str, Field(description="its id or its name")],  # noqa: N803
    ) -> str:
        """End a permanent agent for good; its name is free afterwards."""
        call = call_of(ctx)
        wanted = agentId.strip()
        found = [
            one
            for one in await _known(services, ctx)
            if wanted == one.id or _folded(wanted) == _folded(one.name)
        ]
        if not found:
            raise NotFoundError(f"there is no permanent agent {wanted!r}")
        if found[0].id == ctx.agent_id:
            raise RefusedError("an agent cannot delete itself")
        command = TerminateCommand(reason=f"deleted by the agent {ctx.agent_id}")
        sender = Sender(type="agent", id=ctx.agent_id)
        item = command_item(command, sender, call.clock.now())
        post = Post(to=AgentId(found[0].id), item=item, owner=ctx.owner)
        call.emit(Effects(posts=(post,)))
        return f'The permanent agent "{found[0].name}" ends; its history stays with its owner.'

    return delete


def _text(field: str, value: str, longest: int) -> str:
    value = clean_text(value).strip()
    if not value:
        raise UsageError(f"{field}: it is empty")
    if len(value) > longest:
        raise UsageError(f"{field}: it has {len(value)} characters; at most {longest} are taken")
    return value


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


async def _known(services: CollaborationServices, ctx: ToolContext) -> list[Listed]:
    """The permanent agents that this one may reach."""
    if await contact_of(services.store, call_of(ctx)) is not None:
        return []
    found = await permanent_agents(services.store, ctx.owner)
    return [one for one in found if may_know(services.catalog, ctx.definition, one.definition)]


async def _wanted(
    services: CollaborationServices, ctx: ToolContext, name: str, agent_id: str | None
) -> Agent | None:
    """The agent to change: by its id, which must be a permanent agent's, else by its name."""
    store, owner = services.store, ctx.owner
    if agent_id is None:
        unnamed = PermanentDescriptor(id=AgentId(""), name=name, description="", system_prompt="")
        found = await store.find(owner, unnamed)
        if found is not None and not await _may_change(services, ctx, found):
            raise RefusedError(f"name: {name!r} is taken; choose another")
        return found
    missing = NotFoundError(f"there is no permanent agent {agent_id!r}")
    try:
        found = await store.agent(owner, AgentId(agent_id))
    except NotFoundError:
        raise missing from None
    if found.kind != "permanent" or found.lifecycle != "active":
        raise missing
    if not await _may_change(services, ctx, found):
        raise missing
    return found


async def _may_change(services: CollaborationServices, ctx: ToolContext, agent: Agent) -> bool:
    is_free = await contact_of(services.store, call_of(ctx)) is None
    return is_free and may_know(services.catalog, ctx.definition, agent.definition)
