"""The pieces of a displayed conversation, the same for history and live output."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from retinue.agents.inbox import seen_text
from retinue.cli.phrases import arguments_line, milliseconds, plural
from retinue.cli.request_text import card, settled_line
from retinue.clock import SystemClock
from retinue.events import RequestView
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    HandoffRecord,
    NoteRecord,
    ResetRecord,
    RunRecord,
    SummaryRecord,
    SystemRecord,
    TextPart,
    ThinkingPart,
    ToolRecord,
    ToolStatus,
    UserRecord,
)

_ARGUMENTS_LENGTH = 100

PieceKind = Literal[
    "user", "text", "thinking", "call", "tool", "system", "notice", "problem", "rule"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One element to show; `label` names its author or tool."""

    kind: PieceKind
    text: str
    label: str = ""
    status: ToolStatus | None = None
    took: str = ""
    at: datetime | None = None
    seq: int = 0


def pieces_of(record: AnyRecord, calls: Mapping[str, CallPart]) -> list[Piece]:
    """Return a record's pieces; `calls` holds the calls that a result may belong to."""
    at, seq = record.at, record.seq
    match record:
        case UserRecord():
            names = "".join(f"\n[{file.name}]" for file in record.files)
            text = seen_text(record.text, record.sender)
            label = (
                record.sender if text is record.text else f"{record.sender or 'user'}, with context"
            )
            return [Piece(kind="user", text=text + names, label=label, at=at, seq=seq)]
        case SystemRecord():
            label = f"{record.origin} (silent)" if record.silent else record.origin
            return [Piece(kind="system", text=record.text, label=label, at=at, seq=seq)]
        case AssistantRecord():
            return _answer_pieces(record)
        case ToolRecord():
            return [tool_piece(record, calls.get(record.call))]
        case SummaryRecord():
            label = f"summarised: {record.tokens_before:,} → {record.tokens_after:,} tokens"
            return [Piece(kind="notice", text=record.text, label=label, at=at, seq=seq)]
        case NoteRecord():
            return [note_piece(record)]
        case RunRecord():
            label = f"run {record.outcome} ({record.code})"
            return [Piece(kind="notice", text=record.text, label=label, at=at, seq=seq)]
        case HandoffRecord():
            label = f"handed off to {record.target}"
            names = "".join(f"\n[{file.name}]" for file in record.files)
            return [Piece(kind="notice", text=record.text + names, label=label, at=at, seq=seq)]
        case ResetRecord():
            return [Piece(kind="rule", text="conversation reset", at=at, seq=seq)]
        case _:
            return []


def _answer_pieces(record: AssistantRecord) -> list[Piece]:
    pieces: list[Piece] = []
    for part in record.parts:
        match part:
            case TextPart():
                if part.text.strip():
                    piece = Piece(kind="text", text=part.text, at=record.at, seq=record.seq)
                    pieces.append(piece)
            case ThinkingPart():
                if part.text.strip():
                    piece = Piece(kind="thinking", text=part.text, at=record.at, seq=record.seq)
                    pieces.append(piece)
            case CallPart():
                pass  # shown with its result
    return pieces


def call_line(call: CallPart) -> str:
    """Format a call on one line: its name and arguments."""
    given = call.malformed or arguments_line(call.arguments, _ARGUMENTS_LENGTH)
    return f"{call.name}({given})"


def tool_piece(record: ToolRecord, call: CallPart | None) -> Piece:
    """Return a call with its result."""
    cut = f"\n({plural(record.cut, 'character')} left out)" if record.cut else ""
    files = "".join(f"\n[{file.path}]" for file in record.files)
    return Piece(
        kind="tool",
        text=record.text + cut + files,
        label=call_line(call) if call else record.name,
        status=record.status,
        took=milliseconds(record.duration_ms) if record.duration_ms else "",
        at=record.at,
        seq=record.seq,
    )


_CALM_NOTES = frozenset({"stopped", "reset", "compacted", "restarted", "switched"})


def note_piece(record: NoteRecord) -> Piece:
    kind: PieceKind = "notice" if record.code in _CALM_NOTES else "problem"
    text = record.text or record.code
    if record.code == "retrying":
        kind = "notice"
        if record.until:
            text = f"{text.rstrip('.')}. Trying again at {record.until.astimezone():%H:%M:%S}."
    return Piece(kind=kind, text=text, at=record.at, seq=record.seq)


def request_piece(request: RequestView) -> Piece:
    """Return a pending request in full, or the outcome of a settled one."""
    now = SystemClock().now()
    if request.status == "pending":
        return Piece(kind="notice", text="\n".join(card(request, now)))
    return Piece(kind="notice", text=f"{request.kind} {settled_line(request, now)}")
