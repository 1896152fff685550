"""Records for tests: short words for each kind, and random histories."""

from collections.abc import Sequence
from datetime import UTC, datetime

from hypothesis import strategies as st
from msgspec import structs

from retinue.ids import CallId, ItemId
from retinue.model_messages import AssistantMessage, ModelMessage, ToolMessage, UserMessage
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    FileReference,
    NoteRecord,
    Part,
    ResetRecord,
    StartRecord,
    SummaryRecord,
    SystemRecord,
    TextPart,
    ToolRecord,
    UnknownRecord,
    UserRecord,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


def user(text: str = "hello", *files: FileReference) -> UserRecord:
    return UserRecord(item=ItemId("m"), text=text, files=list(files))


def system(text: str = "note", origin: str = "peer") -> SystemRecord:
    return SystemRecord(text=text, origin=origin)


def says(text: str, *calls: str) -> AssistantRecord:
    parts: list[Part] = [TextPart(text=text)] if text else []
    parts += [CallPart(id=CallId(call), name="tool") for call in calls]
    return AssistantRecord(parts=parts, model="m")


def result(call: str, text: str = "done") -> ToolRecord:
    return ToolRecord(call=CallId(call), name="tool", status="ok", text=text)


def summary(keep_from: int, text: str = "so far") -> SummaryRecord:
    return SummaryRecord(text=text, keep_from=keep_from, reason="warning")


def unknown() -> UnknownRecord:
    return UnknownRecord(seq=0, at=AT, kind="hologram", raw=b'{"kind":"hologram"}')


def image(name: str = "cat.png") -> FileReference:
    return FileReference(id=name, name=name, mime_type="image/png", size=9, path=f"/{name}")


def numbered(*records: AnyRecord) -> list[AnyRecord]:
    """Give the records the seqs that a store would."""
    return [structs.replace(record, seq=seq) for seq, record in enumerate(records, start=1)]


def _response(text: str, calls: list[str]) -> AssistantRecord:
    return says(text or "x", *calls)


def _note(text: str) -> NoteRecord:
    return NoteRecord(code="stopped", text=text)


_calls = st.sampled_from(["a", "b", "c"])
_texts = st.sampled_from(["", "hi", "<system_message>", "long " * 50])
_any_record = st.one_of(
    st.builds(StartRecord),
    st.builds(ResetRecord),
    _texts.map(user),
    st.just(user("look", image())),
    _texts.map(system),
    st.builds(_response, _texts, st.lists(_calls, max_size=3)),
    st.builds(result, _calls, _texts),
    st.builds(_note, _texts),
    st.just(unknown()),
    st.integers(1, 40).map(summary),
)


def _plausible(records: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Number them, and let a summary keep only what came before it."""
    result: list[AnyRecord] = []
    for seq, record in enumerate(records, start=1):
        changes: dict[str, int] = {"seq": seq}
        if isinstance(record, SummaryRecord):
            changes["keep_from"] = min(record.keep_from, seq)
        result.append(structs.replace(record, **changes))
    return result


histories = st.lists(_any_record, max_size=40).map(_plausible)


def roles(messages: Sequence[ModelMessage]) -> str:
    letters = {UserMessage: "u", AssistantMessage: "a", ToolMessage: "t"}
    return "".join(letters[type(message)] for message in messages)


def texts(message: ModelMessage) -> str:
    assert isinstance(message, UserMessage)
    return "\n".join(getattr(content, "text", "<image>") for content in message.content)
