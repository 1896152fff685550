"""What goes over the wire: requests, their queries, and answers; camelCase, nothing unknown."""

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
    """What clients send: a field that is not known is refused by name."""


class Answer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What clients get: every field is there, also when it is empty."""


class Nothing(Asked, frozen=True, kw_only=True):
    """No fields at all."""


# ---------------------------------------------------------------- errors


class ErrorDetail(Answer, frozen=True, kw_only=True):
    """What went wrong: `code` is stable, `message` is for people."""

    code: str
    message: str
    details: dict[str, Any] | UnsetType = UNSET


class ErrorAnswer(Answer, frozen=True, kw_only=True):
    """The body of every answer that is not a success."""

    error: ErrorDetail


class ProblemEntry(Answer, frozen=True, kw_only=True):
    """Something that does not load."""

    message: str
    file: str
    field: str
    line: int | None
    severity: Literal["error", "warning"]
    using_last_good: bool


# ---------------------------------------------------------------- health, login and usage


class StoreHealth(Answer, frozen=True, kw_only=True):
    """The store; the numbers only for those who may see them."""

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
    """That the server is there, and how it is; `reason` says what is not well."""

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
    """Whose agents the browser now sees."""

    owner: str


class UsageQuery(Asked, frozen=True, kw_only=True):
    """Which days, both included, in UTC, and what to sum by."""

    first: date | None = field(default=None, name="from")
    last: date | None = field(default=None, name="to")
    by: UsageKey = "day"


# ---------------------------------------------------------------- tools


class ToolsQuery(Asked, frozen=True, kw_only=True):
    """Whose tools."""

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
    """What to change; absent stays, null clears."""

    name: AgentName | UnsetType | None = UNSET
    pinned: bool | UnsetType = UNSET
    attributes: Attributes | UnsetType = UNSET
    model: ModelName | UnsetType | None = UNSET


class AgentsQuery(Asked, frozen=True, kw_only=True):
    """Which agents, and which page of them."""

    definition: DefinitionName | None = None
    kind: Kind | None = None
    query: Annotated[str, Meta(max_length=200)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: Annotated[str, Meta(max_length=1000)] | None = None


class AgentEntry(AgentView, frozen=True, kw_only=True, omit_defaults=False):
    """An agent in a list."""


class AgentDetail(AgentEntry, frozen=True, kw_only=True):
    """An agent with what it has used so far."""

    tokens: TokenSnapshot | None = None
    stats: dict[str, dict[str, TokenStats]] = field(
        default_factory=dict[str, dict[str, TokenStats]]
    )


class AgentList(Answer, frozen=True, kw_only=True):
    """One page of agents, pinned first, then by activity."""

    agents: list[AgentEntry]
    next_cursor: str | None


class TreeQuery(Asked, frozen=True, kw_only=True):
    """How many generations of children."""

    depth: Annotated[int, Meta(ge=0, le=16)] = 8


class TreeBranch(Answer, frozen=True, kw_only=True):
    """An agent and its children; those that would be too many are only counted."""

    agent: AgentEntry
    children: "list[TreeBranch]"
    hidden: int


class AgentTree(Answer, frozen=True, kw_only=True):
    """The parents of an agent, the nearest first, and its children."""

    ancestors: list[AgentEntry]
    tree: TreeBranch


class CommandAnswer(Answer, frozen=True, kw_only=True):
    """Whether there was anything to do."""

    applied: bool


class TerminateOrder(Asked, frozen=True, kw_only=True):
    """An end for good; the reason is recorded with it."""

    reason: Annotated[str, Meta(max_length=1000)] = ""


class TerminateAnswer(Answer, frozen=True, kw_only=True):
    """Who has ended by this: the agent and its children; nobody when it had ended before."""

    applied: bool
    ended: list[str]


class SwitchBackOrder(Asked, frozen=True, kw_only=True):
    """A person who comes back; `from` is the agent that they leave, where no chat's agent knows."""

    leaving: str | None = field(default=None, name="from")


class CommandQuery(Asked, frozen=True, kw_only=True):
    """A command; the same `key` again gives the result of the first one again."""

    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class ResetOrder(Asked, frozen=True, kw_only=True):
    """A reset; the reason is recorded with it."""

    reason: Annotated[str, Meta(max_length=1000)] = ""


