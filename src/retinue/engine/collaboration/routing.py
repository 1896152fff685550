"""To whom a message goes that names nobody, and whether a named target may be reached at all."""

from retinue.agents.descriptor import SwarmDescriptor
from retinue.engine.families import ancestors_of
from retinue.errors import NotFoundError, RefusedError, TerminatedError
from retinue.ids import AgentId
from retinue.stores.port import Agent, Store


async def default_target(store: Store, agent: Agent) -> Agent:
    """The nearest ancestor that is still there, else the owner's most recent chat.

    It is answered from the store, so it is right after a restart too, and it stays within one owner
    because every step of it does.
    """
    for ancestor in await ancestors_of(store, agent):
        if ancestor.lifecycle == "active":
            return ancestor
    chat = await store.most_recent_foreground(agent.owner)
    if chat is None or chat.id == agent.id:
        raise NotFoundError("there is nobody to write to: name an agentId")
    return chat


async def named_target(store: Store, sender: Agent, agent_id: AgentId) -> Agent:
    """The agent of that id, if this sender may write to it."""
    if agent_id == sender.id:
        raise RefusedError("an agent cannot write to itself")
    target = await store.agent(sender.owner, agent_id)
    if target.lifecycle != "active":
        raise TerminatedError(f"the agent {agent_id!r} ended and takes no more messages")
    descriptor = sender.descriptor
    if isinstance(descriptor, SwarmDescriptor) and agent_id != descriptor.contact_agent_id:
        raise RefusedError("a swarm agent may write only to the agent that contacted it")
    return target
