"""Whom a first message is for: the agent that its descriptor would make, if there is none yet."""

from retinue.agents.descriptor import Descriptor, SwarmDescriptor
from retinue.agents.state import AgentState
from retinue.engine.rules.messages import configured_definition
from retinue.engine.wiring import World
from retinue.errors import UsageError
from retinue.ids import OwnerId, new_agent_id
from retinue.stores.port import NewAgent


class Addressing:
    """Finds the definition that an agent of a descriptor is made from."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def of(self, owner: OwnerId, descriptor: Descriptor, definition: str | None) -> NewAgent:
        world = self._world
        configured = configured_definition(descriptor, world.settings)
        if configured is not None and definition not in (None, configured):
            raise UsageError(f"definition: the settings say that this is a {configured!r}")
        if isinstance(descriptor, SwarmDescriptor):
            await world.store.agent(owner, descriptor.contact_agent_id)
        preferred = world.settings.agents.default_definition
        wanted = definition or configured or preferred
        catalog = await world.project.catalog_with(wanted)
        name = wanted or catalog.default().name
        catalog.public(name)
        now = world.clock.now()
        return NewAgent(
            id=new_agent_id(),
            owner=owner,
            descriptor=descriptor,
            definition=name,
            state=AgentState(created_at=now, updated_at=now),
        )
