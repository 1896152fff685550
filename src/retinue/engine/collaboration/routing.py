"""To whom a message goes that names nobody, and whether a named target may be reached at all."""

from retinue.agents.descriptor import SwarmDescriptor, SystemDescriptor
from retinue.engine.admission import configured_definition
from retinue.engine.collaboration.services import Services, new_agent
from retinue.engine.families import ancestors_of
from retinue.engine.tooling import CallContext
from retinue.errors import NotFoundError, RefusedError, TerminatedError
from retinue.ids import AgentId
from retinue.stores.port import Agent, NewAgent, Store

Target = Agent | NewAgent


async def default_target(store: Store, agent: Agent) -> Agent:
    """The nearest ancestor that is still there, else the owner's most recent chat.

    It is answered from the store, so it is right after a restart too, and it stays within one owner
    because every step of it does.
    """
    if isinstance(agent.descriptor, SwarmDescriptor):
        return await named_target(store, agent, agent.descriptor.contact_agent_id)
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


async def addressed(services: Services, call: CallContext, sender: Agent, to: str) -> Target:
    """The agent of an id, of `system:<tag>`, or this sender's agent of `swarm:<id>`."""
    descriptor = _standing(sender, to)
    if descriptor is None:
        return await named_target(services.store, sender, AgentId(to))
    definition = configured_definition(descriptor, services.settings)
    found = await services.store.find(sender.owner, descriptor)
    if found is not None:
        return await named_target(services.store, sender, found.id)
    if isinstance(sender.descriptor, SwarmDescriptor):
        raise RefusedError("a swarm agent may write only to the agent that contacted it")
    preferred = services.settings.agents.default_definition
    name = definition or preferred or services.catalog.default().name
    return new_agent(call, descriptor, services.catalog.definition(name).name)


def _standing(sender: Agent, to: str) -> SystemDescriptor | SwarmDescriptor | None:
    kind, _, name = to.partition(":")
    match kind:
        case "system" if name:
            return SystemDescriptor(tag=name)
        case "swarm" if name:
            return SwarmDescriptor(id=name, contact_agent_id=sender.id)
        case _:
            return None
