"""Events that the engine publishes to all subscribers.

Committed events have a cursor and can be replayed from it. Live output (deltas, progress) has no
cursor and can be ignored: its content arrives again as a record.
"""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct


class _Event(
    Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", omit_defaults=True
):
    pass


class HelloEvent(_Event, frozen=True, kw_only=True, tag="hello"):
    """The first event of a stream, with its start position."""

    cursor: int


class ResyncEvent(_Event, frozen=True, kw_only=True, tag="resync"):
    """The cursor is too old to replay from. Reload lists and histories, then continue from here."""

    cursor: int


class RecordEvent(_Event, frozen=True, kw_only=True, tag="record"):
    """A record was appended."""

    cursor: int
    agent_id: str
    record: msgspec.Raw


class ItemView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An inbox item as clients see it."""

    id: str
    agent_id: str
    seq: int
    kind: str
    text: str
    fate: str
    at: datetime
    sender: dict[str, Any]
    silent: bool = False
    reason: str = ""
    files: list[Any] = []
    reply_seq: int | None = None
    ended_at: datetime | None = None


class ItemEvent(_Event, frozen=True, kw_only=True, tag="item"):
    """An item was added to an inbox, or its fate changed."""

    cursor: int
    agent_id: str
    item: ItemView


class WaitView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tool call in the current turn that waits for its result."""

    call: str
    reason: str  # "child" = another agent is working on it; else the kind of request to the owner
    agent_id: str | None = None  # the agent that is working on it
    item_id: str | None = None  # the message that agent received
    request: str | None = None  # the id of the permission or question
    until: datetime | None = None  # when the wait times out


class ChildView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A subagent as listed in its parent's registry."""

    agent_id: str
    definition: str
    lifecycle: Literal["running", "idle", "failed", "terminated"]
    name: str = ""
    status_text: str = ""  # its own description of its current work
    failure: str = ""  # why its last run returned no result
    is_resumable: bool = False
    is_blocking: bool = False


class AgentView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An agent as clients see it."""

    id: str
    kind: str
    definition: str
    lifecycle: Literal["awake", "resting", "sleeping", "terminated"]
    """awake = running or about to run; resting = idle and in memory; sleeping = only on disk"""
    status: Literal["running", "queued", "waiting", "resting", "terminated"]
    created_at: datetime
    updated_at: datetime
    descriptor: dict[str, Any]
    parent_id: str | None = None  # of a subagent
    queued: int = 0
    waits: list[WaitView] = []
    children: list[ChildView] = []
    name: str | None = None
    pinned_at: datetime | None = None
    last_user_activity_at: datetime | None = None
    title: str | None = None
    last_snippet: str | None = None
    model: str | None = None
    retry_at: datetime | None = None
    attributes: dict[str, Any] = {}


class SlotView(Struct, frozen=True, kw_only=True, rename="camel"):
    """One scheduled time and its outcome."""

    due_at: datetime
    at: datetime
    status: Literal["fired", "run_now", "skipped_overlap", "skipped_missed", "failed"]
    reason: str
    difference: str  # the change that the watch detected
    message_id: str | None
    agent_id: str | None
    fate: str | None
    fate_reason: str
    ended_at: datetime | None


class WatchView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The watched resource and the result of the last check."""

    kind: Literal["file", "command", "url", "list"]
    what: str
    checked_at: datetime | None
    changed_at: datetime | None
    problem: str


class ScheduleView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A schedule as clients see it."""

    id: str
    title: str
    prompt: str
    state: Literal["waiting", "running", "paused", "done"]
    cron: str | None
    at: datetime | None
    timezone: str
    catch_up: Literal["skip", "once"]
    definition: str | None
    target: str | None
    report_to: str | None
    watch: WatchView | None
    paused: bool
    source: Literal["settings", "tool", "http"]
    created_at: datetime
    next_at: datetime | None
    last: SlotView | None
    problem: str


class TaskView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A heartbeat task as clients see it."""

    id: str
    title: str
    prompt: str
    every_seconds: float
    watch: WatchView | None
    next_at: datetime | None
    last_run_at: datetime | None


class TaskProblemView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A heartbeat file that fails to load."""

    file: str
    message: str
    using_last_good: bool


class HeartbeatView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The heartbeat: its tasks, recent runs and problems."""

    enabled: bool
    tasks: list[TaskView]
    problems: list[TaskProblemView]
    runs: list[SlotView]
    agent_id: str | None
    problem: str


