"""What the engine announces, to every door alike.

Committed facts carry a cursor and can be replayed from it. Live output (deltas, progress) rides
beside them, has no cursor, and is never needed: what it showed arrives again as a record.
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
    """The first event of a stream: where it begins."""

    cursor: int


class ResyncEvent(_Event, frozen=True, kw_only=True, tag="resync"):
    """The cursor is too old to be replayed: read lists and histories anew, then go on from here."""

    cursor: int


class RecordEvent(_Event, frozen=True, kw_only=True, tag="record"):
    """A record was appended."""

    cursor: int
    agent_id: str
    record: msgspec.Raw


class ItemView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An item as doors show it."""

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
    """An item was admitted or its fate changed."""

    cursor: int
    agent_id: str
    item: ItemView


class WaitView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A call of the turn that goes on whose result comes later."""

    call: str
    reason: str  # "child" = another agent works on it; else what a person has to decide
    agent_id: str | None = None  # who works on it
    item_id: str | None = None  # on which message
    request: str | None = None  # which permission or question it is about
    until: datetime | None = None  # when it is no longer waited for


class ChildView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A subagent as its parent's registry has it."""

    agent_id: str
    definition: str
    lifecycle: Literal["running", "idle", "failed", "terminated"]
    name: str = ""
    status_text: str = ""  # what it says about what it does
    failure: str = ""  # why its last run gave no result
    is_resumable: bool = False
    is_blocking: bool = False


class AgentView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An agent as lists show it."""

    id: str
    kind: str
    definition: str
    lifecycle: Literal["awake", "resting", "sleeping", "terminated"]
    """awake = at work or about to be; resting = idle and in memory; sleeping = only on disk"""
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
    """One time of a schedule, and what became of it."""

    due_at: datetime
    at: datetime
    status: Literal["fired", "run_now", "skipped_overlap", "skipped_missed", "failed"]
    reason: str
    difference: str  # what its watch saw that woke the agent
    message_id: str | None
    agent_id: str | None
    fate: str | None
    fate_reason: str
    ended_at: datetime | None


class WatchView(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is looked at, and how the last look went."""

    kind: Literal["file", "command", "url", "list"]
    what: str
    checked_at: datetime | None
    changed_at: datetime | None
    problem: str


class ScheduleView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A schedule as doors show it."""

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
    """A heartbeat task as doors show it."""

    id: str
    title: str
    prompt: str
    every_seconds: float
    watch: WatchView | None
    next_at: datetime | None
    last_run_at: datetime | None


class TaskProblemView(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file of the heartbeat that does not load."""

    file: str
    message: str
    using_last_good: bool


class HeartbeatView(Struct, frozen=True, kw_only=True, rename="camel"):
    """The heartbeat: its tasks, its last batches, and what is wrong with it."""

    enabled: bool
    tasks: list[TaskView]
    problems: list[TaskProblemView]
    runs: list[SlotView]
    agent_id: str | None
    problem: str


class AgentEvent(_Event, frozen=True, kw_only=True, tag="agent"):
    """An agent was created or something about it changed."""

    cursor: int
    agent_id: str
    agent: AgentView


class FieldView(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A field of a form; `minimum` and `maximum` count characters where the value is text."""

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
    """A question to the owner as doors show it: whole, and with nothing hidden in it."""

    id: str
    agent_id: str
    kind: Literal["permission", "approval", "question", "variables"]
    status: Literal["pending", "allowed", "denied", "answered", "expired", "void"]
    headline: str  # what the agent wants, in one line
    consequence: str  # what allowing it means
    created_at: datetime
    expires_at: datetime
    call: str
    digest: str  # of what exactly is decided
    requester: str = ""  # the agent's name
    definition: str = ""
    is_background: bool = False
    permission: str = ""
    reason: str = ""
    tool: str = ""
    arguments: str = ""  # all of them, as indented JSON
    title: str = ""
    fields: list[FieldView] = []  # of the form to fill in
    decided_at: datetime | None = None
    decided_by: str = ""
    note: str = ""
    values: dict[str, Any] = {}  # what a form was filled in with


class RequestEvent(_Event, frozen=True, kw_only=True, tag="request"):
    """A question to the owner was asked, decided, or closed without a decision."""

    cursor: int
    agent_id: str
    request: RequestView


class AgentDeletedEvent(_Event, frozen=True, kw_only=True, tag="agent_deleted"):
    """An agent is gone."""

    cursor: int
    agent_id: str


class ArtifactEvent(_Event, frozen=True, kw_only=True, tag="artifact"):
    """A list, an item, a note or a view was made, changed or removed; only its owner is told.

    What happens to a whole list happens to its items, which are not told of one by one.
    """

    cursor: int
    kind: Literal["list", "item", "note", "view"]
    id: str
    action: Literal["created", "changed", "removed"]
    version: int  # that it has now, or had last
    change: str  # the id under which it can be undone
    list: str | None = None  # of an item
    by: str | None = None  # the agent that did it; its owner, if left out


class StepEvent(_Event, frozen=True, kw_only=True, tag="step"):
    """A model call began, or what it had streamed was thrown away (a retry, a stop)."""

    agent_id: str
    step: str
    state: Literal["started", "discarded"]
    model: str = ""
    side: str = ""  # who speaks, where both sides are models


class DeltaEvent(_Event, frozen=True, kw_only=True, tag="delta"):
    """More of the response that is being streamed."""

    agent_id: str
    step: str
    part: int
    kind: Literal["text", "thinking", "call"]
    text: str
    name: str = ""


class ToolEvent(_Event, frozen=True, kw_only=True, tag="tool"):
    """A tool began or shows progress."""

    agent_id: str
    call: str
    name: str
    state: Literal["started", "progress"]
    text: str = ""


class DefinitionsEvent(_Event, frozen=True, kw_only=True, tag="definitions"):
    """Definitions or their load errors changed: read them anew."""


class SchedulesEvent(_Event, frozen=True, kw_only=True, tag="schedules"):
    """Schedules, heartbeat tasks or what they watch changed: read them anew."""


class ShowEvent(_Event, frozen=True, kw_only=True, tag="show"):
    """One window is asked to open a list, a note or a view; the others leave it alone.

    The window tells in its next inventory what it made of it. Until then it may be asked again
    under the same id, which it follows once.
    """

    show: str  # the id of this request
    window_id: str
    kind: Literal["list", "item", "note", "view"]
    id: str
    name: str
    panel_id: str | None = None  # in which panel; whichever the window has, if left out
    by: str | None = None  # the agent that asks; its owner, if left out


LiveEvent = StepEvent | DeltaEvent | ToolEvent | DefinitionsEvent | SchedulesEvent | ShowEvent
CommittedEvent = (
    RecordEvent | ItemEvent | RequestEvent | AgentEvent | AgentDeletedEvent | ArtifactEvent
)
Event = HelloEvent | ResyncEvent | CommittedEvent | LiveEvent

_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    return _encoder.encode(event)
