"""Wire types for variables. Values are received but never sent."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from retinue.server.wire import Answer, Asked

VariableName = Annotated[str, Meta(min_length=1, max_length=100)]
VariableValue = Annotated[str, Meta(max_length=16_384)]


class NewValue(Asked, frozen=True, kw_only=True):
    """A value to store; no response ever contains it."""

    value: VariableValue


class VariableEntry(Answer, frozen=True, kw_only=True):
    """A variable's name and description, and the scope that sets its value."""

    name: str
    type: Literal["text", "secret"]
    is_required: bool
    is_scoped: bool
    is_declared: bool
    description: str
    scope: Literal["call", "thread", "account", "instance", "agent", "prompt"] | None
    problem: str  # why the value cannot be read; else empty


class VariableList(Answer, frozen=True, kw_only=True):
    """Variables of an account or an agent."""

    variables: list[VariableEntry]


class Provided(Asked, frozen=True, kw_only=True):
    """Values for a waiting subagent, by name."""

    env: dict[VariableName, VariableValue]


class VariablesWanted(Struct, frozen=True, kw_only=True):
    """The variables that a subagent needs before it starts."""

    request_id: str
    parent_thread_id: str
    agent: str
    required: list[str]
    missing: list[str]
    expires_at: datetime


class SubagentBegun(Struct, frozen=True, kw_only=True):
    """The started subagent; its result reaches the parent as a message."""

    request_id: str
    child_thread_id: str
    status: Literal["success"] = "success"
