"""All settings and their defaults, by table."""

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    StrictBool,
    StrictFloat,
    StrictInt,
    field_validator,
    model_validator,
)

from retinue.clock import zone_of
from retinue.errors import UsageError
from retinue.settings.secrets import Secret, Template
from retinue.settings.table_reader import Shape
from retinue.times import check_cron, interval_of


def _without_references(text: str) -> str:
    if "${" in text:
        raise ValueError("this key does not support references such as ${secret:NAME}")
    return text


def _cron_line(text: str) -> str:
    try:
        check_cron(text)
    except UsageError as error:
        raise ValueError(error.message.removeprefix("cron: ")) from None
    return text


def _interval(text: str) -> str:
    try:
        interval_of(text)
    except UsageError as error:
        raise ValueError(error.message) from None
    return text


def _zone(name: str) -> str:
    zone_of(name)
    return name


def _schedule_id(text: str) -> str:
    if slug_of(text) != text:
        raise ValueError(f"expected lowercase letters, digits and '-', such as {slug_of(text)!r}")
    return text


def slug_of(text: str) -> str:
    """Convert a title to a short name for use as an id."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _NOT_IN_SLUG.sub("-", plain).strip("-")[:48].rstrip("-") or "schedule"


_NOT_IN_SLUG = re.compile(r"[^a-z0-9]+")
_SERVER_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}")

Text = Annotated[str, Field(min_length=1), AfterValidator(_without_references)]
Count = Annotated[StrictInt, Field(ge=0)]
Positive = Annotated[StrictInt, Field(ge=1)]
Seconds = Annotated[StrictFloat, Field(gt=0, allow_inf_nan=False)]
Price = Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)]


class ProviderSettings(Shape):
    """`[providers.<name>]`: a model provider. Its models are named `<name>:<model>`."""

    kind: Text | None = None
    """Kind of provider, such as `openai`, `anthropic`, `google`, `ollama` or `openai-compatible`.
    Default: the name of the table."""
    api: Literal["chat", "responses"] = "chat"
    """OpenAI API to use; only for kind `openai`."""
    base_url: Template | None = None
    """URL of an OpenAI-compatible server, including `/v1`."""
    api_key: Secret | None = None
    """API key of the provider."""
    models: tuple[Text, ...] = ()
    """Models to offer. Default: the list that the provider returns."""
    headers: Mapping[str, Secret] = {}
    """HTTP headers that are sent with every request."""
    context_window: Positive | None = None
    """Context window in tokens, for models whose window is unknown."""

    @model_validator(mode="after")
    def _is_reachable(self) -> "ProviderSettings":
        if self.kind == "openai-compatible" and self.base_url is None:
            raise ValueError("kind 'openai-compatible' requires a base_url")
        return self


class ServerSettings(Shape):
    """`[server]`: the HTTP server."""

    host: Text = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[StrictInt, Field(ge=0, le=65535)] = 8420
    """Port to listen on; 0 picks a free port."""
    token: Secret | None = None
    """Token that clients sign in with. Default: generated at the first start and stored in
    `.retinue/token`."""
    allowed_hosts: tuple[Text, ...] = ()
    """Additional host names that the server accepts. Loopback names are always accepted."""
    allowed_origins: tuple[Text, ...] = ()
    """Additional origins of web pages that may call the API. The server's own origin is always
    allowed."""


class AgentsSettings(Shape):
    """`[agents]`: settings for all agents."""

    emergency_context_limit: Positive = 200_000
    """Context size in tokens at which old messages are pruned. The model's context window takes
    precedence if it is smaller."""
    default_definition: Text | None = None
    """Definition of new conversations. Default: `assistant`, or else the first visible one."""
    system_tags: Mapping[str, Text] = {}
    """Definitions of system agents by tag."""
    swarms: Mapping[str, Text] = {}
    """Definitions of swarms by name. A swarm has one agent per contact."""


class LimitsSettings(Shape):
    """`[limits]`: limits and timeouts of the engine."""

    delegation_depth: Count = 3
    """Maximum depth of nested delegations."""
    message_hops: Positive = 40
    """Maximum number of messages that agents exchange before a person has to step in."""
    subagent_depth: Positive = 8
    """Maximum depth of nested subagents."""
    live_children: Positive = 32
    """Maximum number of active or resumable subagents per agent."""
    foreground_concurrency: Positive = 256
    """Maximum number of agents that answer people concurrently."""
    background_concurrency: Positive = 64
    """Maximum number of other agents that run concurrently."""
    steps_per_run: Positive = 250
    """Maximum number of model calls in one run."""
    message_chars: Positive = 200_000
    """Maximum length of a message in characters."""
    upload_bytes: Positive = 50_000_000
    """Maximum size of an uploaded file in bytes."""
    tool_time_limit_seconds: Seconds = 60
    """Timeout of a tool call, unless the tool sets its own."""
    tool_output_limit_chars: Positive = 30_000
    """Maximum length of a tool result in characters; longer results are cut."""
    hook_time_limit_seconds: Seconds = 30
    """Timeout of a hook, unless the hook sets its own."""
    delegation_timeout_seconds: Seconds = 300
    """Default timeout of a synchronous `agents_message` call."""
    permission_timeout_seconds: Seconds = 86_400
    """Time until an unanswered permission request expires."""
    pending_requests: Positive = 20
    """Maximum number of open requests per agent."""
    first_event_timeout_seconds: Seconds = 120
    """Timeout for the first event of a model response."""
    idle_timeout_seconds: Seconds = 60
    """Timeout between two events of a model response."""
    retry_attempts: Positive = 5
    """Maximum number of attempts for a model call, including the first."""
    retry_minimum_seconds: Seconds = 1
    """Delay before the first retry of a model call."""
    retry_maximum_seconds: Seconds = 60
    """Maximum delay between retries of a model call."""
    crash_attempts: Positive = 3
    """Number of crashes after which a message fails."""
    coalesce_window_ms: Count = 200
    """Messages of a person within this interval are handled in one turn; 0 disables this."""
    warm_bytes: Positive = 268_435_456
    """Memory for the cache of idle agents, in bytes."""

    @model_validator(mode="after")
    def _is_ordered(self) -> "LimitsSettings":
        if self.retry_minimum_seconds > self.retry_maximum_seconds:
            raise ValueError("retryMinimumSeconds must not exceed retryMaximumSeconds")
        return self


class McpSettings(Shape):
    """`[mcp.<name>]`: an MCP server, either a local process (`command`) or remote (`url`)."""

    command: Template | None = None
    """Program to start."""
    args: tuple[Template, ...] = ()
    """Arguments of the program."""
    env: Mapping[str, Secret] = {}
    """Environment of the program, in addition to `PATH` and `HOME`."""
    cwd: Text | None = None
    """Working directory of the program."""
    url: Template | None = None
    """URL of a remote server."""
    headers: Mapping[str, Secret] = {}
    """HTTP headers that are sent to a remote server."""
    enabled: StrictBool = True
    """Whether the server is used."""

    @model_validator(mode="after")
    def _has_one_transport(self) -> "McpSettings":
        if (self.command is None) == (self.url is None):
            raise ValueError("set either command or url")
        foreign = ("headers",) if self.url is None else ("args", "env", "cwd")
        given = [name for name in foreign if name in self.model_fields_set]
        if given:
            kind = "command" if self.url is None else "url"
            raise ValueError(f"{', '.join(given)} cannot be used with a {kind}")
        return self


class ShellSettings(Shape):
    """`[tools.shell]`: the tool that runs commands in a sandbox."""

    enabled: StrictBool = True
    """Whether the tool is available."""
    time_limit_seconds: Seconds = 120
    """Timeout of a command."""


class WebFetchSettings(Shape):
    """`[tools.webFetch]`: the tool that fetches web pages."""

    enabled: StrictBool = True
    """Whether the tool is available."""
    allowed_hosts: tuple[Text, ...] = ()
    """Hosts on private addresses that may be fetched. `*` is a wildcard."""
    max_bytes: Positive = 5_000_000
    """Maximum size of a page in bytes."""
    time_limit_seconds: Seconds = 30
    """Timeout of a request."""


class ToolsSettings(Shape):
    """`[tools]`: settings of the built-in tools."""

    shell: ShellSettings = Field(default_factory=ShellSettings)
    web_fetch: WebFetchSettings = Field(default_factory=WebFetchSettings)


class WatchSettings(Shape):
    """`watch = {...}`: the resource to check before an agent runs. Set one of these keys."""

    file: Text | None = None
    """Path of a file in the project."""
    command: Text | None = None
    """Command to run in a sandbox; its output is compared."""
    url: Text | None = None
    """URL of a web page."""
    list: Text | None = None
    """Name of a list; the watch checks for due items."""

    @model_validator(mode="after")
    def _is_one(self) -> "WatchSettings":
        if len(self.model_fields_set) != 1:
            raise ValueError("set exactly one of file, command, url or list")
        return self


class CronSettings(Shape):
    """`[[cron]]`: a recurring schedule."""

    synonyms: ClassVar[Mapping[str, str]] = {"cron": "schedule"}

    title: Text
    """Display name."""
    prompt: Text
    """Message that the agent receives on each run."""
    schedule: Annotated[Text, AfterValidator(_cron_line)]
    """Cron expression: minute, hour, day, month, weekday."""
    id: Annotated[Text, AfterValidator(_schedule_id)] | None = None
    """Stable id. Default: derived from the title."""
    timezone: Annotated[Text, AfterValidator(_zone)] | None = None
    """IANA time zone. Default: the top-level `timezone`."""
    definition: Text | None = None
    """Definition of the agent that runs. Default: the default definition."""
    catch_up: Literal["skip", "once"] = "skip"
    """What to do about runs that were missed while the server was down: skip them, or run once."""
    watch: WatchSettings | None = None
    paused: StrictBool = False
    """Whether the schedule is paused."""


class HeartbeatSettings(Shape):
    """`[heartbeat]`: the tasks in `heartbeat/*.md`."""

    enabled: StrictBool = True
    """Whether heartbeat tasks run."""
    every: Annotated[Text, AfterValidator(_interval)] = "30m"
    """Interval of tasks that set none."""
    definition: Text | None = None
    """Definition of the agent that runs the tasks."""
    context_limit: Positive = 20_000
    """Context size in tokens above which the agent's context is cleared before the next run."""


