"""What an operator can set, table by table, with the defaults."""

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
        raise ValueError("references such as ${secret:NAME} are not read in this key")
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
        raise ValueError(f"expected small letters, digits and '-', such as {slug_of(text)!r}")
    return text


def slug_of(text: str) -> str:
    """Make a short name of a title, fit for an id."""
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
    """`[providers.<name>]`: where models come from; used as `<name>:<model>`."""

    kind: Text | None = None
    """openai, anthropic, google, ollama, openai-compatible ...; the table's own name if absent"""
    api: Literal["chat", "responses"] = "chat"
    """which API of OpenAI is called; only for kind openai"""
    base_url: Template | None = None
    """where an OpenAI-compatible server answers, with its /v1"""
    api_key: Secret | None = None
    models: tuple[Text, ...] = ()
    """what it serves; empty if it is to be asked"""
    headers: Mapping[str, Secret] = {}
    """sent with every request"""
    context_window: Positive | None = None
    """tokens, for models that nobody knows the window of"""

    @model_validator(mode="after")
    def _is_reachable(self) -> "ProviderSettings":
        if self.kind == "openai-compatible" and self.base_url is None:
            raise ValueError("kind 'openai-compatible' needs a base_url")
        return self


class ServerSettings(Shape):
    """`[server]`: the door."""

    host: Text = "127.0.0.1"
    port: Annotated[StrictInt, Field(ge=0, le=65535)] = 8420
    """0 takes any free one"""
    token: Secret | None = None
    """absent: made at the first start and kept in .retinue/token"""
    allowed_hosts: tuple[Text, ...] = ()
    """further names under which the server is reached; loopback names always pass"""
    allowed_origins: tuple[Text, ...] = ()
    """further origins of web pages that may call it; its own always passes"""


class AgentsSettings(Shape):
    """`[agents]`: what holds for all of them."""

    emergency_context_limit: Positive = 200_000
    """tokens; the model's own window when that is smaller"""
    default_definition: Text | None = None
    """who answers when nobody is named; absent: `assistant`, else the first visible one"""
    system_tags: Mapping[str, Text] = {}
    """the tags that system agents can be reached by, with the definition of each"""
    swarms: Mapping[str, Text] = {}
    """the swarms there are, with the definition of their agents: one for each contact"""


class LimitsSettings(Shape):
    """`[limits]`: where the engine says no, and how long it waits."""

    delegation_depth: Count = 3
    message_hops: Positive = 40
    """how often agents may pass messages on before a person has to say something"""
    subagent_depth: Positive = 8
    live_children: Positive = 32
    """for each parent"""
    foreground_concurrency: Positive = 256
    """agents that answer people at the same time"""
    background_concurrency: Positive = 64
    """all other agents that run at the same time"""
    steps_per_run: Positive = 250
    message_chars: Positive = 200_000
    upload_bytes: Positive = 50_000_000
    tool_time_limit_seconds: Seconds = 60
    tool_output_limit_chars: Positive = 30_000
    hook_time_limit_seconds: Seconds = 30
    delegation_timeout_seconds: Seconds = 300
    """how long a sync `agents_message` waits when it does not say"""
    permission_timeout_seconds: Seconds = 86_400
    """how long a request waits for its owner before it expires"""
    pending_requests: Positive = 20
    """for each agent"""
    first_event_timeout_seconds: Seconds = 120
    """from a model request to its first event"""
    idle_timeout_seconds: Seconds = 60
    """between two events of a model's answer"""
    retry_attempts: Positive = 5
    """model calls for one step, the first included"""
    retry_minimum_seconds: Seconds = 1
    retry_maximum_seconds: Seconds = 60
    crash_attempts: Positive = 3
    """how often an item may take the process down before it is given up"""
    coalesce_window_ms: Count = 200
    """a person's messages this close together become one turn; 0: each its own"""
    warm_bytes: Positive = 268_435_456
    """memory for agents that are not running and may soon be"""

    @model_validator(mode="after")
    def _is_ordered(self) -> "LimitsSettings":
        if self.retry_minimum_seconds > self.retry_maximum_seconds:
            raise ValueError("retryMinimumSeconds is above retryMaximumSeconds")
        return self


class McpSettings(Shape):
    """`[mcp.<name>]`: one MCP server, started (`command`) or reached (`url`)."""

    command: Template | None = None
    args: tuple[Template, ...] = ()
    env: Mapping[str, Secret] = {}
    """its environment, beside PATH and HOME"""
    cwd: Text | None = None
    url: Template | None = None
    headers: Mapping[str, Secret] = {}
    enabled: StrictBool = True

    @model_validator(mode="after")
    def _has_one_transport(self) -> "McpSettings":
        if (self.command is None) == (self.url is None):
            raise ValueError("give either a command or a url")
        foreign = ("headers",) if self.url is None else ("args", "env", "cwd")
        given = [name for name in foreign if name in self.model_fields_set]
        if given:
            kind = "command" if self.url is None else "url"
            raise ValueError(f"{', '.join(given)} cannot be used with a {kind}")
        return self


