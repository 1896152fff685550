"""How a prompt may call a `dual_ai` definition: as a child agent of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from retinue.ids import SideName

ParentCommunication = Literal["implicit", "explicit"]

MESSAGE_PROPERTY = "message"
PLAIN_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        MESSAGE_PROPERTY: {"type": "string", "minLength": 1, "description": "what it is to do"}
    },
    "required": [MESSAGE_PROPERTY],
    "additionalProperties": False,
}
"""What a child takes whose prompt has no schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Immediate:
    """Start the child as soon as the prompt becomes active, before the first model step."""

    name_env: str | None = None
    """variable that may name the child, shown to the model"""
    description_env: str | None = None
    """variable that may describe its work, shown to the model"""
    scoped_env: tuple[str, ...] = ()
    """variables handed over outside the model's sight"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumable:
    """Keep the child after its result, to be messaged again."""

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
    """argument that holds paths of files to copy"""
    init_agent_name_property: str | None = None
    """argument that names the child"""
    target: str = ""
    """the key of what it names, where that is not the name itself (in packages)"""

    @property
    def key(self) -> str:
        return self.target or self.name


def is_switched_on(value: str | None) -> bool:
    """Read the variable of an optional entry; unset and unknown words are off."""
    return value is not None and value.strip().lower() in {"true", "1", "yes"}