class PriceSettings(Shape):
    """`[prices.models."<provider>:<model>"]`: prices of a model per million tokens."""

    input: Price
    """Price of input tokens."""
    output: Price
    """Price of output tokens."""
    cache_read: Price | None = None
    """Price of tokens read from the provider's cache. Default: the input price."""
    cache_write: Price | None = None
    """Price of tokens written to the provider's cache. Default: the input price."""


class PricesSettings(Shape):
    """`[prices]`: model prices, used by `retinue usage` and the web app."""

    currency: Annotated[Text, Field(pattern="^[A-Z]{3}$")] = "USD"
    """Currency of all prices, as a three-letter code."""
    models: Mapping[str, PriceSettings] = {}
    """Prices by `provider:model`. Usage of other models is reported without a cost."""


class Settings(Shape):
    """The whole of `retinue.toml`."""

    foreign: ClassVar[Mapping[str, str]] = {
        "mcp_servers": "write each server as a table [mcp.<name>]",
        "port": "write it in [server]",
        "host": "write it in [server]",
    }

    model: Text = "offline"
    """Model of definitions and prompts that set none."""
    providers: Mapping[str, ProviderSettings] = {}
    server: ServerSettings = Field(default_factory=ServerSettings)
    agents: AgentsSettings = Field(default_factory=AgentsSettings)
    limits: LimitsSettings = Field(default_factory=LimitsSettings)
    mcp: Mapping[str, McpSettings] = {}
    tools: ToolsSettings = Field(default_factory=ToolsSettings)
    cron: tuple[CronSettings, ...] = ()
    heartbeat: HeartbeatSettings = Field(default_factory=HeartbeatSettings)
    prices: PricesSettings = Field(default_factory=PricesSettings)
    timezone: Annotated[Text, AfterValidator(_zone)] | None = None
    """IANA time zone of schedules that set none. Default: the time zone of the machine."""
    env: Mapping[str, Secret] = {}
    """Values of variables for the whole installation."""
    key: Secret | None = None
    """Key that encrypts stored variables. Default: generated when needed and stored in
    `.retinue/key`."""

    @field_validator("cron")
    @classmethod
    def _ids_differ(cls, cron: tuple[CronSettings, ...]) -> tuple[CronSettings, ...]:
        ids = [entry.id or slug_of(entry.title) for entry in cron]
        twice = sorted({entry for entry in ids if ids.count(entry) > 1})
        if twice:
            raise ValueError(
                f"the id {twice[0]!r} is used twice: set a different id for each entry"
            )
        return cron

    @field_validator("mcp")
    @classmethod
    def _names_make_tool_names(cls, mcp: Mapping[str, McpSettings]) -> Mapping[str, McpSettings]:
        for name in mcp:
            # Tools are named mcp_<name>_<tool>, so they cannot shadow built-in tools.
            if not _SERVER_NAME.fullmatch(name):
                raise ValueError(
                    f"expected names of at most 32 letters, digits, '_' or '-', got {name!r}"
                )
        return mcp

    _project_dir: Path = PrivateAttr(default=Path())
    _warnings: tuple[str, ...] = PrivateAttr(default=())

    @property
    def project_dir(self) -> Path:
        return self._project_dir

    @property
    def data_dir(self) -> Path:
        return data_directory(self._project_dir)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Unknown and deprecated keys."""
        return self._warnings

    def located(self, project_dir: Path, warnings: tuple[str, ...]) -> "Settings":
        """Return a copy with the project directory and the warnings set."""
        settings = self.model_copy()
        settings._project_dir = project_dir
        settings._warnings = warnings
        return settings


def data_directory(project_dir: Path) -> Path:
    return project_dir / ".retinue"
