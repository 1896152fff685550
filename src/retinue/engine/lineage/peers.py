"""Whom an agent may reach: decided in one place, which tells no more than no."""

from collections.abc import Sequence

from retinue.agents.descriptor import SwarmDescriptor
from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.package_names import local
from retinue.definitions.scoping import agent_name_verdict, agent_verdict, visible_agents
from retinue.engine.lineage.family_tree import Relative, ancestors_of
from retinue.errors import RefusedError
from retinue.ids import AgentId
from retinue.stores.port import Agent, Store

ONLY_ITS_CONTACT = "a swarm agent may write only to the agent that contacted it"


def peers_of(definition: Definition, catalog: Catalog) -> Sequence[Definition]:
    """The definitions that agents of this one may see and call, without itself, in its words."""
    around = catalog.around(definition)
    found = visible_agents(definition.agent_scope, around, itself=local(definition.name))
    return [peer for peer in found if _answers(peer)]


def reachable(catalog: Catalog, caller: str, target: str) -> Definition:
    """The definition of that name; unknown, hidden and denied ones are refused in one way."""
    definition = catalog.definition(caller)
    for peer in peers_of(definition, catalog):
        key = catalog.key(definition, peer.name)
        if target in (peer.name, key):  # the key is what results say
            return catalog.definition(key)
    raise RefusedError(
        f"there is no agent {target!r} that you can reach; agents_list tells whom you can"
    )


def may_know(catalog: Catalog, caller: str, target: str) -> bool:
    """Whether agents of one definition may know of agents of another, as their ids would do."""
    if caller == target:
        return True
    definition = catalog.definition(caller)
    return any(
        catalog.key(definition, one.name) == target and agent_verdict(definition.agent_scope, one)
        for one in catalog.around(definition)
    )


def may_address(catalog: Catalog, caller: str, target: str) -> bool:
    """The same for one whom the settings name: also if it is hidden from the lists."""
    definition = catalog.definition(caller)
    if definition.home is not None:
        return may_know(catalog, caller, target)  # a package knows nobody outside of it
    return caller == target or bool(agent_name_verdict(definition.agent_scope, target))


async def contact_of(store: Store, agent: Relative) -> AgentId | None:
    """The only one outside its family that a swarm agent, or who works for it, may reach."""
    if isinstance(agent.descriptor, SwarmDescriptor):
        return agent.descriptor.contact_agent_id
    for ancestor in await ancestors_of(store, agent):
        if isinstance(ancestor.descriptor, SwarmDescriptor):
            return ancestor.descriptor.contact_agent_id
    return None


async def refuse_swarm(store: Store, agent: Relative) -> None:
    """Refuse to let an agent that only its contact may hear of ask others."""
    if await contact_of(store, agent) is not None:
        raise RefusedError(ONLY_ITS_CONTACT)


async def may_write(catalog: Catalog, store: Store, sender: Agent, target: Agent) -> bool:
    """Whether one agent may write to another by its id: family always, others by the lists."""
    if await _is_family(store, sender, target):
        return True
    contact = await contact_of(store, sender)
    if contact is not None:
        return target.id == contact
    if isinstance(target.descriptor, SwarmDescriptor):
        return target.descriptor.contact_agent_id == sender.id
    if may_know(catalog, sender.definition, target.definition):
        return True
    chat = await store.most_recent_foreground(sender.owner)
    return chat is not None and chat.id == target.id  # where it writes when it names nobody


async def _is_family(store: Store, one: Agent, other: Agent) -> bool:
    ids = {ancestor.id for ancestor in await ancestors_of(store, one)}
    if other.id in ids:
        return True
    return one.id in {ancestor.id for ancestor in await ancestors_of(store, other)}


def _answers(definition: Definition) -> bool:
    """Whether a message gets an answer: two sides talk to each other, and other systems apart."""
    return definition.kind == "ai_human" and not definition.is_external
