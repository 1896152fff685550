"""Wire types of requests and responses: camelCase names, unknown fields refused."""

from datetime import date, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field

from retinue.agents.state import TokenSnapshot, TokenStats
from retinue.agents.usage import UsageKey
from retinue.events import AgentView, ItemView, RequestView, ScheduleView, SlotView, WaitView

Kind = Literal["user", "cron", "heartbeat", "system", "subagent", "swarm", "permanent"]
AgentName = Annotated[str, Meta(min_length=1, max_length=200)]
DefinitionName = Annotated[str, Meta(min_length=1, max_length=200)]
ModelName = Annotated[str, Meta(min_length=1, max_length=200)]
FilePath = Annotated[str, Meta(min_length=1, max_length=4096)]
Seq = Annotated[int, Meta(ge=0, le=2**53 - 1)]
AgentKey = Annotated[str, Meta(max_length=64)]
Attributes = dict[str, Any]
Stats = dict[str, dict[str, TokenStats]]


class Asked(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of what clients send; unknown fields are refused by name."""


class Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what clients receive; every field is present, even when empty."""


class Nothing(Asked, frozen=True, kw_only=True):
    """No fields."""


# ---------------------------------------------------------------- errors


class ErrorDetail(Answer, frozen=True, kw_only=True):
    """An error: `code` is stable, `message` is for people."""

    code: str
    message: str
    details: dict[str, Any] | UnsetType = UNSET


class ErrorAnswer(Answer, frozen=True, kw_only=True):
    """The body of every error response."""

    error: ErrorDetail


class ProblemEntry(Answer, frozen=True, kw_only=True):
    """An error or warning of a file."""

    message: str
    file: str
    field: str
    line: int | None
    severity: Literal["error", "warning"]
    using_last_good: bool


# ---------------------------------------------------------------- health, login and usage


class StoreHealth(Answer, frozen=True, kw_only=True):
    """The store's health; the numbers need authentication."""

    ok: bool
    kind: str | UnsetType = UNSET
    schema: int | UnsetType = UNSET
    agents: int | UnsetType = UNSET
    items_open: int | UnsetType = UNSET
    deliveries_open: int | UnsetType = UNSET
    cursor: int | UnsetType = UNSET
    bytes: int | UnsetType = UNSET
    problems: list[str] | UnsetType = UNSET


class Health(Answer, frozen=True, kw_only=True):
    """The server's health; `reason` says what is wrong."""

    status: Literal["ok", "degraded"]
    reason: str
    version: str
    store: StoreHealth


class Login(Asked, frozen=True, kw_only=True):
    """A one-time code from the printed link, or the token."""

    code: Annotated[str, Meta(min_length=1, max_length=512)] | UnsetType = UNSET
    token: Annotated[str, Meta(min_length=1, max_length=4096)] | UnsetType = UNSET


class LoginCode(Answer, frozen=True, kw_only=True):
    """A code that logs one browser in, once, within ten minutes."""

    code: str


class LoggedIn(Answer, frozen=True, kw_only=True):
    """The owner that the browser is logged in as."""

    owner: str


class UsageQuery(Asked, frozen=True, kw_only=True):
    """The first and last day, inclusive, in UTC, and how to group."""

    first: date | None = field(default=None, name="from")
    last: date | None = field(default=None, name="to")
    by: UsageKey = "day"


# ---------------------------------------------------------------- tools


class ToolsQuery(Asked, frozen=True, kw_only=True):
    """The agent whose tools to list."""

    agent: AgentKey


class ToolEntry(Answer, frozen=True, kw_only=True):
    """A tool that the agent may use."""

    name: str
    description: str
    effect: Literal["pure", "keyed", "verifiable", "once"]
    capabilities: list[str]
    source: str


class ToolList(Answer, frozen=True, kw_only=True):
    """The tools in an agent's scope."""

    tools: list[ToolEntry]


# ---------------------------------------------------------------- agents


class AgentChanges(Asked, frozen=True, kw_only=True):
    """Fields to change; absent fields stay, null clears."""

    name: AgentName | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    attributes: Attributes | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET


class AgentsQuery(Asked, frozen=True, kw_only=True):
    """Filters and page of a list of agents."""

    definition: DefinitionName | None = None
    kind: Kind | None = None
    query: Annotated[str, Meta(max_length=200)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: Annotated[str, Meta(max_length=1000)] | None = None


class AgentEntry(AgentView, frozen=True, kw_only=True, omit_defaults=False):
    """An agent in a list."""


class AgentDetail(AgentEntry, frozen=True, kw_only=True):
    """An agent with its token usage."""

    tokens: TokenSnapshot | None = None
    stats: dict[str, dict[str, TokenStats]] = field(
        default_factory=dict[str, dict[str, TokenStats]]
    )


class AgentList(Answer, frozen=True, kw_only=True):
    """One page of agents, pinned first, then by activity."""

    agents: list[AgentEntry]
    next_cursor: str | None


class TreeQuery(Asked, frozen=True, kw_only=True):
    """The number of generations of children."""

    depth: Annotated[int, Meta(ge=0, le=16)] = 8


class TreeBranch(Answer, frozen=True, kw_only=True):
    """An agent and its children; `hidden` counts the children left out."""

    agent: AgentEntry
    children: "list[TreeBranch]"
    hidden: int


class AgentTree(Answer, frozen=True, kw_only=True):
    """An agent's ancestors, nearest first, and its children."""

    ancestors: list[AgentEntry]
    tree: TreeBranch


class CommandAnswer(Answer, frozen=True, kw_only=True):
    """Whether the command had an effect."""

    applied: bool


class TerminateOrder(Asked, frozen=True, kw_only=True):
    """A termination; the reason is recorded."""

    reason: Annotated[str, Meta(max_length=1000)] = ""


class TerminateAnswer(Answer, frozen=True, kw_only=True):
    """The ids of the agents that ended; empty if the agent had already ended."""

    applied: bool
    ended: list[str]


class SwitchBackOrder(Asked, frozen=True, kw_only=True):
    """A switch back; `from` is the agent to leave, if the chat's agent does not know it."""

    leaving: str | None = field(default=None, name="from")


class CommandQuery(Asked, frozen=True, kw_only=True):
    """A command; the same `key` again gives the result of the first one again."""

    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class ResetOrder(Asked, frozen=True, kw_only=True):
    """A reset; the reason is recorded."""

    reason: Annotated[str, Meta(max_length=1000)] = ""


# ---------------------------------------------------------------- messages


class NewMessage(Asked, frozen=True, kw_only=True):
    """A message to an agent; repeating a `key` returns the first message."""

    content: str
    attachments: Annotated[list[FilePath], Meta(max_length=32)] = []
    silent: bool = False
    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class Admission(Answer, frozen=True, kw_only=True):
    """A stored message; it will have exactly one final fate."""

    id: str
    agent_id: str
    fate: str
    position: int
    repeated: bool


class WaitQuery(Asked, frozen=True, kw_only=True):
    """The number of seconds to wait for a final fate."""

    wait: Annotated[float, Meta(ge=0, le=3600)] = 0


class MessageAnswer(ItemView, frozen=True, kw_only=True, omit_defaults=False):
    """A message with its position, fate and reply."""

    position: int = 0
    reply: str = ""
    waiting_until: datetime | None = None
    waits: list[WaitView] = field(default_factory=list[WaitView])


class MessageList(Answer, frozen=True, kw_only=True):
    """Messages without a final fate, in order of admission."""

    items: list[MessageAnswer]


# ---------------------------------------------------------------- permissions and questions

RequestKey = Annotated[str, Meta(min_length=1, max_length=64)]


class RequestsQuery(Asked, frozen=True, kw_only=True):
    """Filters and page of a list of requests; `before` is the last id of the previous page."""

    status: Literal["pending", "allowed", "denied", "answered", "expired", "void"] | None = None
    agent: AgentKey | None = None
    before: RequestKey | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 100


class RequestEntry(RequestView, frozen=True, kw_only=True, omit_defaults=False):
    """A permission, an approval or a question, and its outcome."""


class RequestList(Answer, frozen=True, kw_only=True):
    """Requests, newest first; `next_before` is for the next page."""

    requests: list[RequestEntry]
    next_before: str | None


class Verdict(Asked, frozen=True, kw_only=True):
    """The owner's decision; `values` answers a question."""

    decision: Literal["allow", "deny"]
    note: Annotated[str, Meta(max_length=2000)] = ""
    values: dict[str, Any] = {}


# ---------------------------------------------------------------- schedules

Title = Annotated[str, Meta(min_length=1, max_length=200)]
Prompt = Annotated[str, Meta(min_length=1, max_length=50_000)]
CronLine = Annotated[str, Meta(min_length=1, max_length=200)]
When = Annotated[str, Meta(min_length=1, max_length=100)]


class WatchOrder(Asked, frozen=True, kw_only=True):
    """What to check before the agent is woken: exactly one of these."""

    file: FilePath | None = None
    command: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None
    url: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    list: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class ScheduleBody(Asked, frozen=True, kw_only=True):
    """A new schedule: `cron` repeats, `at` runs once."""

    title: Title
    prompt: Prompt
    cron: CronLine | None = None
    at: When | None = None
    timezone: When | None = None
    catch_up: Literal["skip", "once"] = "skip"
    definition: DefinitionName | None = None
    target: AgentKey | None = None
    report_to: AgentKey | None = None
    watch: WatchOrder | None = None
    paused: bool = False
    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class SchedulePatch(Asked, frozen=True, kw_only=True):
    """Fields to change; absent fields stay, null clears."""

    title: Title | UnsetType = UNSET
    prompt: Prompt | UnsetType = UNSET
    cron: CronLine | UnsetType = UNSET
    at: When | UnsetType = UNSET
    timezone: When | UnsetType = UNSET
    catch_up: Literal["skip", "once"] | UnsetType = UNSET
    definition: DefinitionName | UnsetType | None = UNSET
    target: AgentKey | UnsetType | None = UNSET
    report_to: AgentKey | UnsetType | None = UNSET
    watch: WatchOrder | UnsetType | None = UNSET
    paused: bool | UnsetType = UNSET


class ScheduleList(Answer, frozen=True, kw_only=True):
    """All schedules, next due first."""

    schedules: list[ScheduleView]
    timezone: str


class RunsQuery(Asked, frozen=True, kw_only=True):
    """The number of recent runs."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class RunList(Answer, frozen=True, kw_only=True):
    """A schedule's runs, newest first."""

    runs: list[SlotView]


class HeartbeatOrder(Asked, frozen=True, kw_only=True):
    """The tasks to run; all if empty."""

    tasks: Annotated[list[Title], Meta(max_length=200)] = []


class HeartbeatRun(Answer, frozen=True, kw_only=True):
    """Whether a batch was started; none is while one is running."""

    applied: bool
    message_id: str | None
    agent_id: str | None


# ---------------------------------------------------------------- history, files, events


class HistoryQuery(Asked, frozen=True, kw_only=True):
    """Records after a seq, or the last ones before it."""

    after: Seq | None = None
    before: Seq | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100


class HistoryPage(Answer, frozen=True, kw_only=True):
    """Records, oldest first; `cursor` is the next `after`, `first` the next `before`."""

    records: list[msgspec.Raw]
    cursor: int
    first: int
    has_more: bool


class FilesQuery(Asked, frozen=True, kw_only=True):
    """The folder to list, and whether to include its subfolders."""

    path: FilePath = "/"
    recursive: bool = False


class FileEntry(Answer, frozen=True, kw_only=True):
    """A file of an agent's own tree."""

    id: str
    name: str
    path: str
    mime_type: str
    size: int
    modified_at: datetime


class FolderEntry(Answer, frozen=True, kw_only=True):
    """A folder of an agent's own tree."""

    name: str
    path: str
    modified_at: datetime


class FileList(Answer, frozen=True, kw_only=True):
    """The contents of a folder of an agent's own tree."""

    files: list[FileEntry]
    folders: list[FolderEntry]


class EventsQuery(Asked, frozen=True, kw_only=True):
    """The cursor to continue from, and the agent to follow."""

    after: Seq | None = None
    agent: AgentKey | None = None


class Subscribe(Asked, frozen=True, kw_only=True):
    """A WebSocket client's subscription; a new one replaces it."""

    type: Literal["subscribe"]
    after: Seq | None = None
    agent: AgentKey | None = None
