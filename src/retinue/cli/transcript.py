"""A live transcript: turns events into pieces to print, and tracks what is still running."""

from dataclasses import dataclass, field
from datetime import datetime

from retinue.agents.inbox import FINAL, seen_text
from retinue.cli.output import one_line
from retinue.cli.transcript_pieces import (
    Piece,
    call_line,
    note_piece,
    pieces_of,
    request_piece,
    tool_piece,
)
from retinue.events import (
    AgentDeletedEvent,
    AgentEvent,
    DeltaEvent,
    Event,
    ItemEvent,
    ItemView,
    RecordEvent,
    RequestEvent,
    RequestView,
    StepEvent,
    ToolEvent,
)
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    NoteRecord,
    Part,
    ResetRecord,
    TextPart,
    ToolRecord,
    UserRecord,
    decode_record,
)


@dataclass(slots=True, kw_only=True)
class StreamedPart:
    """A part of the response while it streams; its first `printed` characters were printed."""

    kind: str
    text: str = ""
    name: str = ""
    printed: int = 0

    @property
    def rest(self) -> str:
        return self.text[self.printed :]


@dataclass(slots=True, kw_only=True)
class RunningTool:
    """A call without a result yet."""

    line: str
    progress: str = ""
    is_started: bool = False


@dataclass(slots=True, kw_only=True)
class Transcript:
    """Follows one agent; repeated and late events are shown once."""

    last_seq: int = 0
    parts: dict[int, StreamedPart] = field(default_factory=dict[int, StreamedPart])
    tools: dict[str, RunningTool] = field(default_factory=dict[str, RunningTool])
    items: dict[str, ItemView] = field(default_factory=dict[str, ItemView])  # not final
    requests: dict[str, RequestView] = field(default_factory=dict[str, RequestView])  # pending
    decided: set[str] = field(default_factory=set[str])  # in this chat: already on the screen
    own: set[str] = field(default_factory=set[str])  # sent from this chat: already on the screen
    status: str = "resting"
    retry_at: datetime | None = None
    is_deleted: bool = False
    switched_to: str | None = None  # the agent that the user was switched to
    _step: str = ""
    _cut_off: list[Piece] = field(default_factory=list[Piece])  # shown if the turn was stopped
    _ended_step: str = ""
    _calls: dict[str, CallPart] = field(default_factory=dict[str, CallPart])
    _read: set[str] = field(default_factory=set[str])  # items in the history
    _notes: set[int] = field(default_factory=set[int])  # notes already shown
    _noted: set[str] = field(default_factory=set[str])  # items whose outcome was shown

    @property
    def is_busy(self) -> bool:
        return bool(self.items or self.tools or self.parts) or self.status in ("running", "waiting")

    @property
    def queued(self) -> list[ItemView]:
        waiting = [item for item in self.items.values() if item.fate == "queued"]
        return sorted(waiting, key=lambda item: item.seq)

    def apply(self, event: Event) -> list[Piece]:
        """Apply one event and return the new pieces."""
        match event:
            case RecordEvent():
                return self.read(decode_record(bytes(event.record)))
            case ItemEvent():
                return self._item(event.item)
            case AgentEvent():
                self.status, self.retry_at = event.agent.status, event.agent.retry_at
            case RequestEvent():
                return self._asked(event.request)
            case AgentDeletedEvent():
                self.is_deleted = True
            case StepEvent():
                return self._step_changed(event)
            case DeltaEvent():
                return self._delta(event)
            case ToolEvent():
                self._tool(event)
            case _:
                pass
        return []

    def _asked(self, request: RequestView) -> list[Piece]:
        """Show a new request, and its outcome if it was decided elsewhere."""
        was_pending = self.requests.pop(request.id, None) is not None
        if request.status == "pending":
            self.requests[request.id] = request
            return [] if was_pending else [request_piece(request)]
        return [] if request.id in self.decided else [request_piece(request)]

    def read(self, record: AnyRecord) -> list[Piece]:
        """Apply one committed record and return its pieces; a repeated record gives none."""
        if record.seq <= self.last_seq:
            return []
        self.last_seq = record.seq
        match record:
            case AssistantRecord():
                return self._answer(record)
            case ToolRecord():
                self.tools.pop(record.call, None)
                return [tool_piece(record, self._calls.pop(record.call, None))]
            case UserRecord():
                self._read.add(record.item)
                return [] if record.item in self.own else pieces_of(record, {})
            case NoteRecord():
                if record.item in self._noted:
                    return []
                if record.item and record.code != "retrying":
                    self._noted.add(record.item)
                self._notes.add(record.seq)
                if record.code == "switched":
                    self.switched_to = record.agent
                cut_off = self._cut_off if record.code == "stopped" else []
                self._cut_off = []
                return [*cut_off, note_piece(record)]
            case ResetRecord():
                self._forget_live()
                return pieces_of(record, {})
            case _:
                return pieces_of(record, {})

    def _answer(self, record: AssistantRecord) -> list[Piece]:
        pieces: list[Piece] = []
        for index, part in enumerate(record.parts):
            pieces += self._settle(index, part, record)
        self.parts.clear()
        self._ended_step = self._step
        for call in record.calls:
            self._calls[call.id] = call
            self.tools[call.id] = RunningTool(line=call_line(call))
        return pieces

    def _settle(self, index: int, part: Part, record: AssistantRecord) -> list[Piece]:
        """Return what was not yet printed of a committed part."""
        if isinstance(part, CallPart):
            return []
        streamed = self.parts.get(index)
        printed = streamed.text[: streamed.printed] if streamed else ""
        rest = part.text[len(printed) :] if part.text.startswith(printed) else part.text
        if not rest.strip():
            return []
        kind = "text" if isinstance(part, TextPart) else "thinking"
        return [Piece(kind=kind, text=rest, at=record.at, seq=record.seq)]

    def _step_changed(self, event: StepEvent) -> list[Piece]:
        was_printed = any(part.printed for part in self.parts.values())
        self._cut_off = [piece for part in self.parts.values() for piece in _print_all(part)]
        self.parts.clear()
        if event.state == "started":
            self._step = event.step
            self.retry_at = None
            return []
        self._ended_step = event.step
        return [Piece(kind="notice", text="The answer was cut off.")] if was_printed else []

    def _delta(self, event: DeltaEvent) -> list[Piece]:
        if event.step == self._ended_step:
            return []
        self._step = event.step
        part = self.parts.setdefault(event.part, StreamedPart(kind=event.kind))
        part.text += event.text
        part.name = part.name or event.name
        pieces = [
            piece
            for index, earlier in self.parts.items()
            if index < event.part
            for piece in _print_all(earlier)
        ]
        if event.kind == "text":
            pieces += _print_until(part, part.printed + finished_length(part.rest))
        return pieces

    def _tool(self, event: ToolEvent) -> None:
        tool = self.tools.setdefault(event.call, RunningTool(line=event.name))
        tool.is_started = True
        if event.state == "progress":
            tool.progress = event.text

    def _item(self, item: ItemView) -> list[Piece]:
        if item.fate not in FINAL:
            self.items[item.id] = item
            return []
        self.items.pop(item.id, None)
        is_shown = item.id in self._noted or item.reply_seq in self._notes
        if item.fate == "answered" or item.silent or is_shown:
            return []
        # The history shows that the turn was stopped or reset; only unread items need a line.
        if item.fate == "cancelled" and item.id in self._read:
            self._forget_live()
            return []
        self._noted.add(item.id)
        reason = f": {item.reason}" if item.reason else ""
        text = (
            f"“{one_line(seen_text(item.text, item.sender.get('id', '')), 40)}” {item.fate}{reason}"
        )
        return [Piece(kind="problem", text=text, at=item.ended_at)]

    def _forget_live(self) -> None:
        self.parts.clear()
        self.tools.clear()
        self._ended_step = self._step


def _print_until(part: StreamedPart, until: int) -> list[Piece]:
    """Return the text of a streamed part up to `until` that was not printed yet."""
    text = part.text[part.printed : until]
    if part.kind == "call" or not text.strip():
        return []
    part.printed = until
    return [Piece(kind="text" if part.kind == "text" else "thinking", text=text)]


def _print_all(part: StreamedPart) -> list[Piece]:
    return _print_until(part, len(part.text))


def finished_length(text: str) -> int:
    """Return the length of complete Markdown: up to the last blank line outside a code fence."""
    end = 0
    position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        position += len(line)
        stripped = line.strip()
        if fence:
            if stripped.startswith(fence) and not stripped.strip(fence[0]):
                fence = ""
        elif stripped.startswith(("```", "~~~")):
            fence = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
        elif not stripped and line.endswith("\n"):
            end = position
    return end
