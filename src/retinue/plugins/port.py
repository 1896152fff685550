"""The plugin port: operations that are declared once, and what each of their calls is given."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from retinue.clock import Clock
from retinue.definitions.scoping import SYSTEM_PREFIX
from retinue.errors import UsageError
from retinue.ids import AgentId, OwnerId
from retinue.problems import LoadProblem

if TYPE_CHECKING:
    from retinue.definitions.prompt import Variable  # its package is slow to import

OperationEffect = Literal["pure", "keyed", "once"]
"""What a repeated call does.

`pure`: nothing, it only reads. `keyed`: with the same idempotency key, it takes effect once and
gives the first result again. `once`: it takes effect again, so that nobody repeats it.
"""

_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_TOOL_NAME = 64


class ReadVariable(Protocol):
    """Gives the value of a variable; raises `UsageError` without one and without a default."""

    def __call__(self, name: str, default: str | None = None) -> str: ...


def no_variables(name: str, default: str | None = None) -> str:
    """Implements `ReadVariable` where there are none."""
    if default is None:
        raise UsageError(f"there is no value for {name!r} here")
    return default


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationContext:
    """Who calls an operation. Services are the plugin's own: it is made with them."""

    owner: OwnerId
    idempotency_key: str
    """the same for every try of this call, and for no other call of anybody"""
    clock: Clock
    agent_id: AgentId | None = None
    """the agent that calls; None when its owner does, over HTTP or the command line"""
    env: ReadVariable = no_variables
    """of the agent, else of the owner; for what the operation does, never for what it returns"""


Run = Callable[[OperationContext, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing that a plugin does."""

    id: str
    summary: str  # one line
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object
    run: Run
    """given arguments that `validate` accepted; gives text or what can be written as JSON, and
    raises `NotFoundError`, `ConflictError`, `RefusedError` or `UsageError` for what cannot be"""
    validate: Callable[[Mapping[str, Any]], Mapping[str, Any]]  # raises ArgumentsError
    effect: OperationEffect = "once"
    capabilities: Sequence[str] = ()
    needs_agent: bool = False  # makes no sense without a calling agent
    timeout_seconds: float | None = None  # None = the limit of the settings
    output_limit: int | None = None  # characters for a model; None = the limit of the settings
    variables: "Sequence[Variable]" = ()  # that it needs


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """Operations that belong together."""

    id: str
    title: str
    description: str
    operations: Sequence[Operation]
    file: str = ""  # of the project, where it is written; empty for those that are built in
    line: int | None = None

    def __post_init__(self) -> None:
        """Refuse ids that one of the faces could not take."""
        _check_id("plugin", self.id)
        names: set[str] = set()
        for operation in self.operations:
            _check_id("operation", operation.id)
            name = self.tool_name(operation)
            if len(name) > _LONGEST_TOOL_NAME:
                raise UsageError(f"{name!r} is too long: {_LONGEST_TOOL_NAME} characters at most")
            if name.startswith(SYSTEM_PREFIX):
                raise UsageError(f"{name!r} is reserved: {SYSTEM_PREFIX}* are the engine's own")
            if name in names:
                raise UsageError(f"there are two operations {operation.id!r}")
            names.add(name)

    @property
    def source(self) -> str:
        """What its tools tell of where they come from."""
        return f"plugin:{self.id}"

    def operation(self, operation_id: str) -> Operation | None:
        return next((one for one in self.operations if one.id == operation_id), None)

    def tool_name(self, operation: Operation) -> str:
        """What the operation is called as a tool, and by allowlists and denylists."""
        return f"{self.id}_{operation.id}".replace("-", "_")


class PluginSource(Protocol):
    """Some plugins, such as those of a folder."""

    async def plugins(self) -> Mapping[str, Plugin]:
        """By id; the same object as long as nothing changed."""
        ...

    def problems(self) -> Sequence[LoadProblem]:
        """What did not load, by file and reason."""
        ...


def _check_id(kind: str, text: str) -> None:
    if _ID.fullmatch(text) is None:
        raise UsageError(
            f"{text!r} is not the id of {'an' if kind == 'operation' else 'a'} {kind}:"
            " small letters, digits and single hyphens are, beginning with a letter"
        )
