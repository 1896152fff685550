from hypothesis import given

from retinue.agents.history import History, cut_points, without_erased
from retinue.ids import CallId
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    NoteRecord,
    ResetRecord,
    StartRecord,
    SummaryRecord,
    ToolRecord,
)
from tests.unit.agents.support import (
    histories,
    numbered,
    result,
    says,
    summary,
    system,
    unknown,
    user,
)


def test_open_calls_are_those_of_the_last_response_without_a_result() -> None:
    history = History(numbered(user(), says("", "a", "b", "c"), result("b")))
    assert [call.id for call in history.open_calls] == ["a", "c"]
    assert history.asked_by is not None
    assert history.asked_by.seq == 2


def test_nobody_asked_when_nothing_is_open() -> None:
    assert History(numbered(user(), says("", "a"), result("a"))).asked_by is None


def test_a_reset_forgets_open_calls_and_records() -> None:
    history = History(numbered(user(), says("", "a"), ResetRecord()))
    assert list(history.open_calls) == []
    assert [type(record) for record in history.records] == [ResetRecord]


def test_the_answer_is_the_last_response_when_it_asked_for_nothing() -> None:
    history = History(numbered(user(), says("done"), NoteRecord(code="x", text=""), unknown()))
    assert history.answer is not None
    assert history.answer.text == "done"


def test_words_after_a_response_make_it_no_answer_any_more() -> None:
    assert History(numbered(user(), says("done"), user("but"))).answer is None
    assert History(numbered(user(), says("done"), system())).answer is None
    assert History(numbered(user(), says("", "a"))).answer is None


def test_a_summary_drops_what_it_stands_for_and_the_summary_before_it() -> None:
    history = History(numbered(user(), says("1"), summary(2), user(), says("2"), summary(4)))
    assert [record.seq for record in history.records] == [4, 5, 6]


def call_ids(records: list[AnyRecord]) -> set[CallId]:
    last = next((r for r in reversed(records) if isinstance(r, AssistantRecord)), None)
    return {call.id for call in last.calls} if last else set()


@given(histories)
def test_a_cut_never_parts_a_call_from_its_result(records: list[AnyRecord]) -> None:
    for point in cut_points(records):
        before, after = records[:point], records[point:]
        answered = {record.call for record in before if isinstance(record, ToolRecord)}
        still_open = call_ids(before) - answered
        own: set[CallId] = set()
        for record in after:
            if isinstance(record, AssistantRecord):
                own = {call.id for call in record.calls}
            elif isinstance(record, ToolRecord) and record.call not in own:
                assert record.call not in still_open


@given(histories)
def test_nothing_is_cut_before_the_first_record(records: list[AnyRecord]) -> None:
    assert 0 not in cut_points(records)


@given(histories)
def test_a_history_followed_is_the_same_as_one_read_anew(records: list[AnyRecord]) -> None:
    followed = History()
    for record in records:
        followed.append(record)
    read = History(records)
    assert (followed.records, followed.open_calls, followed.answer) == (
        read.records,
        read.open_calls,
        read.answer,
    )


@given(histories)
def test_what_a_store_still_loads_is_enough_to_go_on(records: list[AnyRecord]) -> None:
    """A store loads from the last marker, or from what the last summary kept."""
    whole = History(records)
    first = 0
    for record in records:
        if isinstance(record, StartRecord | ResetRecord):
            first = record.seq
        elif isinstance(record, SummaryRecord):
            first = max(first, record.keep_from)
    loaded = History([record for record in records if record.seq >= first])
    assert loaded.records == whole.records


def erased(call: str) -> ToolRecord:
    return ToolRecord(call=CallId(call), name="t", status="erased", text="")


def test_erased_calls_are_left_out_of_records_and_of_what_is_open() -> None:
    records = numbered(user(), says("Done.", "a", "b"), erased("a"), erased("b"))
    history = History(records[:3])
    assert [call.id for call in history.open_calls] == ["b"]
    assert history.answer is None
    history.append(records[3])
    assert history.answer is not None
    assert (history.answer.seq, history.answer.text, history.answer.calls) == (2, "Done.", [])
    kept = without_erased(history.records)
    assert [type(record) for record in kept] == [type(user()), AssistantRecord]
