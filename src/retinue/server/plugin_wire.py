"""Wire types for plugins, their operations, MCP servers and skills."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from retinue.agents.prompt_entries import KnownSkill
from retinue.server.wire import AgentKey, Answer, Asked, ProblemEntry

CallKey = Annotated[str, Meta(min_length=1, max_length=200)]


class OperationCall(Asked, frozen=True, kw_only=True):
    """A call of an operation."""

    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    key: CallKey | None = None  # calls with the same key take effect once
    agent_id: AgentKey | None = None  # call as this agent, within its scope; else as the owner


class OperationResult(Answer, frozen=True, kw_only=True):
    """The result of an operation: text or JSON."""

    result: Any


class OperationEntry(Answer, frozen=True, kw_only=True):
    """One operation of a plugin."""

    id: str
    tool: str  # its name as a tool, used in scopes
    summary: str
    description: str
    parameters: dict[str, Any]  # a JSON schema
    effect: Literal["pure", "keyed", "once"]
    capabilities: list[str]
    needs_agent: bool


class PluginEntry(Answer, frozen=True, kw_only=True):
    """A plugin; `file` is empty for built-in ones."""

    id: str
    title: str
    description: str
    operations: list[OperationEntry]
    file: str


class PluginList(Answer, frozen=True, kw_only=True):
    """All plugins, and load errors."""

    plugins: list[PluginEntry]
    problems: list[ProblemEntry]


class ServerEntry(Answer, frozen=True, kw_only=True):
    """An MCP server of the settings, and its state."""

    name: str
    state: Literal["connected", "connecting", "lost", "off"]
    tools: int
    problems: list[str]


class ServerList(Answer, frozen=True, kw_only=True):
    """All MCP servers of the settings."""

    servers: list[ServerEntry]


class SkillList(Answer, frozen=True, kw_only=True):
    """All skills, and load errors."""

    skills: list[KnownSkill]
    problems: list[ProblemEntry]
