"""What is said: content, tool calls, and the records that a history is made of.

A record is one JSON line. Readers keep what they do not know: a kind or a field written by a newer
version survives being read, mirrored and exported by this one.
"""

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from retinue.ids import AgentId, CallId, ItemId

_NO_TIME = datetime.fromtimestamp(0, UTC)


class FileReference(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file in an agent's own tree, as messages carry it."""

    id: str
    name: str
    mime_type: str
    size: int
    path: str  # inside the agent's tree, with a leading slash


class Usage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Tokens of one model call, as the provider reported them."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    @property
    def total(self) -> int:
        return self.input + self.output + self.cache_read + self.cache_write


class ModelUsage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Tokens of one call of a model that a tool asked."""

    model: str
    usage: Usage


class TextPart(Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="text"):
    """What the model said."""

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
    """What the model thought, with the provider's signature where it has one."""

    text: str
    signature: str | None = None
    provider: dict[str, Any] | None = None  # opaque: given back to the same provider unchanged


class CallPart(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="type",
    tag="call",
    omit_defaults=True,
):
    """A tool call that the model asked for."""

    id: CallId
    name: str
    arguments: dict[str, Any] = {}
    malformed: str | None = None  # the text of arguments that were not a JSON object
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
"""How a call ended; `unknown` = it may have happened, and nobody can tell; `pending` = its outcome
will come as a message of its own; `erased` = a hook made it as if it had never been asked for."""


class Record(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    tag_field="kind",
    omit_defaults=True,
):
    """One line of history. `seq` and `at` are stamped when the record is committed."""

    v: int = field(default_factory=lambda: 1)
    seq: int = 0
    at: datetime = _NO_TIME


class StartRecord(Record, frozen=True, kw_only=True, tag="start"):
    """The agent begins."""


class ResetRecord(Record, frozen=True, kw_only=True, tag="reset"):
    """Nothing before this is in the context any more."""

    reason: str = ""


class UserRecord(Record, frozen=True, kw_only=True, tag="user"):
    """A person's message."""

    item: ItemId
    text: str
    files: list[FileReference] = []
    sender: str = ""  # who wrote it, as the door knows them
    to: str = ""  # the side that it is for, where both are models


class SystemRecord(Record, frozen=True, kw_only=True, tag="system"):
    """A message from another agent or from the engine; never a person's words."""

    text: str
    origin: str
    item: ItemId | None = None
    silent: bool = False
    files: list[FileReference] = []
    to: str = ""  # the side that it is for; both, when it names none


class AssistantRecord(Record, frozen=True, kw_only=True, tag="assistant"):
    """One model response, whole; its calls are the intent to run them."""

    parts: list[Part]
    model: str
    usage: Usage | None = None
    finish: str = ""
    duration_ms: int = 0
    provider: dict[str, Any] | None = None  # opaque: response ids and the like
    side: str = ""  # who spoke, where both sides are models

    @property
    def text(self) -> str:
        return "".join([part.text for part in self.parts if isinstance(part, TextPart)])

    @property
    def calls(self) -> list[CallPart]:
        return [part for part in self.parts if isinstance(part, CallPart)]


class ToolRecord(Record, frozen=True, kw_only=True, tag="tool"):
    """The result of one call."""

    call: CallId
    name: str
    status: ToolStatus
    text: str
    files: list[FileReference] = []
    duration_ms: int = 0
    cut: int = 0  # characters of output that were left out
    agent: AgentId | None = None  # the subagent that it began or wrote to
    asked: list[ModelUsage] = []  # models, on the way to the result


class SummaryRecord(Record, frozen=True, kw_only=True, tag="summary"):
    """Stands in the context for everything before `keep_from`."""

    text: str
    keep_from: int  # the first record that stays verbatim
    reason: Literal["warning", "critical", "emergency", "overflow", "command"]
    model: str = ""
    usage: Usage | None = None
    tokens_before: int = 0
    tokens_after: int = 0


class NoteRecord(Record, frozen=True, kw_only=True, tag="note"):
    """Something people should see and the model should not."""

    code: str  # stable: "stopped", "failed", "retrying", "steps", ...
    text: str
    item: ItemId | None = None
    until: datetime | None = None  # for "retrying": when the next attempt is due
    agent: AgentId | None = None  # for "switched": with whom the person goes on


class RunRecord(Record, frozen=True, kw_only=True, tag="run"):
    """The end of a run: the result or the failure that whoever began it is told."""

    outcome: Literal["completed", "failed"]
    code: str  # "session_stop", "session_fail", "max_session_turns", ...
    text: str
    files: list[FileReference] = []
    turns: int = 0
    steps: int = 0


class HandoffRecord(Record, frozen=True, kw_only=True, tag="handoff"):
    """Another definition goes on with the conversation; it may be told something first."""

    source: str  # the definition that acted until here
    target: str
    text: str = ""
    files: list[FileReference] = []


class UnknownRecord(Struct, frozen=True, kw_only=True):
    """A record of a kind that this version does not know, kept as it was read."""

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
    """Give the record as one JSON line, without the newline."""
    return record.raw if isinstance(record, UnknownRecord) else _encoder.encode(record)


def decode_record(line: bytes) -> AnyRecord:
    """Read one JSON line; raises `msgspec.DecodeError` when it is not JSON at all."""
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError:
        head = _head.decode(line)
        return UnknownRecord(seq=head.seq, at=head.at, kind=head.kind, raw=bytes(line))
