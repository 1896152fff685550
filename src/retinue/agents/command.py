"""Commands: what owners and parents order an agent to do, stored as items of its inbox."""

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct, UnsetType

from retinue.agents.descriptor import Route
from retinue.ids import AgentId, RequestId

UNCHANGED = "unchanged"
"""The code of a command that found nothing to do; its caller gets False."""


class AgentPatch(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a person may change about an agent; UNSET stays as it is, None clears."""

    name: str | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    attributes: dict[str, Any] | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    env: Mapping[str, str | None] | UnsetType = UNSET
    """sealed values by name; None removes one"""


class _Command(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class StopCommand(_Command, frozen=True, kw_only=True, tag="stop"):
    """End the turn that is running or about to begin; the queue stays."""

    up_to: int = 0
    """the seq of the last item that may be about to begin; 0 when a turn was running, so that
    messages queued behind that turn are never stopped in its place"""


class ResetCommand(_Command, frozen=True, kw_only=True, tag="reset"):
    """Clear the context, end the turn, drop what people queued before the command."""

    reason: str = ""


class CompactCommand(_Command, frozen=True, kw_only=True, tag="compact"):
    """Sum up the older part of the context."""


class PatchCommand(_Command, frozen=True, kw_only=True, tag="patch"):
    """Change the name, the pin, attributes, the model or variables."""

    patch: AgentPatch


class TerminateCommand(_Command, frozen=True, kw_only=True, tag="terminate"):
    """End the agent for good, and its children with it; its history stays."""

    reason: str


class DeleteCommand(_Command, frozen=True, kw_only=True, tag="delete"):
    """Remove the agent with its history; the command is removed with it."""


class SwitchCommand(_Command, frozen=True, kw_only=True, tag="switch"):
    """A person comes to this agent, leaves it, or comes back to their chat.

    The text of the item is an account of what was said at the agent that the person left.
    """

    is_chat: bool = False  # this is the chat's own agent: `to` answers the chat from now on
    to: AgentId | None = None  # None = the chat's own agent again
    route: Route | None = None  # else: the chat that it answers from now on
    tells: AgentId | None = None  # the agent that wants an account of what was said
    is_return: bool = False  # the person's own order to come back to this agent
    leaving: AgentId | None = None  # from this agent, where the store does not know which


class ProvideCommand(_Command, frozen=True, kw_only=True, tag="provide"):
    """Start a subagent that waited for its variables."""

    request_id: RequestId
    env: Mapping[str, str]  # sealed for the child
    by: str  # who gave them, for the audit


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
    """The tag under which the command is stored and shown."""
    return str(command.__struct_config__.tag)


def interrupts(command: Command | None) -> bool:
    """Whether it interrupts the model call or the tools that are running."""
    return isinstance(command, StopCommand | ResetCommand | TerminateCommand | DeleteCommand)


def runs_beside_work(command: Command | None) -> bool:
    """Whether it applies while a model or a tool is working: it adds no record."""
    return isinstance(command, PatchCommand | ProvideCommand)


def reaches_ended_agents(command: Command | None) -> bool:
    """Whether an agent that ended still obeys it."""
    return isinstance(command, PatchCommand | DeleteCommand)
