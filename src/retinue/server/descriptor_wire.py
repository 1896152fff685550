"""What clients send to begin a conversation, or to find the agent that stands for something."""

from typing import Annotated

from msgspec import Meta

from retinue.server.variable_wire import VariableName, VariableValue
from retinue.server.wire import AgentKey, AgentName, Asked, Attributes, DefinitionName


class _Place(Asked, frozen=True, kw_only=True, tag_field="type"):
    """What finds the same agent again."""


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
    """A conversation to begin; with a descriptor, to begin or to find again.

    The settings name the definition of system and swarm agents.
    """

    definition: DefinitionName | None = None
    name: AgentName | None = None
    attributes: Attributes | None = None
    descriptor: Place | None = None
    env: dict[VariableName, VariableValue] | None = None
    """its own variables; an agent that is found again keeps what it has"""
