"""Commands from owners and parents to an agent, stored as items in its inbox."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from retinue.agents.descriptor import Route
from retinue.ids import AgentId, RequestId

UNCHANGED = "unchanged"
"""The code of a command that had nothing to do; the caller receives False."""


class AgentPatch(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Changes to an agent; UNSET keeps a value, None clears it."""

    name: str | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    env: Mapping[str, str | None] | UnsetType = UNSET
    """encrypted values by name; None removes one"""


class _Command(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class StopCommand(_Command, frozen=True, kw_only=True, tag="stop"):
    """End the turn that is running or about to start; queued messages stay."""

    up_to: int = 0
    """the seq of the last item that may be about to start; 0 if a turn was running, so that
    messages queued behind that turn are never stopped instead of it"""


class ResetCommand(_Command, frozen=True, kw_only=True, tag="reset"):
    """Clear the context, end the turn, and cancel messages queued before the command."""

    reason: str = ""


class CompactCommand(_Command, frozen=True, kw_only=True, tag="compact"):
    """Summarize the older part of the context."""


class PatchCommand(_Command, frozen=True, kw_only=True, tag="patch"):
    """Change the name, the pin, attributes, the model or variables."""

    patch: AgentPatch


class TerminateCommand(_Command, frozen=True, kw_only=True, tag="terminate"):
    """End the agent permanently, with its children; its history stays."""

    reason: str


class DeleteCommand(_Command, frozen=True, kw_only=True, tag="delete"):
    """Remove the agent with its history; the command is removed with it."""


class SwitchCommand(_Command, frozen=True, kw_only=True, tag="switch"):
    """A person joins this agent, leaves it, or returns to their chat.

    The text of the item is a report of the conversation with the agent that the person left.
    """

    is_chat: bool = False  # the receiver is the chat's own agent: `to` now answers the chat
    to: AgentId | None = None  # None = the chat's own agent again
    route: Route | None = None  # otherwise: the chat that the receiver now answers
    tells: AgentId | None = None  # the agent that gets a report of the conversation
    is_return: bool = False  # the person asked to return to this agent
    leaving: AgentId | None = (
        None  # the agent that the person leaves, if the store does not know it
    )


class ProvideCommand(_Command, frozen=True, kw_only=True, tag="provide"):
    """Start a subagent that waits for its variables."""

    request_id: RequestId
    env: Mapping[str, str] = {}  # encrypted for the child; removed when the command has ended
    by: str = ""  # who provided them, for the audit log


Command = (
    StopCommand
    | ResetCommand
    | CompactCommand
    | PatchCommand
    | TerminateCommand
    | DeleteCommand
    | SwitchCommand
    | ProvideCommand
)


def name_of(command: Command) -> str:
    """Return the tag of a command, as stored and shown."""
    return str(command.__struct_config__.tag)


def interrupts(command: Command | None) -> bool:
    """Whether the command interrupts a running model call or tool."""
    return isinstance(command, StopCommand | ResetCommand | TerminateCommand | DeleteCommand)


def runs_beside_work(command: Command | None) -> bool:
    """Whether the command applies during a model or tool call; it adds no record."""
    return isinstance(command, PatchCommand | ProvideCommand)


def reaches_ended_agents(command: Command | None) -> bool:
    """Whether the command applies to terminated agents."""
    return isinstance(command, PatchCommand | DeleteCommand)
