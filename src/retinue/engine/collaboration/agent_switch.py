"""`agents_switch`: moves the user to another agent."""

from typing import Annotated, Any

from pydantic import Field

from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.delegate_sessions import DEFAULT, DelegateSession, resolve
from retinue.engine.collaboration.delegation import AgentName, SessionName
from retinue.engine.collaboration.services import CollaborationServices, call_of
from retinue.engine.lineage.peers import reachable
from retinue.engine.rules.messages import checked_text
from retinue.errors import NotFoundError, RefusedError
from retinue.stores.port import Agent, Departure, Effects
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import ToolContext

Words = Annotated[str | None, Field(description="the user's first message to that agent, if any")]


def switching_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    @tool(name="agents_switch", effect="keyed", capabilities=["agents.write"])
    async def switch(
        ctx: ToolContext,
        agentId: AgentName,  # noqa: N803  the name on the wire
        session: SessionName = DEFAULT,
        message: Words = None,
    ) -> dict[str, Any]:
        """Switch the user to another agent, or back to the one they came from.

        The other agent receives a short summary of this conversation.
        """
        call = call_of(ctx)
        if message is not None:
            message = checked_text(message, (), services.limits.message_characters).strip()
        me = await services.store.agent(ctx.owner, ctx.agent_id)
        if me.kind != "user":
            raise RefusedError("no user is in a conversation with this agent, so it cannot switch")
        if call.turn.trail is not None and call.turn.trail.agents:
            raise RefusedError("another agent asked for this, not a user: answer it instead")
        chosen = await _chosen(services, call, agentId, session.strip())
        told = chosen.told()
        departure = Departure(
            to=chosen.address,
            name=told["sessionName"],
            message=message or "",
            trail=call.trail,
        )
        call.emit(Effects(departure=(departure,)))
        return {"status": "switched", **told}

    return [switch]


async def _chosen(
    services: CollaborationServices, call: CallContext, name: str, session: str
) -> DelegateSession:
    """The agent the user came from is always allowed; others follow the rules for messages."""
    home = await _home(services, call)
    if home is not None and home.definition == name and session in (DEFAULT, "latest", home.id):
        return DelegateSession(agent=home)
    target = reachable(call.catalog, call.definition, name)
    return await resolve(services, call, target.name, session)


async def _home(services: CollaborationServices, call: CallContext) -> Agent | None:
    route = call.state.route
    came_from = route.agent_id if route is not None else call.state.came_from
    if came_from is None:
        return None
    try:
        home = await services.store.agent(call.owner, came_from)
    except NotFoundError:
        return None
    return home if home.lifecycle == "active" else None