# ---------------------------------------------------------------- messages


class NewMessage(Asked, frozen=True, kw_only=True):
    """What to tell an agent; the same `key` again gives the first message again."""

    content: str
    attachments: Annotated[list[FilePath], Meta(max_length=32)] = []
    silent: bool = False
    key: Annotated[str, Meta(min_length=1, max_length=256)] | None = None


class Admission(Answer, frozen=True, kw_only=True):
    """The message is stored, and will have exactly one final fate."""

    id: str
    agent_id: str
    fate: str
    position: int
    repeated: bool


class WaitQuery(Asked, frozen=True, kw_only=True):
    """How many seconds to wait for a final fate."""

    wait: Annotated[float, Meta(ge=0, le=3600)] = 0


class MessageAnswer(ItemView, frozen=True, kw_only=True, omit_defaults=False):
    """A message, where it is, and what became of it."""

    position: int = 0
    reply: str = ""
    waiting_until: datetime | None = None
    waits: list[WaitView] = field(default_factory=list[WaitView])


class MessageList(Answer, frozen=True, kw_only=True):
    """Messages without a final fate, in the order of admission."""

    items: list[MessageAnswer]


# ---------------------------------------------------------------- permissions and questions

RequestKey = Annotated[str, Meta(min_length=1, max_length=64)]


class RequestsQuery(Asked, frozen=True, kw_only=True):
    """Which requests, the newest first; `before` is the last id of the page before."""

    status: Literal["pending", "allowed", "denied", "answered", "expired", "void"] | None = None
    agent: AgentKey | None = None
    before: RequestKey | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 100


class RequestEntry(RequestView, frozen=True, kw_only=True, omit_defaults=False):
    """A permission, an approval or a question, and what became of it."""


class RequestList(Answer, frozen=True, kw_only=True):
    """What agents asked their owner; `next_before` is for the next page."""

    requests: list[RequestEntry]
    next_before: str | None


class Verdict(Asked, frozen=True, kw_only=True):
    """What the owner decides; a question that is allowed is answered with `values`."""

    decision: Literal["allow", "deny"]
    note: Annotated[str, Meta(max_length=2000)] = ""
    values: dict[str, Any] = {}


# ---------------------------------------------------------------- schedules

Title = Annotated[str, Meta(min_length=1, max_length=200)]
Prompt = Annotated[str, Meta(min_length=1, max_length=50_000)]
CronLine = Annotated[str, Meta(min_length=1, max_length=200)]
When = Annotated[str, Meta(min_length=1, max_length=100)]


class WatchOrder(Asked, frozen=True, kw_only=True):
    """What to look at before anybody is woken; one of these."""

    file: FilePath | None = None
    command: Annotated[str, Meta(min_length=1, max_length=10_000)] | None = None
    url: Annotated[str, Meta(min_length=1, max_length=4096)] | None = None
    list: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class NewSchedule(Asked, frozen=True, kw_only=True):
    """What is to happen: again and again with `cron`, once with `at`."""

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


class ScheduleChanges(Asked, frozen=True, kw_only=True):
    """What to change; absent stays, null clears."""

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
    """All schedules, the next one due first."""

    schedules: list[ScheduleView]
    timezone: str


class RunsQuery(Asked, frozen=True, kw_only=True):
    """How many of the last times."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 50


class RunList(Answer, frozen=True, kw_only=True):
    """What became of a schedule's times, the newest first."""

    runs: list[SlotView]


class HeartbeatOrder(Asked, frozen=True, kw_only=True):
    """Which tasks to run; without names, all of them."""

    tasks: Annotated[list[Title], Meta(max_length=200)] = []


class HeartbeatRun(Answer, frozen=True, kw_only=True):
    """Whether a batch was begun; none is while one is running."""

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
    """Which folder, and whether with what is in its folders."""

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
    """What is in a folder of an agent's own tree."""

    files: list[FileEntry]
    folders: list[FolderEntry]


class EventsQuery(Asked, frozen=True, kw_only=True):
    """Where to go on, and whose events."""

    after: Seq | None = None
    agent: AgentKey | None = None


class Subscribe(Asked, frozen=True, kw_only=True):
    """What a WebSocket client sends, as often as it likes."""

    type: Literal["subscribe"]
    after: Seq | None = None
    agent: AgentKey | None = None
