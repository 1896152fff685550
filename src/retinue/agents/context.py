"""Builds model messages from records, incrementally, and estimates their size.

For any records: every tool call is followed by its result, the order of roles is valid for every
provider, and text from people, tools and web pages cannot imitate a system message.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import msgspec

from retinue.agents.state import TokenSnapshot
from retinue.ids import CallId
from retinue.model_messages import (
    AssistantMessage,
    AttachedImage,
    Content,
    ModelMessage,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    FileReference,
    HandoffRecord,
    Part,
    ResetRecord,
    StartRecord,
    SummaryRecord,
    SystemRecord,
    TextPart,
    ThinkingPart,
    ToolRecord,
    UserRecord,
)

CHARACTERS_PER_TOKEN = 4
IMAGE_PLACEHOLDER = "<image>"
LARGEST_CORRECTION = 4.0

_encoder = msgspec.json.Encoder()

INTERRUPTED = "This call was interrupted; it has no result."
_GAP = (
    r"[\s/\x00-\x1f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]*"
)
_FRAME = re.compile(rf"<({_GAP}system_message)", re.IGNORECASE)
_GOOD = frozenset({"ok", "pending"})


class Context:
    """Model messages that are updated with each appended record.

    With a `side`, this is the context of that side: its own text has the assistant role, and the
    other side's text, without tool calls, the user role. A message to the other side appears as
    this side's own text.
    """

    def __init__(self, records: Iterable[AnyRecord] = (), *, side: str = "") -> None:
        self.side = side
        self._clear()
        for record in records:
            self.append(record)

    def _clear(self) -> None:
        self._messages: list[ModelMessage] = []
        self._pending: dict[CallId, CallPart] = {}
        self._results: dict[CallId, ToolMessage] = {}
        self._order: list[CallId] = []
        self._since_summary: list[AnyRecord] = []
        self.characters = 0
        self.images = 0

    @property
    def messages(self) -> Sequence[ModelMessage]:
        """All messages; open calls get an interrupted result."""
        if self._pending:
            return [*self._messages, *self._settled()]
        return self._messages

    def append(self, record: AnyRecord) -> None:
        match record:
            case UserRecord() | HandoffRecord():
                self._since_summary.append(record)
                self._take(record)
            case SystemRecord():
                self._since_summary.append(record)
                self._inform(record)
            case AssistantRecord():
                self._since_summary.append(record)
                if self.side and record.side and record.side != self.side:
                    self._hear(record)
                else:
                    self._answer(record)
            case ToolRecord():
                self._since_summary.append(record)
                self._settle(record)
            case StartRecord() | ResetRecord():
                self._clear()
            case SummaryRecord():
                kept = [r for r in self._since_summary if r.seq >= record.keep_from]
                self._clear()
                self._say([TextContent(text=system_text(record.text))])
                for kept_record in kept:
                    self.append(kept_record)
            case _:
                pass

    def _say(self, content: list[Content]) -> None:
        for entry in content:
            self.characters += content_characters(entry)
            self.images += isinstance(entry, AttachedImage)
        last = self._messages[-1] if self._messages else None
        if isinstance(last, UserMessage):
            self._messages[-1] = UserMessage(content=[*last.content, *content])
        else:
            self._messages.append(UserMessage(content=content))

    def _take(self, record: UserRecord | HandoffRecord) -> None:
        self._close()
        if isinstance(record, HandoffRecord):
            if record.text or record.files:
                self._say(user_content(record.text, record.files))
        elif self.side and (record.to or "side_a") != self.side:
            self._recall(record.text)
        else:
            self._say(user_content(record.text, record.files))

    def _inform(self, record: SystemRecord) -> None:
        """Add a system message; of a message to the other side, only the files are added."""
        content = file_content(record.files)
        if not self.side or record.to in ("", self.side):
            content.insert(0, TextContent(text=framed(record)))
        if content:
            self._close()
            self._say(content)

    def _hear(self, record: AssistantRecord) -> None:
        """Add the other side's text, unless it is blank."""
        if record.text.strip():
            self._close()
            self._say([TextContent(text=neutral(record.text))])

    def _recall(self, text: str) -> None:
        """Add an external message to the other side as this side's own text."""
        if text.strip():
            self._answer(AssistantRecord(parts=[TextPart(text=neutral(text))], model=""))

    def _answer(self, record: AssistantRecord) -> None:
        self._close()
        if not self._messages or isinstance(self._messages[-1], AssistantMessage):
            self._say([TextContent(text="(The conversation continues.)")])
        self._messages.append(
            AssistantMessage(parts=record.parts, model=record.model, provider=record.provider)
        )
        self._results = {}
        self._order = []
        for part in record.parts:
            self.characters += characters_of_part(part)
            if isinstance(part, CallPart):
                self._pending[part.id] = part
                self._order.append(part.id)

    def _settle(self, record: ToolRecord) -> None:
        if self._pending.pop(record.call, None) is None:
            if self.side and record.files:  # a call of the other side: only its files are visible
                self._close()
                self._say(file_content(record.files))
            return
        if record.status == "erased":
            self._erase(record.call)
            return
        text = neutral(record.text)
        for file in record.files:
            text += f"\n{file_line(file)}"
        self.characters += len(text)
        self._results[record.call] = ToolMessage(
            call=record.call, name=record.name, text=text, is_error=record.status not in _GOOD
        )
        self._flush()

    def _flush(self) -> None:
        if not self._pending:
            self._messages.extend(self._results[call] for call in self._order)
            self._results = {}

    def _erase(self, call: CallId) -> None:
        """Remove a call from the message that made it; until all calls end, it is the last one."""
        asked = self._messages.pop()
        assert isinstance(asked, AssistantMessage)
        self._order.remove(call)
        kept = [p for p in asked.parts if not isinstance(p, CallPart) or p.id != call]
        self.characters -= sum(characters_of_part(p) for p in asked.parts if p not in kept)
        if any(not isinstance(part, ThinkingPart) for part in kept):
            self._messages.append(AssistantMessage(parts=kept, model=asked.model))
        self._flush()

    def _close(self) -> None:
        """Add an interrupted result for every open call."""
        if self._pending:
            self._messages.extend(self._settled())
            self._pending = {}
            self._results = {}

    def _settled(self) -> list[ToolMessage]:
        return [
            self._results.get(call)
            or ToolMessage(
                call=call, name=self._pending[call].name, text=INTERRUPTED, is_error=True
            )
            for call in self._order
        ]