class ShellSettings(Shape):
    """`[tools.shell]`: commands in a sandbox."""

    enabled: StrictBool = True
    time_limit_seconds: Seconds = 120


class WebFetchSettings(Shape):
    """`[tools.webFetch]`: pages for agents."""

    enabled: StrictBool = True
    allowed_hosts: tuple[Text, ...] = ()
    """hosts (`*` is a wildcard) that may be fetched although their address is private"""
    max_bytes: Positive = 5_000_000
    time_limit_seconds: Seconds = 30


class ToolsSettings(Shape):
    """`[tools]`: the built-in tools that have something to set."""

    shell: ShellSettings = Field(default_factory=ShellSettings)
    web_fetch: WebFetchSettings = Field(default_factory=WebFetchSettings)


class WatchSettings(Shape):
    """`watch = {...}`: what is looked at before anybody is woken; one of these."""

    file: Text | None = None
    """a path in the project"""
    command: Text | None = None
    """its output, in a sandbox"""
    url: Text | None = None
    list: Text | None = None
    """a list, for its items that are due"""

    @model_validator(mode="after")
    def _is_one(self) -> "WatchSettings":
        if len(self.model_fields_set) != 1:
            raise ValueError("give one of file, command, url and list")
        return self


class CronSettings(Shape):
    """`[[cron]]`: something that is to happen again and again."""

    synonyms: ClassVar[Mapping[str, str]] = {"cron": "schedule"}

    title: Text
    prompt: Text
    """what its agent is told each time"""
    schedule: Annotated[Text, AfterValidator(_cron_line)]
    """minute, hour, day, month, weekday"""
    id: Annotated[Text, AfterValidator(_schedule_id)] | None = None
    """absent: made of the title"""
    timezone: Annotated[Text, AfterValidator(_zone)] | None = None
    """absent: that of all schedules"""
    definition: Text | None = None
    catch_up: Literal["skip", "once"] = "skip"
    """what to do about times that passed while the server was down"""
    watch: WatchSettings | None = None
    paused: StrictBool = False


class HeartbeatSettings(Shape):
    """`[heartbeat]`: the tasks in `heartbeat/*.md`."""

    enabled: StrictBool = True
    every: Annotated[Text, AfterValidator(_interval)] = "30m"
    """for tasks that do not say how often"""
    definition: Text | None = None
    """of the agent that does them"""
    context_limit: Positive = 20_000
    """tokens; with more than that in its context, the agent begins anew before the next batch"""


class PriceSettings(Shape):
    """`[prices.models."<provider>:<model>"]`: what a million tokens of it cost."""

    input: Price
    output: Price
    cache_read: Price | None = None
    """of tokens that were in the provider's cache; absent: as much as input"""
    cache_write: Price | None = None
    """of tokens that were put there; absent: as much as input"""


class PricesSettings(Shape):
    """`[prices]`: what models cost, for `retinue usage` and the web app."""

    currency: Annotated[Text, Field(pattern="^[A-Z]{3}$")] = "USD"
    models: Mapping[str, PriceSettings] = {}
    """by `provider:model`, as histories name them; usage of others is told without a cost"""


class Settings(Shape):
    """All of `retinue.toml` and `RETINUE_...`."""

    foreign: ClassVar[Mapping[str, str]] = {
        "mcp_servers": "write each server as a table [mcp.<name>]",
        "port": "write it in [server]",
        "host": "write it in [server]",
    }

    model: Text = "offline"
    """for definitions and prompts that name none"""
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
    """of schedules that name none; absent: the machine's"""
    env: Mapping[str, Secret] = {}
    """values of variables for the whole installation"""
    key: Secret | None = None
    """what variables are sealed with on disk; absent: made when needed, kept in .retinue/key"""

    @field_validator("cron")
    @classmethod
    def _ids_differ(cls, cron: tuple[CronSettings, ...]) -> tuple[CronSettings, ...]:
        ids = [entry.id or slug_of(entry.title) for entry in cron]
        twice = sorted({entry for entry in ids if ids.count(entry) > 1})
        if twice:
            raise ValueError(f"the id {twice[0]!r} is used twice: give each entry its own id")
        return cron

    @field_validator("mcp")
    @classmethod
    def _names_make_tool_names(cls, mcp: Mapping[str, McpSettings]) -> Mapping[str, McpSettings]:
        for name in mcp:
            # Its tools are called mcp_<name>_<tool>, so none can pass for one of the engine's own.
            if not _SERVER_NAME.fullmatch(name):
                raise ValueError(
                    f"expected names of letters, digits, '_' and '-', at most 32 of them, "
                    f"got {name!r}"
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
        """What was read and not understood, or understood and not advised."""
        return self._warnings

    def located(self, project_dir: Path, warnings: tuple[str, ...]) -> "Settings":
        """Give these settings their place on disk and what there is to say about them."""
        settings = self.model_copy()
        settings._project_dir = project_dir
        settings._warnings = warnings
        return settings


def data_directory(project_dir: Path) -> Path:
    return project_dir / ".retinue"
