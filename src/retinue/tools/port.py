"""The tool port: tools, their effects, their context and their results."""

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
"""What to do about a call whose outcome was lost in a crash.

`pure`: run it again. `keyed`: run it again with the same idempotency key. `verifiable`: ask its
`check` whether it happened. `once`: do not repeat it; the model learns that the outcome is unknown.
"""


class AgentFiles(Protocol):
    """An agent's own file tree. A path that leaves the tree is a `UsageError`."""

    async def read(self, path: str) -> bytes:
        """Read a whole file; one that is too large for memory is a `UsageError`."""
        ...

    async def write(self, path: str, data: bytes) -> FileReference: ...

    async def append(self, path: str, data: bytes) -> FileReference: ...

    async def delete(self, path: str) -> None: ...

    async def list(
        self, path: str = "/", *, recursive: bool = False
    ) -> Sequence[FileReference]: ...

    async def stat(self, path: str) -> FileReference: ...

    def real_path(self, path: str) -> PurePosixPath:
        """Return the file's path on this machine, for sandboxes; it is inside the tree."""
        ...


class ServedFiles(AgentFiles, Protocol):
    """An agent's file tree as the server shows it."""

    async def stream(self, path: str) -> FileStream:
        """Open a file of any size; it is closed when its pieces are read or abandoned."""
        ...

    async def entries(self, path: str = "/", *, recursive: bool = False) -> Sequence[TreeEntry]:
        """List files like `list`, with folders and times."""
        ...


class FileTrees(Protocol):
    """The trees of all agents."""

    def tree(self, agent_id: AgentId) -> ServedFiles: ...


class ToolContext(Protocol):
    """The context of a running tool.

    Its effects are collected and committed together with the result, all or none.
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
        """A key that is the same for every attempt of this call, and unique to it."""
        ...

    @property
    def files(self) -> AgentFiles: ...

    @property
    def grants(self) -> Sequence[str]:
        """The agent's permissions, such as `@network`."""
        ...

    def env(self, name: str, default: str | None = None) -> str:
        """Return a variable's value; without a value and a default, the call fails.

        Do not put the value into the tool's result.
        """
        ...

    def progress(self, text: str) -> None:
        """Show progress to people who watch the agent; it is not stored."""
        ...

    def set_status(self, status: str) -> None:
        """Set this subagent's status in the parent's registry, without waking the parent."""
        ...

    def notify_parent(self, content: str) -> None:
        """Send a message to the parent; a `UsageError` if this agent is not a subagent."""
        ...

    def post(self, agent_id: AgentId, text: str, *, silent: bool = False) -> None:
        """Send a system message from this agent to another agent's inbox."""
        ...


class ToolOutput(Struct, frozen=True, kw_only=True):
    """The result of a call; the model also sees results with `is_error`."""

    text: str
    is_error: bool = False
    files: Sequence[FileReference] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """The result will arrive as a message; the turn is suspended until then, at no cost.

    The call's effects are committed when the turn is suspended.
    """

    reason: Literal["child", "permission", "budget", "variables"]
    until: datetime | None = None
    at_timeout: str = ""  # the result if nothing arrives by then
    agent_id: AgentId | None = None
    item: ItemId | None = None
    request: RequestId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The answer of `check` about a call whose outcome was lost."""

    happened: bool
    output: ToolOutput | None = None  # if it happened and the result is known


Invoke = Callable[[ToolContext, Mapping[str, Any]], Awaitable[ToolOutput | Pending]]
Check = Callable[[ToolContext, Mapping[str, Any]], Awaitable[Verified]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool that a model can call."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object
    invoke: Invoke  # receives arguments that `validate` accepted
    validate: Callable[
        [Mapping[str, Any]], Mapping[str, Any]
    ]  # raises UsageError naming the fields
    effect: Effect = "once"
    check: Check | None = None
    capabilities: Sequence[str] = field(default_factory=tuple[str, ...])
    timeout_seconds: float | None = None  # None = the limit of the settings
    output_limit: int | None = None  # characters; None = the limit of the settings
    variables: "Sequence[Variable]" = ()  # needed by the tool
    uses: Sequence[str] = field(default_factory=tuple[str, ...])  # tools that it relies on
    source: str = "builtin"  # "builtin", "project", "mcp:<server>", ...
    file: str = ""  # in the project, where the tool is defined
    line: int | None = None


class ToolServer(Struct, frozen=True, kw_only=True):
    """An external server that provides tools, and its state."""

    name: str
    state: Literal["connected", "connecting", "lost", "off"]
    tools: int
    problems: Sequence[str] = ()


class Toolbox(Protocol):
    """All available tools, before scoping."""

    async def tools(self) -> Mapping[str, Tool]:
        """Return tools by name, quickly; those of slow or unavailable servers are left out."""
        ...

    def problems(self) -> Sequence[LoadProblem]:
        """Return load errors of files and servers."""
        ...