def build_context(records: Iterable[AnyRecord]) -> Sequence[ModelMessage]:
    """Return the model messages of the records since the last reset or summary."""
    return Context(records).messages


def neutral(text: str) -> str:
    """Escape system-message tags in text that is not from the engine."""
    return _FRAME.sub(r"&lt;\1", text) if "<" in text else text


def framed(record: SystemRecord) -> str:
    origin = escape(record.origin, quote=True)
    return f'<system_message origin="{origin}">{neutral(record.text)}</system_message>'


def system_text(text: str) -> str:
    """Wrap text from the engine in a system-message tag."""
    return f'<system_message origin="system">{neutral(text)}</system_message>'


def file_line(file: FileReference) -> str:
    return neutral(f"[file] {file.name} ({file.mime_type}, {file.size} bytes) at {file.path}")


def file_content(files: Sequence[FileReference]) -> list[Content]:
    content: list[Content] = []
    for file in files:
        content.append(TextContent(text=file_line(file)))
        if file.mime_type.startswith("image/"):
            content.append(AttachedImage(file=file))
    return content


def user_content(text: str, files: Sequence[FileReference]) -> list[Content]:
    return [TextContent(text=neutral(text)), *file_content(files)]


def content_characters(content: Content) -> int:
    """Count the characters of text; an image counts as its placeholder, regardless of its size."""
    return len(content.text) if isinstance(content, TextContent) else len(IMAGE_PLACEHOLDER)


def characters_of_part(part: Part) -> int:
    if isinstance(part, CallPart):
        return len(part.name) + len(_encoder.encode(part.arguments)) + len(part.malformed or "")
    return len(part.text)


def json_characters(value: Mapping[str, Any]) -> int:
    return len(_encoder.encode(value))


def estimated_tokens(characters: int) -> int:
    return -(-characters // CHARACTERS_PER_TOKEN)


def corrected_tokens(estimate: int, last: TokenSnapshot | None, model: str) -> int:
    """Scale an estimate by its error at the last call to the same model."""
    if last is None or last.model != model or last.estimated < 100 or last.reported <= 0:
        return estimate
    ratio = last.reported / last.estimated
    ratio = min(LARGEST_CORRECTION, max(1 / LARGEST_CORRECTION, ratio))
    return round(estimate * ratio)
