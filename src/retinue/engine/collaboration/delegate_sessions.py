"""Chooses the conversation of a definition that a message goes to."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from retinue.agents.descriptor import UserDescriptor
from retinue.agents.state import AgentState
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.services import CollaborationServices
from retinue.errors import NotFoundError, RefusedError
from retinue.ids import AgentId, OwnerId, new_agent_id, new_id
from retinue.stores.port import Agent, NewAgent

STRATEGIES = ("latest", "create", "latest-or-create")
DEFAULT = "latest-or-create"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegateSession:
    """The chosen conversation, and whether this message creates it."""

    agent: Agent | NewAgent
    is_new: bool = False

    @property
    def id(self) -> AgentId:
        return self.agent.id

    @property
    def address(self) -> AgentId | NewAgent:
        """The address for a post; posting to a new conversation creates it."""
        return self.agent if isinstance(self.agent, NewAgent) else self.agent.id

    def told(self) -> dict[str, Any]:
        """The fields that identify it in results."""
        return {
            "agentId": self.agent.definition,
            "sessionId": self.agent.id,
            "sessionName": self.agent.state.name or self.agent.definition,
            "created": self.is_new,
        }


async def resolve(
    services: CollaborationServices, call: CallContext, definition: str, wanted: str
) -> DelegateSession:
    """Find the conversation by strategy or id; never the caller or an agent waiting for it."""
    waiting = {call.agent_id, *(call.turn.trail.agents if call.turn.trail else ())}
    if wanted not in STRATEGIES:
        return DelegateSession(
            agent=await _named(services, call.owner, definition, wanted, waiting)
        )
    if wanted != "create":
        latest = await services.store.latest_conversation(
            call.owner, definition, excluding=frozenset(waiting)
        )
        if latest is not None:
            return DelegateSession(agent=latest)
        if wanted == "latest":
            raise NotFoundError(
                f"the agent {definition!r} has no session yet; use session 'create' to start one"
            )
    return DelegateSession(agent=_new(call.owner, definition, services.clock.now()), is_new=True)


async def _named(
    services: CollaborationServices,
    owner: OwnerId,
    definition: str,
    wanted: str,
    waiting: set[AgentId],
) -> Agent:
    missing = NotFoundError(f"the agent {definition!r} has no session {wanted!r}")
    try:
        agent = await services.store.agent(owner, AgentId(wanted))
    except NotFoundError:
        raise missing from None
    if agent.definition != definition or agent.lifecycle != "active":
        raise missing
    if agent.id in waiting:
        raise RefusedError(f"the session {wanted!r} is waiting for you: answer it instead")
    return agent


def _new(owner: OwnerId, definition: str, now: datetime) -> NewAgent:
    """An ordinary conversation: users see it in their list and can continue it."""
    return NewAgent(
        id=new_agent_id(),
        owner=owner,
        descriptor=UserDescriptor(connector="web", user_id=owner, channel_id=new_id("w")),
        definition=definition,
        state=AgentState(created_at=now, updated_at=now),
    )
