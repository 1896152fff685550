"""What commands ask of Retinue, whether a server answers or this process opens the store itself."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct, field

from retinue.agents.descriptor import Kind
from retinue.agents.prompt_entries import KnownSkill
from retinue.agents.request import RequestStatus
from retinue.agents.state import TokenSnapshot, TokenStats
from retinue.agents.usage import UsageKey, UsageReport
from retinue.events import AgentView, Event, ItemView, RequestView, ScheduleView, SlotView, WaitView
from retinue.models.port import Models
from retinue.records import AnyRecord, FileReference

if TYPE_CHECKING:
    from retinue.definitions.definition_graph import DefinitionGraph
    from retinue.engine.prompting.context_view import ContextView

GENERATIONS_SHOWN = 8
Decision = Literal["allow", "deny"]


class _View(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Problem(_View, frozen=True, kw_only=True):
    """A file or a server that did not load."""

    message: str
    file: str = ""
    field: str = ""
    line: int | None = None
    severity: str = "error"  # or "warning"
    using_last_good: bool = False

    @property
    def is_error(self) -> bool:
        return self.severity == "error"


class PackageView(_View, frozen=True, kw_only=True):
    """The package that a definition comes from."""

    name: str
    version: str


class DefinitionView(_View, frozen=True, kw_only=True):
    """A definition as lists show it."""

    name: str
    display_name: str = ""
    description: str = ""
    type: str = ""
    model: str | None = None
    file: str = ""
    is_default: bool = False
    package: PackageView | None = None


class Definitions(_View, frozen=True, kw_only=True):
    """The definitions there are, and what does not load."""

    definitions: list[DefinitionView]
    problems: list[Problem] = []


class OperationView(_View, frozen=True, kw_only=True):
    """One operation of a plugin."""

    id: str
    tool: str
    summary: str
    description: str
    parameters: dict[str, Any]
    effect: str
    capabilities: list[str] = []
    needs_agent: bool = False


class PluginView(_View, frozen=True, kw_only=True):
    """A plugin with its operations."""

    id: str
    title: str
    description: str
    operations: list[OperationView]
    file: str = ""


class PluginsView(_View, frozen=True, kw_only=True):
    """The plugins there are, and what does not load."""

    plugins: list[PluginView]
    problems: list[Problem] = []


class SkillsView(_View, frozen=True, kw_only=True):
    """The skills there are, and what does not load."""

    skills: list[KnownSkill]
    problems: list[Problem] = []


class VariableView(_View, frozen=True, kw_only=True):
    """A variable, without its value."""

    name: str
    type: str = "secret"
    is_required: bool = False
    is_scoped: bool = False
    is_declared: bool = False
    description: str = ""
    scope: str | None = None  # where the value that counts was set
    problem: str = ""  # why it cannot be read, if it cannot


class AgentDetail(AgentView, frozen=True, kw_only=True):
    """All that `show` tells about an agent."""

    messages: list[ItemView] = field(default_factory=list)  # not final, in order
    stats: dict[str, dict[str, TokenStats]] = field(default_factory=dict)
    tokens: TokenSnapshot | None = None
    files: list[FileReference] = field(default_factory=list)


class TreeBranch(_View, frozen=True, kw_only=True):
    """An agent and its children, as far as they are shown."""

    agent: AgentView
    children: "list[TreeBranch]" = []
    hidden: int = 0


class AgentTree(_View, frozen=True, kw_only=True):
    """The parents of an agent, the nearest first, and its children."""

    tree: TreeBranch
    ancestors: list[AgentView] = []


class AgentList(_View, frozen=True, kw_only=True):
    """One page of agents."""

    agents: list[AgentView]
    next_cursor: str | None = None


class Admission(_View, frozen=True, kw_only=True):
    """What the sender of a message is told at once."""

    id: str
    agent_id: str
    fate: str
    position: int = 0


class MessageView(ItemView, frozen=True, kw_only=True):
    """A message with what became of it."""

    position: int = 0
    reply: str = ""
    waiting_until: datetime | None = None
    waits: list[WaitView] = field(default_factory=list[WaitView])


class Place(_View, frozen=True, kw_only=True):
    """A conversation in the terminal: finds the same agent again."""

    definition: str
    user: str
    channel: str
    connector: str = "terminal"

    @property
    def descriptor(self) -> dict[str, Any]:
        return {
            "type": "user",
            "connector": self.connector,
            "userId": self.user,
            "channelId": self.channel,
        }


class ScheduleOrder(_View, frozen=True, kw_only=True):
    """A schedule to make."""

    title: str
    prompt: str
    cron: str | None = None
    at: str | None = None
    timezone: str | None = None
    catch_up: Literal["skip", "once"] = "skip"
    definition: str | None = None


class Facts(_View, frozen=True, kw_only=True):
    """What the store tells about itself."""

    kind: str
    schema: int = 0
    agents: int = 0
    items_open: int = 0
    bytes: int = 0
    problems: list[str] = []
    refusal: str = ""  # why nothing can be stored now


class Client(Protocol):
    """One connection to the project's engine. Errors are `RetinueError`s, from either side."""

    @property
    def is_remote(self) -> bool: ...

    @property
    def is_working(self) -> bool:
        """Whether an engine works on messages while this client looks."""
        ...

    @property
    def models(self) -> Models | None:
        """The models of this process; None when the server has them."""
        ...

    async def definitions(self) -> Definitions: ...

    async def graph(self, definition: str) -> "DefinitionGraph":
        """Everything that a definition leads to."""
        ...

    async def agents(
        self,
        *,
        definition: str | None = None,
        kind: Kind | None = None,
        query: str | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> AgentList: ...

    async def agent(self, agent_id: str) -> AgentView: ...

    async def detail(self, agent_id: str) -> AgentDetail: ...

    async def tree(self, agent_id: str) -> AgentTree: ...

    async def context(self, agent_id: str) -> "ContextView":
        """What its model would be sent now."""
        ...

    async def open_place(self, place: Place) -> AgentView:
        """Find the place's agent or create it."""
        ...

    async def post(
        self,
        agent_id: str,
        text: str,
        *,
        key: str | None = None,
        files: Sequence[FileReference] = (),
    ) -> Admission: ...

    async def message(
        self, message_id: str, *, agent_id: str | None = None, wait_seconds: float = 0
    ) -> MessageView: ...

    async def history(self, agent_id: str, *, after: int, limit: int) -> Sequence[AnyRecord]: ...

    async def recent(self, agent_id: str, *, limit: int) -> Sequence[AnyRecord]:
        """The last records, oldest first."""
        ...

    async def reset(self, agent_id: str) -> None: ...

    async def stop(self, agent_id: str) -> bool:
        """Stop the running turn; false when there was none."""
        ...

    async def compact(self, agent_id: str) -> bool:
        """Summarise the history; false when there was nothing to gain."""
        ...

    async def switch_back(self, agent_id: str, *, leaving: str | None = None) -> bool:
        """Go back to this agent; false when no other one answers instead of it."""
        ...

    async def terminate(self, agent_id: str, reason: str) -> Sequence[str]:
        """End the agent and its children for good; gives the ids of those that ended by it."""
        ...

    async def requests(
        self,
        *,
        status: RequestStatus | None = None,
        agent_id: str | None = None,
        limit: int = 100,
    ) -> list[RequestView]:
        """What agents asked, the newest first."""
        ...

    async def request(self, request_id: str) -> RequestView: ...

    async def decide(
        self,
        request_id: str,
        decision: Decision,
        *,
        note: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> RequestView: ...

    async def upload(self, agent_id: str, path: str, data: bytes) -> FileReference: ...

    def events(self, agent_id: str, *, after: int | None = None) -> AsyncIterator[Event]: ...

    async def usage(
        self, by: UsageKey, *, first: date | None, last: date | None
    ) -> UsageReport: ...

    async def variables(self, agent_id: str | None) -> Sequence[VariableView]:
        """Of an agent, or of the account."""
        ...

    async def set_variable(self, name: str, value: str, *, agent_id: str | None) -> None: ...

    async def unset_variable(self, name: str, *, agent_id: str | None) -> None: ...

    async def missing_variables(self, agent_id: str, request_id: str) -> Sequence[str]:
        """The names of what a subagent of this agent waits for."""
        ...

    async def provide(self, agent_id: str, request_id: str, values: Mapping[str, str]) -> str:
        """Give a waiting subagent its values and begin it; gives its id."""
        ...

    async def plugins(self) -> PluginsView: ...

    async def operate(
        self,
        plugin: str,
        operation: str,
        arguments: Mapping[str, Any],
        *,
        key: str | None = None,
        agent_id: str | None = None,
    ) -> Any:
        """Call an operation, for an agent within its scope or for the owner."""
        ...

    async def skills(self) -> SkillsView: ...

    async def schedules(self) -> Sequence[ScheduleView]: ...

    async def add_schedule(self, order: ScheduleOrder) -> ScheduleView: ...

    async def pause_schedule(self, name: str, *, paused: bool) -> ScheduleView: ...

    async def run_schedule(self, name: str) -> Admission: ...

    async def delete_schedule(self, name: str) -> None: ...

    async def schedule_runs(self, name: str, *, limit: int) -> Sequence[SlotView]: ...

    async def facts(self) -> Facts: ...

    async def settle_folders(self) -> None:
        """Let the agents' folders catch up with the store, where nobody does it already."""
        ...

    async def close(self) -> None: ...
