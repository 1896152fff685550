"""`agents_message` and `agents_list`: ask another agent, and whom there is to ask."""

from datetime import timedelta
from typing import Annotated, Any, Literal

import msgspec
from pydantic import Field

from retinue.agents.inbox import ItemBody, ReplyTo, Sender, Trail
from retinue.definitions.definition import Definition
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.delegate_sessions import DEFAULT, DelegateSession, resolve
from retinue.engine.collaboration.delegation_chain import extended, refuse_circle
from retinue.engine.collaboration.services import CollaborationServices, call_of
from retinue.engine.lineage.peers import contact_of, may_know, peers_of, reachable, refuse_swarm
from retinue.engine.prompting.permanent_directory import permanent_agents
from retinue.engine.rules.messages import checked_text
from retinue.errors import RefusedError
from retinue.ids import ItemId, new_item_id
from retinue.stores.port import Effects, NewItem, Post
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.port import Pending, ToolContext

LONGEST_TIMEOUT_SECONDS = 7 * 24 * 3600

AgentName = Annotated[str, Field(min_length=1, description="the agent to ask, by its agentId")]
Content = Annotated[str, Field(description="what it is to do, with all it needs to know")]
SessionName = Annotated[
    str,
    Field(
        min_length=1,
        description="latest, create, latest-or-create, or the sessionId of an earlier result",
    ),
]
Mode = Annotated[
    Literal["sync", "async"],
    Field(description="sync waits for the answer; async goes on, and the outcome comes later"),
]
Seconds = Annotated[
    float | None,
    Field(
        ge=1,
        le=LONGEST_TIMEOUT_SECONDS,
        allow_inf_nan=False,
        description="how long to wait in sync mode",
    ),
]


def delegation_tools(services: CollaborationServices) -> list[FunctionTool[..., Any]]:
    @tool(name="agents_message", effect="keyed", capabilities=["agents.write"])
    async def message(
        ctx: ToolContext,
        agentId: AgentName,  # noqa: N803  the name on the wire
        content: Content,
        session: SessionName = DEFAULT,
        mode: Mode = "sync",
        timeout: Seconds = None,  # noqa: ASYNC109  it outlives this function
    ) -> dict[str, Any] | Pending:
        """Ask another agent to do something, in a session of its own with its own tools.

        In sync mode the result is its answer. When that takes longer than the timeout, nothing is
        cancelled: the answer comes later as a message. In async mode, exactly one message tells
        the outcome: complete, failed or cancelled.
        """
        call = call_of(ctx)
        content = checked_text(content, (), services.limits.message_characters).strip()
        me = call.catalog.definition(ctx.definition)
        refuse_circle(call, call.catalog.key(me, agentId))
        await refuse_swarm(services.store, call)
        try:
            target = reachable(call.catalog, ctx.definition, agentId)
        except RefusedError as error:
            raise await _hinted(services, call, agentId, error) from None
        trail = extended(call, target.name, services.limits)
        chosen = await resolve(services, call, target.name, session.strip())
        item = _request(call, content, trail, mode, chosen)
        call.emit(Effects(posts=(Post(to=chosen.address, item=item, owner=ctx.owner),)))
        if mode == "async":
            return {"mode": mode, "status": "started", **chosen.told(), "responseId": item.id}
        seconds = timeout if timeout is not None else services.limits.delegation_seconds
        return Pending(
            reason="child",
            until=item.admitted_at + timedelta(seconds=seconds),
            at_timeout=_timed_out(chosen, item.id, seconds),
            agent_id=chosen.id,
            item=item.id,
        )

    @tool(name="agents_list", effect="pure", capabilities=["agents.read"])
    async def peers(ctx: ToolContext) -> dict[str, Any]:
        """List the agents that you can ask with agents_message."""
        call = call_of(ctx)
        if await contact_of(services.store, call) is not None:
            return {"agents": []}
        found = peers_of(call.catalog.definition(ctx.definition), call.catalog)
        return {"agents": [_described(peer) for peer in found]}

    return [message, peers]


def _described(peer: Definition) -> dict[str, str]:
    return {
        "agentId": peer.name,
        "displayName": peer.display_name,
        "description": peer.description,
    }


def _request(
    call: CallContext,
    content: str,
    trail: Trail,
    mode: Literal["sync", "async"],
    chosen: DelegateSession,
) -> NewItem:
    body = ItemBody(
        text=content,
        sender=Sender(type="agent", id=call.agent_id),
        trail=trail,
        reply_to=ReplyTo(
            agent_id=call.agent_id, call=call.call_id, mode=mode, created=chosen.is_new
        ),
    )
    now = call.clock.now()
    return NewItem(id=new_item_id(), kind="message", body=body, admitted_at=now)


def _timed_out(chosen: DelegateSession, item: ItemId, seconds: float) -> str:
    result = {
        "mode": "sync",
        "status": "timeout",
        **chosen.told(),
        "responseId": item,
        "timeoutSeconds": int(seconds) if seconds == int(seconds) else seconds,
        "message": (
            f"No answer within {seconds:g} seconds. Nothing was cancelled: "
            "the answer will come as a message of its own."
        ),
    }
    return msgspec.json.encode(result).decode()


async def _hinted(
    services: CollaborationServices, call: CallContext, name: str, error: RefusedError
) -> RefusedError:
    """Say how a permanent agent of that name is written to, as far as the caller may know it."""
    wanted = name.strip().casefold()
    for one in await permanent_agents(services.store, call.owner):
        if wanted in (one.name.casefold(), one.id) and may_know(
            call.catalog, call.definition, one.definition
        ):
            return RefusedError(
                f"{one.name} is a permanent agent, which goes on with the conversation it has: "
                f"write to it with send_agent_message and agentId {one.id}"
            )
    return error
