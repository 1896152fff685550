"""A conversation on the screen: everything once, in order, however it arrives."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import cast

import msgspec
import pytest

from retinue.cli.agent_follower import follow
from retinue.cli.client import Client
from retinue.cli.transcript import Transcript, finished_length
from retinue.cli.transcript_pieces import Piece
from retinue.events import (
    AgentEvent,
    AgentView,
    DeltaEvent,
    Event,
    ItemEvent,
    ItemView,
    RecordEvent,
    StepEvent,
    ToolEvent,
)
from retinue.ids import CallId, ItemId
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    NoteRecord,
    ResetRecord,
    TextPart,
    ThinkingPart,
    ToolRecord,
    UserRecord,
    encode_record,
)

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def record(value: AnyRecord) -> RecordEvent:
    return RecordEvent(cursor=1, agent_id="a", record=msgspec.Raw(encode_record(value)))


def delta(text: str, *, part: int = 0, kind: str = "text", step: str = "s1") -> DeltaEvent:
    assert kind in ("text", "thinking", "call")
    return DeltaEvent(agent_id="a", step=step, part=part, kind=kind, text=text)


def item(fate: str, *, id: str = "m1", reason: str = "", seq: int = 1) -> ItemEvent:
    view = ItemView(
        id=id,
        agent_id="a",
        seq=seq,
        kind="message",
        text="hello there",
        fate=fate,
        at=AT,
        sender={"type": "user"},
        reason=reason,
    )
    return ItemEvent(cursor=1, agent_id="a", item=view)


def answer(*texts: str, seq: int = 2) -> AssistantRecord:
    return AssistantRecord(seq=seq, at=AT, parts=[TextPart(text=t) for t in texts], model="m")


def shown(transcript: Transcript, *events: Event) -> list[tuple[str, str]]:
    pieces: list[Piece] = []
    for event in events:
        pieces += transcript.apply(event)
    return [(piece.kind, piece.text) for piece in pieces]


def test_an_answer_without_deltas_is_shown_whole() -> None:
    assert shown(Transcript(), record(answer("Hello."))) == [("text", "Hello.")]


def test_finished_paragraphs_are_shown_while_the_rest_is_still_coming() -> None:
    transcript = Transcript()
    assert shown(transcript, delta("One.\n\nTw")) == [("text", "One.\n\n")]
    assert transcript.parts[0].rest == "Tw"
    assert shown(transcript, delta("o."), record(answer("One.\n\nTwo."))) == [("text", "Two.")]
    assert not transcript.parts


def test_a_record_that_differs_from_what_streamed_is_shown_whole() -> None:
    transcript = Transcript()
    shown(transcript, delta("One.\n\n"))
    assert shown(transcript, record(answer("Another."))) == [("text", "Another.")]


def test_a_record_is_shown_once_however_often_it_comes() -> None:
    transcript = Transcript()
    event = record(answer("Hello."))
    assert len(shown(transcript, event, event)) == 1


def test_deltas_that_come_after_their_record_are_dropped() -> None:
    transcript = Transcript()
    shown(transcript, StepEvent(agent_id="a", step="s1", state="started"), delta("Hi"))
    shown(transcript, record(answer("Hi")))
    assert shown(transcript, delta("Hi")) == []
    assert not transcript.parts


def test_a_discarded_step_says_so_only_when_something_of_it_was_shown() -> None:
    discarded = StepEvent(agent_id="a", step="s1", state="discarded")
    assert shown(Transcript(), delta("Half"), discarded) == []
    pieces = shown(Transcript(), delta("Half.\n\nMore"), discarded)
    assert [kind for kind, _ in pieces] == ["text", "notice"]


def test_thinking_is_shown_when_the_text_begins() -> None:
    transcript = Transcript()
    pieces = shown(transcript, delta("Hmm.", kind="thinking"), delta("Yes", part=1))
    assert pieces == [("thinking", "Hmm.")]
    whole = AssistantRecord(
        seq=2, at=AT, model="m", parts=[ThinkingPart(text="Hmm."), TextPart(text="Yes")]
    )
    assert shown(transcript, record(whole)) == [("text", "Yes")]


def test_a_tool_is_under_way_until_its_result_comes() -> None:
    transcript = Transcript()
    call = CallPart(id=CallId("c1"), name="order", arguments={"item": "milk"})
    shown(transcript, record(AssistantRecord(seq=2, at=AT, parts=[call], model="m")))
    shown(transcript, ToolEvent(agent_id="a", call="c1", name="order", state="progress", text="½"))
    assert transcript.tools["c1"].line == 'order(item="milk")'
    assert transcript.tools["c1"].progress == "½"
    assert transcript.is_busy
    result = ToolRecord(
        seq=3,
        at=AT,
        call=CallId("c1"),
        name="order",
        status="ok",
        text="1 ordered",
        duration_ms=1500,
    )
    (piece,) = transcript.apply(record(result))
    assert (piece.label, piece.took, piece.status) == ('order(item="milk")', "1.5 s", "ok")
    assert not transcript.is_busy


def test_what_was_typed_here_is_not_echoed_and_what_came_from_elsewhere_is() -> None:
    transcript = Transcript(own={"m1"})
    mine = UserRecord(seq=1, at=AT, item=ItemId("m1"), text="mine")
    theirs = UserRecord(seq=2, at=AT, item=ItemId("m2"), text="theirs")
    assert shown(transcript, record(mine), record(theirs)) == [("user", "theirs")]


def test_queued_messages_are_listed_in_order() -> None:
    transcript = Transcript()
    shown(transcript, item("queued", id="m2", seq=2), item("queued"), item("running", id="m0"))
    assert [waiting.id for waiting in transcript.queued] == ["m1", "m2"]
    assert transcript.is_busy


def test_a_failure_is_told_once_whether_the_note_or_the_fate_comes_first() -> None:
    note = record(NoteRecord(seq=3, at=AT, code="failed", text="No key.", item=ItemId("m1")))
    fate = item("failed", reason="No key.")
    assert [kind for kind, _ in shown(Transcript(), note, fate)] == ["problem"]
    assert [kind for kind, _ in shown(Transcript(), fate, note)] == ["problem"]


def test_a_stopped_turn_is_told_by_its_note_alone() -> None:
    transcript = Transcript()
    read = record(UserRecord(seq=1, at=AT, item=ItemId("m1"), text="go"))
    stopped = record(NoteRecord(seq=2, at=AT, code="stopped", text="Stopped."))
    pieces = shown(transcript, read, delta("Ha"), stopped, item("cancelled"))
    assert [kind for kind, _ in pieces] == ["user", "notice"]
    assert not transcript.is_busy


def test_a_message_that_a_reset_dropped_unread_is_told() -> None:
    pieces = shown(Transcript(), item("queued"), item("cancelled", reason="reset"))
    assert pieces == [("problem", "“hello there” cancelled: reset")]


def test_a_reset_forgets_what_was_streaming() -> None:
    transcript = Transcript()
    pieces = shown(transcript, delta("Ha"), record(ResetRecord(seq=5, at=AT)))
    assert [kind for kind, _ in pieces] == ["rule"]
    assert not transcript.parts


def test_a_retry_is_known_until_the_next_try_begins() -> None:
    transcript = Transcript()
    view = AgentView(
        id="a",
        kind="user",
        definition="d",
        lifecycle="awake",
        status="waiting",
        created_at=AT,
        updated_at=AT,
        descriptor={},
        retry_at=AT,
    )
    shown(transcript, AgentEvent(cursor=1, agent_id="a", agent=view))
    assert transcript.retry_at == AT
    assert transcript.is_busy
    shown(transcript, StepEvent(agent_id="a", step="s2", state="started"))
    assert transcript.retry_at is None


@pytest.mark.parametrize(
    ("text", "finished"),
    [
        ("", ""),
        ("One", ""),
        ("One\n", ""),
        ("One\n\nTwo", "One\n\n"),
        ("One\n\n```py\na\n\nb", "One\n\n"),
        ("```py\na\n\nb\n```\n\nTwo", "```py\na\n\nb\n```\n\n"),
        ("~~~\n```\n\n~~~\n\nx", "~~~\n```\n\n~~~\n\n"),
        ("````\n```\n\n", ""),
    ],
)
def test_only_whole_blocks_of_markdown_count_as_finished(text: str, finished: str) -> None:
    assert text[: finished_length(text)] == finished


async def test_the_words_of_agents_that_this_one_waits_for_are_not_its_own() -> None:
    class Watching:
        async def events(self, agent_id: str) -> AsyncIterator[Event]:
            for speaker in ("helper", agent_id):
                yield DeltaEvent(
                    agent_id=speaker, step=speaker, part=0, kind="text", text=f"by {speaker}\n\n"
                )

    pieces = [
        piece
        async for some in follow(cast("Client", Watching()), "a", Transcript())
        for piece in some
    ]
    assert [piece.text for piece in pieces] == ["by a\n\n"]
