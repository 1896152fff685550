"""The current part of an agent's history: the records since the last reset or summary."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import structs

from retinue.ids import CallId
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    HandoffRecord,
    NoteRecord,
    ResetRecord,
    RunRecord,
    StartRecord,
    SummaryRecord,
    SystemRecord,
    ToolRecord,
    UserRecord,
)


class History:
    """Records in order, with derived state that is updated in constant time per record."""

    def __init__(self, records: Iterable[AnyRecord] = ()) -> None:
        self._records: list[AnyRecord] = []
        self._open: dict[CallId, CallPart] = {}
        self._asked_by: AssistantRecord | None = None
        self._answer: AssistantRecord | None = None
        self._results: dict[CallId, ToolRecord] = {}
        self._is_latest = False
        for record in records:
            self.append(record)

    @property
    def records(self) -> Sequence[AnyRecord]:
        return self._records

    @property
    def open_calls(self) -> Sequence[CallPart]:
        """Calls of the last response that have no result yet, in order."""
        return list(self._open.values()) if self._open else ()

    @property
    def asked_by(self) -> AssistantRecord | None:
        """The response that made the open calls."""
        return self._asked_by if self._open else None

    @property
    def unanswered(self) -> AssistantRecord | None:
        """The last response, if no message follows it."""
        return self._asked_by if self._is_latest else None

    @property
    def results(self) -> Mapping[CallId, ToolRecord]:
        """The results of the last response's calls."""
        return self._results

    @property
    def answer(self) -> AssistantRecord | None:
        """The last response, if it made no calls and no message follows it."""
        return self._answer

    def append(self, record: AnyRecord) -> None:
        match record:
            case AssistantRecord():
                self._open = {part.id: part for part in record.parts if isinstance(part, CallPart)}
                self._asked_by = record
                self._results = {}
                self._is_latest = True
                self._answer = None if self._open else record
            case ToolRecord():
                if self._open.pop(record.call, None) is not None:
                    if record.status == "erased":
                        self._forget(record.call)
                    else:
                        self._results[record.call] = record
            case UserRecord() | SystemRecord() | HandoffRecord():
                self._answer = None
                self._is_latest = False
            case StartRecord() | ResetRecord():
                self._records.clear()
                self._forget_response()
            case SummaryRecord():
                self._drop_before(record.keep_from)
            case _:
                pass
        self._records.append(record)

    def _forget(self, call: CallId) -> None:
        """Remove a call from the last response."""
        if self._asked_by is not None:
            self._asked_by = without_call(self._asked_by, call)
            if not self._asked_by.calls:
                self._is_latest &= bool(self._asked_by.text.strip())
                self._answer = self._asked_by if self._is_latest else None

    def _forget_response(self) -> None:
        self._open = {}
        self._asked_by = None
        self._results = {}
        self._is_latest = False
        self._answer = None

    def _drop_before(self, seq: int) -> None:
        if self._asked_by is not None and self._asked_by.seq < seq:
            self._forget_response()
        self._records = [
            record
            for record in self._records
            if record.seq >= seq and not isinstance(record, SummaryRecord)
        ]


def without_call(record: AssistantRecord, call: CallId) -> AssistantRecord:
    parts = [p for p in record.parts if not isinstance(p, CallPart) or p.id != call]
    return structs.replace(record, parts=parts, provider=None)


def without_erased(records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """Return the records without the calls that hooks erased."""
    kept: list[AnyRecord] = []
    asked_at: int | None = None
    for record in records:
        if isinstance(record, ToolRecord) and record.status == "erased":
            asked = kept[asked_at] if asked_at is not None else None
            if asked_at is not None and isinstance(asked, AssistantRecord):
                kept[asked_at] = without_call(asked, record.call)
            continue
        if isinstance(record, AssistantRecord):
            asked_at = len(kept)
        kept.append(record)
    return [r for r in kept if not isinstance(r, AssistantRecord) or r.calls or r.text.strip()]


def cut_points(records: Sequence[AnyRecord]) -> list[int]:
    """Return the indexes where records can be split without separating a call from its result."""
    points: list[int] = []
    open_calls: set[CallId] = set()
    for index, record in enumerate(records):
        match record:
            case UserRecord() | SystemRecord() | AssistantRecord() | HandoffRecord():
                if not open_calls and index:
                    points.append(index)
                if isinstance(record, AssistantRecord):
                    open_calls = {call.id for call in record.calls}
            case ToolRecord():
                open_calls.discard(record.call)
            case _:
                pass
    return points


def is_exchange_start(record: AnyRecord) -> bool:
    return isinstance(record, UserRecord | SystemRecord)


def is_shown_to_model(record: AnyRecord) -> bool:
    return not isinstance(record, NoteRecord | RunRecord | StartRecord | ResetRecord)
