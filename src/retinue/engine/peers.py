"""Whom an agent may reach: decided in one place, which tells no more than no."""

from collections.abc import Iterable, Sequence

from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import Definition
from retinue.definitions.scoping import visible_agents
from retinue.errors import RefusedError


def peers_of(definition: Definition, definitions: Iterable[Definition]) -> Sequence[Definition]:
    """The definitions that agents of this one may see and call, without itself."""
    found = visible_agents(definition.agent_scope, definitions, itself=definition.name)
    return [peer for peer in found if _answers(peer)]


def reachable(catalog: Catalog, caller: str, target: str) -> Definition:
    """The definition of that name; unknown, hidden and denied ones are refused in one way."""
    for peer in peers_of(catalog.definition(caller), catalog.definitions()):
        if peer.name == target:
            return peer
    raise RefusedError(
        f"there is no agent {target!r} that you can reach; agents_list tells whom you can"
    )


def _answers(definition: Definition) -> bool:
    """Whether a message gets an answer: two sides talk to each other, and other systems apart."""
    return definition.kind == "ai_human" and not definition.is_external
