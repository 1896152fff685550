"""To whom a message goes that names nobody, and whether a named target may be reached at all."""

from retinue.agents.descriptor import SwarmDescriptor, SystemDescriptor
from retinue.engine.calls.tool_call import CallContext
from retinue.engine.collaboration.services import CollaborationServices, new_agent
from retinue.engine.lineage.family_tree import ancestors_of
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.engine.lineage.peers import contact_of, may_address, may_write, refuse_swarm
from retinue.engine.rules.messages import configured_definition
from retinue.errors import NotFoundError, RefusedError, TerminatedError
from retinue.ids import AgentId
from retinue.stores.port import Agent, NewAgent, Store

Target = Agent | NewAgent


async def default_target(store: Store, agent: Agent) -> Agent:
    """The nearest ancestor that is still there, else the owner's most recent chat.

    It is answered from the store, so it is right after a restart too, and it stays within one owner
    because every step of it does.
    """
    for ancestor in await ancestors_of(store, agent):
        if ancestor.lifecycle == "active":
            return ancestor
    contact = await contact_of(store, agent)
    if contact is not None:
        return _open(await store.agent(agent.owner, contact))
    chat = await fetch(store, agent.owner, "most-recent-foreground")
    if chat is None or chat.id == agent.id:
        raise NotFoundError("there is nobody to write to: name an agentId")
    return chat


async def addressed(
    services: CollaborationServices, call: CallContext, sender: Agent, to: str
) -> Target:
    """The agent of an id, of `system:<tag>`, or this sender's agent of `swarm:<id>`."""
    descriptor = _standing(sender, to)
    if descriptor is None:
        return await _named(services.store, call, sender, AgentId(to))
    await refuse_swarm(services.store, sender)
    configured = configured_definition(descriptor, services.settings)
    preferred = services.settings.agents.default_definition
    name = configured or preferred or call.catalog.default().name
    if not may_address(call.catalog, sender.definition, name):
        raise RefusedError(f"there is no agent {to!r} that you can reach")
    found = await services.store.find(sender.owner, descriptor)
    if found is None:
        return new_agent(call, descriptor, call.catalog.public(name).name)
    return _open(_another(sender, found))


async def _named(store: Store, call: CallContext, sender: Agent, agent_id: AgentId) -> Agent:
    """The agent of that id, if this sender may write to it; who may not cannot tell if it is."""
    try:
        target = _another(sender, await store.agent(sender.owner, agent_id))
    except NotFoundError:
        await refuse_swarm(store, sender)
        raise
    if not await may_write(call.catalog, store, sender, target):
        await refuse_swarm(store, sender)
        raise NotFoundError(f"there is no agent {agent_id!r}")
    return _open(target)


def _another(sender: Agent, target: Agent) -> Agent:
    if target.id == sender.id:
        raise RefusedError("an agent cannot write to itself")
    return target


def _open(target: Agent) -> Agent:
    if target.lifecycle != "active":
        raise TerminatedError(f"the agent {target.id!r} has ended and accepts no messages")
    return target


def _standing(sender: Agent, to: str) -> SystemDescriptor | SwarmDescriptor | None:
    kind, _, name = to.partition(":")
    match kind:
        case "system" if name:
            return SystemDescriptor(tag=name)
        case "swarm" if name:
            return SwarmDescriptor(id=name, contact_agent_id=sender.id)
        case _:
            return None
