"""Wire types for creating an agent, or finding one by its descriptor."""

from typing import Annotated

from msgspec import Meta

from retinue.server.variable_wire import VariableName, VariableValue
from retinue.server.wire import AgentKey, AgentName, Asked, Attributes, DefinitionName


class _Place(Asked, frozen=True, kw_only=True, tag_field="type"):
    """A descriptor; the same one always finds the same agent."""


class UserPlace(_Place, frozen=True, kw_only=True, tag="user"):
    """A chat."""

    connector: Annotated[str, Meta(min_length=1, max_length=100)]
    user_id: Annotated[str, Meta(min_length=1, max_length=256)]
    channel_id: Annotated[str, Meta(min_length=1, max_length=256)]


class SystemPlace(_Place, frozen=True, kw_only=True, tag="system"):
    """The system agent of a configured tag."""

    tag: Annotated[str, Meta(min_length=1, max_length=100)]


class HeartbeatPlace(_Place, frozen=True, kw_only=True, tag="heartbeat"):
    """The agent of the heartbeat."""


class SwarmPlace(_Place, frozen=True, kw_only=True, tag="swarm"):
    """A configured swarm's agent for one contact."""

    id: Annotated[str, Meta(min_length=1, max_length=100)]
    contact_agent_id: AgentKey


Place = UserPlace | SystemPlace | HeartbeatPlace | SwarmPlace


class NewAgent(Asked, frozen=True, kw_only=True):
    """An agent to create or, with a descriptor, to find or create.

    Definitions of system and swarm agents come from the settings.
    """

    definition: DefinitionName | None = None
    name: AgentName | None = None
    attributes: Attributes | None = None
    descriptor: Place | None = None
    env: dict[VariableName, VariableValue] | None = None
    """the agent's own variables; an existing agent keeps its values"""
