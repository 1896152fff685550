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

AgentKey = Annotated[str | None, Field(description="the agent to update; defaults to the name")]
DefinitionName = Annotated[
    str | None, Field(description="the definition of a new agent; defaults to your own")
]


def permanent_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    return [_creating(services), _listing(services), _deleting(services)]


def _creating(services: CollaborationServices) -> FunctionTool[..., Any]:
    @tool(name="create_permanent_agent", effect="keyed", capabilities=["agents.write"])
    async def create(
        ctx: ToolContext,
        name: Annotated[str, "the agent's name; must be unique"],
        description: Annotated[str, Field(description="what it does, shown to other agents")],
        systemPrompt: Annotated[str, Field(description="its instructions")],  # noqa: N803
        agentId: AgentKey = None,  # noqa: N803
        definition: DefinitionName = None,
    ) -> str:
        """Create a permanent agent, or update the one with this name or id."""
        call = call_of(ctx)
        name = _text("name", " ".join(name.split()), _LONGEST_NAME)
        description = _text("description", description, _LONGEST_DESCRIPTION)
        prompt = _text("systemPrompt", systemPrompt, services.limits.message_characters)
        known = await _wanted(services, ctx, name, agentId)
        if known is None:
            chosen = definition or ctx.definition
            if chosen != ctx.definition:
                chosen = reachable(call.catalog, ctx.definition, chosen).name
            agent_id = new_agent_id()
        else:
            if definition not in (None, known.definition):
                raise UsageError(f"definition: {name!r} is a {known.definition!r}; that is fixed")
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
        return f'Updated the permanent agent "{name}" ({agent_id}); its history is kept.'

    return create


def _listing(services: CollaborationServices) -> FunctionTool[..., Any]:
    @tool(name="list_permanent_agents", effect="pure", capabilities=["agents.read"])
    async def listed(ctx: ToolContext) -> dict[str, Any]:
        """List the permanent agents with their ids."""
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
        """Delete a permanent agent; its name becomes available again."""
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
        return f'Deleted the permanent agent "{found[0].name}"; its owner keeps the history.'

    return delete


def _text(field: str, value: str, longest: int) -> str:
    value = clean_text(value).strip()
    if not value:
        raise UsageError(f"{field}: it is empty")
    if len(value) > longest:
        raise UsageError(f"{field}: it has {len(value)} characters; the limit is {longest}")
    return value


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


async def _known(services: CollaborationServices, ctx: ToolContext) -> list[Listed]:
    """The permanent agents that this one may reach."""
    call = call_of(ctx)
    if await contact_of(services.store, call) is not None:
        return []
    found = await permanent_agents(services.store, ctx.owner)
    return [one for one in found if may_know(call.catalog, ctx.definition, one.definition)]


async def _wanted(
    services: CollaborationServices, ctx: ToolContext, name: str, agent_id: str | None
) -> Agent | None:
    """The agent to update: by the id of a permanent agent, else by name."""
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
    call = call_of(ctx)
    is_free = await contact_of(services.store, call) is None
    return is_free and may_know(call.catalog, ctx.definition, agent.definition)
