"""What a reader of a conversation sees: history and live output become the same pieces."""

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
    """One thing to show; `label` says whose or which it is."""

    kind: PieceKind
    text: str
    label: str = ""
    status: ToolStatus | None = None
    took: str = ""
    at: datetime | None = None
    seq: int = 0


def pieces_of(record: AnyRecord, calls: Mapping[str, CallPart]) -> list[Piece]:
    """Give a whole record as pieces; `calls` are the calls that a result may belong to."""
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
            label = f"{record.origin}, silently" if record.silent else record.origin
            return [Piece(kind="system", text=record.text, label=label, at=at, seq=seq)]
        case AssistantRecord():
            return _answer_pieces(record)
        case ToolRecord():
            return [tool_piece(record, calls.get(record.call))]
        case SummaryRecord():
            label = f"summed up: {record.tokens_before:,} → {record.tokens_after:,} tokens"
            return [Piece(kind="notice", text=record.text, label=label, at=at, seq=seq)]
        case NoteRecord():
            return [note_piece(record)]
        case RunRecord():
            label = f"the run {record.outcome} ({record.code})"
            return [Piece(kind="notice", text=record.text, label=label, at=at, seq=seq)]
        case HandoffRecord():
            label = f"{record.target} goes on"
            names = "".join(f"\n[{file.name}]" for file in record.files)
            return [Piece(kind="notice", text=record.text + names, label=label, at=at, seq=seq)]
        case ResetRecord():
            return [Piece(kind="rule", text="the conversation begins anew", at=at, seq=seq)]
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
    """A call on one line: its name and what it was given."""
    given = call.malformed or arguments_line(call.arguments, _ARGUMENTS_LENGTH)
    return f"{call.name}({given})"


def tool_piece(record: ToolRecord, call: CallPart | None) -> Piece:
    """A call with its result."""
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
    """What is asked, whole; or, when it is over, how it ended."""
    now = SystemClock().now()
    if request.status == "pending":
        return Piece(kind="notice", text="\n".join(card(request, now)))
    return Piece(kind="notice", text=f"{request.kind} {settled_line(request, now)}")
