"""`start_background_agent`: a subagent that works in the background."""

from typing import Annotated, Any

from msgspec import structs
from pydantic import Field

from retinue.agents.descriptor import SubagentDescriptor
from retinue.agents.inbox import ItemBody, Sender
from retinue.engine.calls.inherited_variables import inherited, scoped_in
from retinue.engine.collaboration.delegation_chain import refuse_endless
from retinue.engine.collaboration.services import CollaborationServices, call_of, new_agent
from retinue.engine.lineage.family_tree import ancestors_of
from retinue.engine.lineage.peers import reachable
from retinue.errors import RefusedError, UsageError
from retinue.ids import derived_agent_id, new_item_id
from retinue.stores.port import Agent, Effects, NewItem, Post
from retinue.text import clean_text
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext

_LONGEST_NAME = 60


def background_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    store = services.store

    @tool(name="start_background_agent", effect="keyed", capabilities=["agents.write"])
    async def start(
        ctx: ToolContext,
        prompt: Annotated[str, Field(description="the task, with everything the agent needs")],
        name: Annotated[str | None, Field(description="a short name for the agent")] = None,
        definition: Annotated[
            str | None, Field(description="the definition to use; defaults to your own")
        ] = None,
    ) -> str:
        """Start an agent that works in the background. Its result arrives as a message."""
        call = call_of(ctx)
        prompt = clean_text(prompt)
        if not prompt.strip():
            raise UsageError("prompt: it is empty; describe the task")
        refuse_endless(call, services.limits)
        chosen = definition or ctx.definition
        if chosen != ctx.definition:
            chosen = reachable(call.catalog, ctx.definition, chosen).name
        parent = await store.agent(ctx.owner, ctx.agent_id)
        await check_room(services, parent)
        child = derived_agent_id(call.idempotency_key)
        named = name_of(name, prompt)
        descriptor = SubagentDescriptor(id=child, parent_agent_id=parent.id, name=named)
        item = NewItem(
            id=new_item_id(),
            kind="message",
            body=ItemBody(text=prompt, sender=Sender(type="agent", id=parent.id), trail=call.trail),
            admitted_at=call.clock.now(),
        )
        made = new_agent(call, descriptor, chosen, agent_id=child)
        if call.state.env:
            scoped = scoped_in(call, call.catalog.definition(chosen))
            env = inherited(call, child, without=[one.name for one in scoped])
            made = structs.replace(made, state=structs.replace(made.state, env=env))
        call.emit(Effects(posts=(Post(to=made, item=item, owner=ctx.owner),)))
        return (
            f'Started the background agent "{named}" ({child}). Its result will arrive as a '
            "message; until then you can write to it by its id."
        )

    return [start]


def name_of(name: str | None, prompt: str) -> str:
    """The given name, else the first words of the prompt."""
    words = " ".join(clean_text(name or "").split()) or " ".join(prompt.split())
    return words if len(words) <= _LONGEST_NAME else f"{words[: _LONGEST_NAME - 1].rstrip()}…"


async def check_room(services: CollaborationServices, parent: Agent) -> None:
    """Refuse another child when the limit on depth or on live children is reached."""
    limits = services.limits
    depth = len(await ancestors_of(services.store, parent)) + 1
    if depth > limits.subagent_depth:
        raise RefusedError(
            f"agents may be nested {limits.subagent_depth} deep (limits.subagentDepth): "
            "do the work yourself"
        )
    children = await services.store.children(parent.owner, parent.id)
    live = sum(
        child.lifecycle == "active" and (child.is_busy or child.state.child is not None)
        for child in children
    )
    if live >= limits.live_children:
        raise RefusedError(
            f"{live} of your agents are active, which is the limit "
            "(limits.liveChildren): wait for one to finish"
        )
