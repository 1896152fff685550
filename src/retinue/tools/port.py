"""The tool port: what a tool is, what it promises about its effect, and what it is given."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

from retinue.agents.file_listing import FileStream, TreeEntry
from retinue.ids import AgentId, CallId, ItemId, OwnerId, RequestId
from retinue.problems import LoadProblem
from retinue.records import FileReference

if TYPE_CHECKING:
    from retinue.definitions.prompt import Variable  # its package is slow to import

Effect = Literal["pure", "keyed", "verifiable", "once"]
"""What may be done with a call whose outcome a crash swallowed.

`pure`: run it again. `keyed`: run it again with the same idempotency key. `verifiable`: ask its
`check` whether it happened. `once`: never again; the model is told that nobody knows.
"""


class AgentFiles(Protocol):
    """An agent's own file tree. Paths are inside it; one that leaves it is a `UsageError`."""

    async def read(self, path: str) -> bytes:
        """Read a file whole; one that is too large to hold is a `UsageError`."""
        ...

    async def write(self, path: str, data: bytes) -> FileReference: ...

    async def append(self, path: str, data: bytes) -> FileReference: ...

    async def delete(self, path: str) -> None: ...

    async def list(
        self, path: str = "/", *, recursive: bool = False
    ) -> Sequence[FileReference]: ...

    async def stat(self, path: str) -> FileReference: ...

    def real_path(self, path: str) -> PurePosixPath:
        """Where the file is on this machine, checked to be inside the tree (for sandboxes)."""
        ...


class ServedFiles(AgentFiles, Protocol):
    """An agent's file tree as doors show it."""

    async def stream(self, path: str) -> FileStream:
        """Open a file of any size; it is closed when its pieces were taken or given up."""
        ...

    async def entries(self, path: str = "/", *, recursive: bool = False) -> Sequence[TreeEntry]:
        """Like `list`, with folders and times."""
        ...


class FileTrees(Protocol):
    """The trees of all agents."""

    def tree(self, agent_id: AgentId) -> ServedFiles: ...


class ToolContext(Protocol):
    """What a running tool knows and may ask of the engine.

    What it asks for is collected and committed with its result: all of it or none.
    """

    @property
    def agent_id(self) -> AgentId: ...

    @property
    def owner(self) -> OwnerId: ...

    @property
    def definition(self) -> str: ...

    @property
    def call_id(self) -> CallId: ...

    @property
    def idempotency_key(self) -> str:
        """The same for every try of this call, and for no other call."""
        ...

    @property
    def files(self) -> AgentFiles: ...

    @property
    def grants(self) -> Sequence[str]:
        """Permissions that this agent holds, such as `@network`."""
        ...

    def env(self, name: str, default: str | None = None) -> str:
        """The value of a variable; without one and without a default, the call fails and says so.

        It belongs in what the tool does, never in what it returns.
        """
        ...

    def progress(self, text: str) -> None:
        """Show something to whoever watches; never stored."""
        ...

    def set_status(self, status: str) -> None:
        """Tell the parent's registry what this subagent is doing; nobody is woken by it."""
        ...

    def notify_parent(self, content: str) -> None:
        """Write to the agent whose subagent this is; a `UsageError` where it is nobody's."""
        ...

    def post(self, agent_id: AgentId, text: str, *, silent: bool = False) -> None:
        """Put a system message into another agent's inbox, with this agent as its origin."""
        ...


class ToolOutput(Struct, frozen=True, kw_only=True):
    """What a call gives back; `is_error` is a result too, and the model sees it."""

    text: str
    is_error: bool = False
    files: Sequence[FileReference] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The call's result will come as a message; until then the turn waits without costing anything.

    What the call asked of the engine is committed with the waiting.
    """

    reason: Literal["child", "permission", "budget", "variables"]
    until: datetime | None = None
    at_timeout: str = ""  # the result when nothing came until then
    agent_id: AgentId | None = None
    item: ItemId | None = None
    request: RequestId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What `check` found out about a call whose outcome was lost."""

    happened: bool
    output: ToolOutput | None = None  # when it happened and the result can still be told


Invoke = Callable[[ToolContext, Mapping[str, Any]], Awaitable[ToolOutput | Pending]]
Check = Callable[[ToolContext, Mapping[str, Any]], Awaitable[Verified]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """Something that a model can call."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object
    invoke: Invoke  # given arguments that `validate` accepted
    validate: Callable[
        [Mapping[str, Any]], Mapping[str, Any]
    ]  # raises UsageError naming the fields
    effect: Effect = "once"
    check: Check | None = None
    capabilities: Sequence[str] = field(default_factory=tuple[str, ...])
    timeout_seconds: float | None = None  # None = the limit of the settings
    output_limit: int | None = None  # characters; None = the limit of the settings
    variables: "Sequence[Variable]" = ()  # that it needs
    uses: Sequence[str] = field(default_factory=tuple[str, ...])  # tools that it relies on
    source: str = "builtin"  # "builtin", "project", "mcp:<server>", ...
    file: str = ""  # of the project, where it is written
    line: int | None = None


class ToolServer(Struct, frozen=True, kw_only=True):
    """A program outside that brings tools, and how it stands."""

    name: str
    state: Literal["connected", "connecting", "lost", "off"]
    tools: int
    problems: Sequence[str] = ()


class Toolbox(Protocol):
    """All tools there are, before scoping."""

    async def tools(self) -> Mapping[str, Tool]:
        """By name; quick, also when a remote server is slow or down (then without its tools)."""
        ...

    def problems(self) -> Sequence[LoadProblem]:
        """What did not load, by file or server and reason."""
        ...
