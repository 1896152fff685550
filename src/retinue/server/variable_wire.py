"""Variables over the wire: names go out, values only come in."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from retinue.server.wire import Answer, Asked

VariableName = Annotated[str, Meta(min_length=1, max_length=100)]
VariableValue = Annotated[str, Meta(max_length=16_384)]


class NewValue(Asked, frozen=True, kw_only=True):
    """A value to keep; no answer ever holds it."""

    value: VariableValue


class VariableEntry(Answer, frozen=True, kw_only=True):
    """A variable by its name, and where the value that counts was set."""

    name: str
    type: Literal["text", "secret"]
    is_required: bool
    is_scoped: bool
    is_declared: bool
    description: str
    scope: Literal["call", "thread", "account", "instance", "agent", "prompt"] | None
    problem: str  # why the value cannot be read, if it cannot


class VariableList(Answer, frozen=True, kw_only=True):
    """Variables of an account or an agent."""

    variables: list[VariableEntry]


class Provided(Asked, frozen=True, kw_only=True):
    """Values for a subagent that waits for them, by name."""

    env: dict[VariableName, VariableValue]


class VariablesWanted(Struct, frozen=True, kw_only=True):
    """What a subagent has to be given before it begins."""

    request_id: str
    parent_thread_id: str
    agent: str
    required: list[str]
    missing: list[str]
    expires_at: datetime


class SubagentBegun(Struct, frozen=True, kw_only=True):
    """The subagent that began with the values; its result reaches its parent as a message."""

    request_id: str
    child_thread_id: str
    status: Literal["success"] = "success"
