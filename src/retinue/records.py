"""The records of a history: messages, model responses, tool results and notes.

A record is one JSON line. Unknown kinds and fields are preserved, so that records of a newer
version survive being read, mirrored and exported by this one.
"""

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from retinue.ids import AgentId, CallId, ItemId

_NO_TIME = datetime.fromtimestamp(0, UTC)


class FileReference(Struct, frozen=True, kw_only=True, rename="camel"):
    """A reference in a message to a file of the agent."""

    id: str
    name: str
    mime_type: str
    size: int
    path: str  # within the agent's folder, with a leading slash


class Usage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Tokens of one model call, as reported by the provider."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class ModelUsage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Tokens of one model call that a tool made."""

    model: str
    usage: Usage


class TextPart(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="text"):
    """Text from the model."""

    text: str


class ThinkingPart(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="type",
    tag="thinking",
    omit_defaults=True,
):
    """Reasoning from the model, with the provider's signature if there is one."""

    text: str
    signature: str | None = None
    provider: dict[str, Any] | None = None  # opaque; returned unchanged to the same provider


class CallPart(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="type",
    tag="call",
    omit_defaults=True,
):
    """A tool call requested by the model."""

    id: CallId
    name: str
    arguments: dict[str, Any] = {}
    malformed: str | None = None  # the raw arguments, if they were not a JSON object
    provider: dict[str, Any] | None = None


Part = TextPart | ThinkingPart | CallPart

ToolStatus = Literal[
    "ok",
    "error",
    "refused",
    "cancelled",
    "interrupted",
    "unknown",
    "skipped",
    "pending",
    "erased",
]
"""How a call ended. `unknown`: it may or may not have taken effect. `pending`: the outcome will
arrive as a separate message. `erased`: a hook removed the call from the context."""


class Record(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    omit_defaults=True,
):
    """One line of a history. `seq` and `at` are set when the record is committed."""

    v: int = field(default_factory=lambda: 1)
    seq: int = 0
    at: datetime = _NO_TIME


class StartRecord(Record, frozen=True, kw_only=True, tag="start"):
    """The start of an agent's history."""


class ResetRecord(Record, frozen=True, kw_only=True, tag="reset"):
    """The context was cleared; it starts after this record."""

    reason: str = ""


class UserRecord(Record, frozen=True, kw_only=True, tag="user"):
    """A person's message."""

    item: ItemId
    text: str
    files: list[FileReference] = []
    sender: str = ""  # the author's name, as the client gave it
    to: str = ""  # the addressed side, if both sides are models


class SystemRecord(Record, frozen=True, kw_only=True, tag="system"):
    """A message from another agent or from the engine, never from a person."""

    text: str
    origin: str
    item: ItemId | None = None
    silent: bool = False
    files: list[FileReference] = []
    to: str = ""  # the addressed side; both, if empty


class AssistantRecord(Record, frozen=True, kw_only=True, tag="assistant"):
    """One complete model response; its tool calls are run after it is committed."""

    parts: list[Part]
    model: str
    usage: Usage | None = None
    finish: str = ""
    duration_ms: int = 0
    provider: dict[str, Any] | None = None  # opaque, such as response ids
    side: str = ""  # the speaker, if both sides are models

    @property
    def text(self) -> str:
        return "".join([part.text for part in self.parts if isinstance(part, TextPart)])

    @property
    def calls(self) -> list[CallPart]:
        return [part for part in self.parts if isinstance(part, CallPart)]


class ToolRecord(Record, frozen=True, kw_only=True, tag="tool"):
    """The result of one tool call."""

    call: CallId
    name: str
    status: ToolStatus
    text: str
    files: list[FileReference] = []
    duration_ms: int = 0
    cut: int = 0  # characters of output that were cut off
    agent: AgentId | None = None  # the subagent that it started or messaged
    asked: list[ModelUsage] = []  # model calls that the tool made


class SummaryRecord(Record, frozen=True, kw_only=True, tag="summary"):
    """A summary that replaces everything before `keep_from` in the context."""

    text: str
    keep_from: int  # the first record that is kept verbatim
    reason: Literal["warning", "critical", "emergency", "overflow", "command"]
    model: str = ""
    usage: Usage | None = None
    tokens_before: int = 0
    tokens_after: int = 0


class NoteRecord(Record, frozen=True, kw_only=True, tag="note"):
    """A notice for people that is not shown to the model."""

    code: str  # stable: "stopped", "failed", "retrying", "steps", ...
    text: str
    item: ItemId | None = None
    until: datetime | None = None  # for "retrying": when the next attempt is due
    agent: AgentId | None = None  # for "switched": the agent that the person continues with


class RunRecord(Record, frozen=True, kw_only=True, tag="run"):
    """The end of a run: the result or failure that is reported to its initiator."""

    outcome: Literal["completed", "failed"]
    code: str  # "session_stop", "session_fail", "max_session_turns", ...
    text: str
    files: list[FileReference] = []
    turns: int = 0
    steps: int = 0


class HandoffRecord(Record, frozen=True, kw_only=True, tag="handoff"):
    """Another definition takes over the conversation, optionally with instructions."""

    source: str  # the definition that was active until here
    target: str
    text: str = ""
    files: list[FileReference] = []


class UnknownRecord(Struct, frozen=True, kw_only=True):
    """A record of an unknown kind, preserved as it was read."""

    seq: int
    at: datetime
    kind: str
    raw: bytes


KnownRecord = (
    StartRecord
    | ResetRecord
    | UserRecord
    | SystemRecord
    | AssistantRecord
    | ToolRecord
    | SummaryRecord
    | NoteRecord
    | RunRecord
    | HandoffRecord
)
AnyRecord = KnownRecord | UnknownRecord


class _Head(Struct, rename="camel"):
    seq: int = 0
    at: datetime = _NO_TIME
    kind: str = ""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(KnownRecord)
_head = msgspec.json.Decoder(_Head)


def encode_record(record: AnyRecord) -> bytes:
    """Encode a record as one JSON line, without the newline."""
    return record.raw if isinstance(record, UnknownRecord) else _encoder.encode(record)


def decode_record(line: bytes) -> AnyRecord:
    """Decode one JSON line. Raises `msgspec.DecodeError` if it is not JSON."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        head = _head.decode(line)
        return UnknownRecord(seq=head.seq, at=head.at, kind=head.kind, raw=bytes(line))