class AgentEvent(_Event, frozen=True, kw_only=True, tag="agent"):
    """An agent was created or changed."""

    cursor: int
    agent_id: str
    agent: AgentView


class FieldView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A form field. For text, `minimum` and `maximum` are lengths in characters."""

    name: str
    type: Literal["string", "text", "number", "integer", "boolean", "choice", "date", "secret"]
    label: str = ""
    description: str = ""
    required: bool = False
    default: str | float | bool | None = None
    choices: list[str] = []
    minimum: float | None = None
    maximum: float | None = None


class RequestView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A request to the owner as clients see it, complete and with invisible characters shown."""

    id: str
    agent_id: str
    kind: Literal["permission", "approval", "question", "variables"]
    status: Literal["pending", "allowed", "denied", "answered", "expired", "void"]
    headline: str  # what the agent requests, in one line
    consequence: str  # what happens if it is allowed
    created_at: datetime
    expires_at: datetime
    call: str
    digest: str  # hash of exactly what is being decided
    requester: str = ""  # the agent's name
    definition: str = ""
    is_background: bool = False
    permission: str = ""
    reason: str = ""
    tool: str = ""
    arguments: str = ""  # all arguments, as indented JSON
    title: str = ""
    fields: list[FieldView] = []  # the form to fill in
    decided_at: datetime | None = None
    decided_by: str = ""
    note: str = ""
    values: dict[str, Any] = {}  # the submitted form values


class RequestEvent(_Event, frozen=True, kw_only=True, tag="request"):
    """A request to the owner was created, decided, or closed without a decision."""

    cursor: int
    agent_id: str
    request: RequestView


class AgentDeletedEvent(_Event, frozen=True, kw_only=True, tag="agent_deleted"):
    """An agent was deleted."""

    cursor: int
    agent_id: str


class ArtifactEvent(_Event, frozen=True, kw_only=True, tag="artifact"):
    """A list, item, note or view was created, changed or removed. Only its owner receives this.

    A change to a whole list also applies to its items, which get no events of their own.
    """

    cursor: int
    kind: Literal["list", "item", "note", "view"]
    id: str
    action: Literal["created", "changed", "removed"]
    version: int  # its current version, or its last one if removed
    change: str  # the id for undo
    list: str | None = None  # the list of an item
    by: str | None = None  # the agent that made the change; omitted if the owner did


class StepEvent(_Event, frozen=True, kw_only=True, tag="step"):
    """A model call started, or its streamed output was discarded (because of a retry or a stop)."""

    agent_id: str
    step: str
    state: Literal["started", "discarded"]
    model: str = ""
    side: str = ""  # the speaker, if both sides are models


class DeltaEvent(_Event, frozen=True, kw_only=True, tag="delta"):
    """The next part of a streamed response."""

    agent_id: str
    step: str
    part: int
    kind: Literal["text", "thinking", "call"]
    text: str
    name: str = ""


class ToolEvent(_Event, frozen=True, kw_only=True, tag="tool"):
    """A tool call started or reported progress."""

    agent_id: str
    call: str
    name: str
    state: Literal["started", "progress"]
    text: str = ""


class DefinitionsEvent(_Event, frozen=True, kw_only=True, tag="definitions"):
    """Definitions or their load errors changed. Reload them."""


class SchedulesEvent(_Event, frozen=True, kw_only=True, tag="schedules"):
    """Schedules, heartbeat tasks or their watches changed. Reload them."""


class ShowEvent(_Event, frozen=True, kw_only=True, tag="show"):
    """A request to one window to open a list, note or view; other windows ignore it.

    The window reports the result in its next inventory. Until then the request can be repeated with
    the same id; the window acts on it once.
    """

    show: str  # the id of this request
    window_id: str
    kind: Literal["list", "item", "note", "view"]
    id: str
    name: str
    panel_id: str | None = None  # the panel to use; if omitted, the window chooses
    by: str | None = None  # the requesting agent; omitted if the owner asked


LiveEvent = StepEvent | DeltaEvent | ToolEvent | DefinitionsEvent | SchedulesEvent | ShowEvent
CommittedEvent = (
    RecordEvent | ItemEvent | RequestEvent | AgentEvent | AgentDeletedEvent | ArtifactEvent
)
Event = HelloEvent | ResyncEvent | CommittedEvent | LiveEvent

_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    return _encoder.encode(event)
