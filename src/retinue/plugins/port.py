"""The plugin port: plugins, operations, and the context of a call."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from retinue.clock import Clock
from retinue.definitions.scoping import SYSTEM_PREFIX
from retinue.errors import UsageError
from retinue.ids import AgentId, OwnerId

if TYPE_CHECKING:
    from retinue.definitions.prompt import Variable  # its package is slow to import

OperationEffect = Literal["pure", "keyed", "once"]
"""The effect of a repeated call.

`pure`: none, it only reads. `keyed`: with the same idempotency key, it takes effect once and
returns the first result again. `once`: it takes effect again, so it is never repeated.
"""

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_TOOL_NAME = 64


class ReadVariable(Protocol):
    """Returns the value of a variable. Raises `UsageError` if it has no value and no default."""

    def __call__(self, name: str, default: str | None = None) -> str: ...


def no_variables(name: str, default: str | None = None) -> str:
    """Implements `ReadVariable` without any variables."""
    if default is None:
        raise UsageError(f"the variable {name!r} has no value")
    return default


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    """The caller of an operation. Services are passed to the plugin when it is created."""

    owner: OwnerId
    idempotency_key: str
    """the same for all attempts of this call, and unique to it"""
    clock: Clock
    agent_id: AgentId | None = None
    """the calling agent; None if the owner calls over HTTP or the command line"""
    env: ReadVariable = no_variables
    """variables of the agent, or else of the owner; never return their values"""


Run = Callable[[OperationContext, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a plugin."""

    id: str
    summary: str  # one line
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object
    run: Run
    """receives arguments that `validate` accepted; returns text or a JSON value, or raises
    `NotFoundError`, `ConflictError`, `RefusedError` or `UsageError`"""
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]]  # raises ArgumentsError
    effect: OperationEffect = "once"
    capabilities: Sequence[str] = ()
    needs_agent: bool = False  # only agents can call it
    timeout_seconds: float | None = None  # None = the limit in the settings
    output_limit: int | None = None  # characters for a model; None = the limit in the settings
    variables: "Sequence[Variable]" = ()  # variables that it needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A group of operations."""

    id: str
    title: str
    description: str
    operations: Sequence[Operation]
    file: str = ""  # the project file that defines it; empty for built-in plugins
    line: int | None = None

    def __post_init__(self) -> None:
        """Reject ids that are invalid as a tool, a path or a command."""
        _check_id("plugin", self.id)
        names: set[str] = set()
        for operation in self.operations:
            _check_id("operation", operation.id)
            name = self.tool_name(operation)
            if len(name) > _LONGEST_TOOL_NAME:
                raise UsageError(f"{name!r} is too long: at most {_LONGEST_TOOL_NAME} characters")
            if name.startswith(SYSTEM_PREFIX):
                raise UsageError(
                    f"{name!r} is reserved: {SYSTEM_PREFIX}* names belong to the engine"
                )
            if name in names:
                raise UsageError(f"the operation {operation.id!r} is defined twice")
            names.add(name)

    @property
    def source(self) -> str:
        """The `source` of its tools."""
        return f"plugin:{self.id}"

    def operation(self, operation_id: str) -> Operation | None:
        return next((one for one in self.operations if one.id == operation_id), None)

    def tool_name(self, operation: Operation) -> str:
        """Return the name of the operation as a tool, also for allowlists and denylists."""
        return f"{self.id}_{operation.id}".replace("-", "_")


def _check_id(kind: str, text: str) -> None:
    if _ID.fullmatch(text) is None:
        raise UsageError(
            f"invalid {kind} id {text!r}: use lowercase letters, digits and single hyphens,"
            " starting with a letter"
        )
