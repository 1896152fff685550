"""Which agents an agent may reach. A refusal never reveals whether the target exists."""

from collections.abc import Sequence

from retinue.agents.descriptor import SwarmDescriptor
from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.package_names import local
from retinue.definitions.scoping import agent_name_verdict, agent_verdict, visible_agents
from retinue.engine.lineage.family_tree import Relative, ancestors_of
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.errors import RefusedError
from retinue.ids import AgentId
from retinue.stores.port import Agent, Store

ONLY_ITS_CONTACT = "a swarm agent may write only to the agent that contacted it"


def peers_of(definition: Definition, catalog: Catalog) -> Sequence[Definition]:
    """The definitions that agents of this one may see and call, by the names that it uses."""
    around = catalog.around(definition)
    found = visible_agents(definition.agent_scope, around, itself=local(definition.name))
    return [peer for peer in found if _answers(peer)]


def reachable(catalog: Catalog, caller: str, target: str) -> Definition:
    """The definition with this name; unknown, hidden and denied names get the same error."""
    definition = catalog.definition(caller)
    for peer in peers_of(definition, catalog):
        key = catalog.key(definition, peer.name)
        if target in (peer.name, key):  # results name agents by key
            return catalog.definition(key)
    raise RefusedError(
        f"there is no agent {target!r} that you can reach; call agents_list to see who is available"
    )


def may_know(catalog: Catalog, caller: str, target: str) -> bool:
    """Whether agents of one definition may learn the ids of agents of another."""
    if caller == target:
        return True
    definition = catalog.definition(caller)
    return any(
        catalog.key(definition, one.name) == target and agent_verdict(definition.agent_scope, one)
        for one in catalog.around(definition)
    )


def may_address(catalog: Catalog, caller: str, target: str) -> bool:
    """The same for an agent named in the settings, even if it is hidden from lists."""
    definition = catalog.definition(caller)
    if definition.home is not None:
        return may_know(catalog, caller, target)  # a package sees only its own agents
    return caller == target or bool(agent_name_verdict(definition.agent_scope, target))


async def contact_of(store: Store, agent: Relative) -> AgentId | None:
    """The one agent outside its family that a swarm agent, or a child of one, may reach."""
    if isinstance(agent.descriptor, SwarmDescriptor):
        return agent.descriptor.contact_agent_id
    for ancestor in await ancestors_of(store, agent):
        if isinstance(ancestor.descriptor, SwarmDescriptor):
            return ancestor.descriptor.contact_agent_id
    return None


async def refuse_swarm(store: Store, agent: Relative) -> None:
    """Refuse a swarm agent, or a child of one, that tries to reach other agents."""
    if await contact_of(store, agent) is not None:
        raise RefusedError(ONLY_ITS_CONTACT)


async def may_write(catalog: Catalog, store: Store, sender: Agent, target: Agent) -> bool:
    """Whether an agent may write to another by id: family always, others if the lists allow it."""
    if await _is_family(store, sender, target):
        return True
    contact = await contact_of(store, sender)
    if contact is not None:
        return target.id == contact
    if isinstance(target.descriptor, SwarmDescriptor):
        return target.descriptor.contact_agent_id == sender.id
    if may_know(catalog, sender.definition, target.definition):
        return True
    chat = await fetch(store, sender.owner, "most-recent-foreground")
    return chat is not None and chat.id == target.id  # the default recipient


async def _is_family(store: Store, one: Agent, other: Agent) -> bool:
    ids = {ancestor.id for ancestor in await ancestors_of(store, one)}
    if other.id in ids:
        return True
    return one.id in {ancestor.id for ancestor in await ancestors_of(store, other)}


def _answers(definition: Definition) -> bool:
    """Whether it answers messages: not a `dual_ai` definition."""
    return definition.kind == "ai_human"
