"""Options with which a prompt calls a `dual_ai` definition as a child agent."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from retinue.ids import SideName

ParentCommunication = Literal["implicit", "explicit"]

MESSAGE_PROPERTY = "message"
PLAIN_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {MESSAGE_PROPERTY: {"type": "string", "minLength": 1, "description": "the task"}},
    "required": [MESSAGE_PROPERTY],
    "additionalProperties": False,
}
"""The arguments of a child whose prompt has no schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Immediate:
    """Start the child as soon as the prompt becomes active, before the first model step."""

    name_env: str | None = None
    """variable with the name of the child, visible to the model"""
    description_env: str | None = None
    """variable with a description of its task, visible to the model"""
    scoped_env: tuple[str, ...] = ()
    """variables passed to the child without the model seeing them"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumable:
    """Keep the child after its result, so that it can receive more messages."""

    receives_messages: SideName = "side_a"
    max_instances: int | None = None
    parent_communication: ParentCommunication = "implicit"


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentConfig:
    """A child that a prompt can call."""

    name: str
    """the definition: `dual_ai`, exposed as a tool"""
    blocking: bool = True
    """whether the parent waits for the result"""
    immediate: Immediate | None = None
    optional: str | None = None
    """variable that switches this entry on"""
    resumable: Resumable | None = None
    init_user_message_property: str | None = None
    """argument that becomes the first message"""
    init_attachments_property: str | None = None
    """argument that contains paths of files to copy"""
    init_agent_name_property: str | None = None
    """argument that contains the name of the child"""
    target: str = ""
    """the key of the target if it differs from the name (in packages)"""

    @property
    def key(self) -> str:
        return self.target or self.name


def is_switched_on(value: str | None) -> bool:
    """Whether the value of an optional entry's variable switches it on; unknown words do not."""
    return value is not None and value.strip().lower() in {"true", "1", "yes"}
