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
    name: str | None = None
    pinned_at: datetime | None = None
    last_user_activity_at: datetime | None = None
    title: str | None = None
    last_snippet: str | None = None
    model: str | None = None
    retry_at: datetime | None = None
    attributes: dict[str, Any] = {}


class AgentEvent(_Event, frozen=True, kw_only=True, tag="agent"):
    """An agent was created or something about it changed."""

    cursor: int
    agent_id: str
    agent: AgentView


class AgentDeletedEvent(_Event, frozen=True, kw_only=True, tag="agent_deleted"):
    """An agent is gone."""

    cursor: int
    agent_id: str


class StepEvent(_Event, frozen=True, kw_only=True, tag="step"):
    """A model call began, or what it had streamed was thrown away (a retry, a stop)."""

    agent_id: str
    step: str
    state: Literal["started", "discarded"]
    model: str = ""


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


LiveEvent = StepEvent | DeltaEvent | ToolEvent | DefinitionsEvent | SchedulesEvent
CommittedEvent = RecordEvent | ItemEvent | AgentEvent | AgentDeletedEvent
Event = HelloEvent | ResyncEvent | CommittedEvent | LiveEvent

_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    return _encoder.encode(event)
