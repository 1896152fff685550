"""When a side's turn and a run end, as a table."""

import pytest

from retinue.definitions.prompt import Prompt
from retinue.definitions.side import SessionToolBinding, Side
from retinue.engine.rules.stopping import (
    GoesOn,
    NeedsReminder,
    RunEnds,
    TurnEnds,
    Verdict,
    bound_paths,
    judge,
    stop_text,
)
from retinue.ids import CallId
from retinue.records import AssistantRecord, CallPart, Part, TextPart, ToolRecord, ToolStatus

WORKER = Side(
    prompt=Prompt(name="worker"),
    stop_tool="done",
    stop_tool_response_property="said",
    session_stop=SessionToolBinding(
        name="approve", message_property="summary", attachments_property="files"
    ),
    session_fail=SessionToolBinding(name="give_up"),
)
TALKER = Side(prompt=Prompt(name="talker"))
REVIEWER = Side(prompt=Prompt(name="reviewer"), stop_on_response=False)


def response(text: str, *names: str) -> AssistantRecord:
    parts: list[Part] = [TextPart(text=text)] if text else []
    parts += [
        CallPart(id=CallId(name), name=name, arguments={"summary": "all good"}) for name in names
    ]
    return AssistantRecord(parts=parts, model="m")


def results(**statuses: ToolStatus) -> dict[CallId, ToolRecord]:
    return {
        CallId(name): ToolRecord(call=CallId(name), name=name, status=status, text=f"{name} ran")
        for name, status in statuses.items()
    }


COMPLETED = RunEnds(outcome="completed", code="session_stop", text="all good", paths=[])
FAILED = RunEnds(outcome="failed", code="session_fail", text="give_up ran", paths=[])


@pytest.mark.parametrize(
    ("side", "said", "ran", "is_dual", "verdict"),
    [
        (TALKER, response("hi"), {}, False, TurnEnds(code="stop_on_response")),
        (TALKER, response("hi", "look"), results(look="ok"), False, GoesOn()),
        (TALKER, response("", "look"), results(look="error"), True, GoesOn()),
        (REVIEWER, response("hm"), {}, True, TurnEnds(code="yielded")),
        (REVIEWER, response("", "look"), results(look="ok"), True, GoesOn()),
        (
            REVIEWER,
            response("hm"),
            {},
            False,
            NeedsReminder(text="Go on: the work is not finished by an answer in words."),
        ),
        (WORKER, response("", "done"), results(done="error"), True, TurnEnds(code="stop_tool")),
        (WORKER, response("", "approve"), results(approve="ok"), True, COMPLETED),
        (WORKER, response("", "approve"), results(approve="error"), True, GoesOn()),
        (
            WORKER,
            response("", "done", "approve"),
            results(done="ok", approve="error"),
            True,
            GoesOn(),
        ),
        (
            WORKER,
            response("", "approve", "give_up"),
            results(approve="ok", give_up="ok"),
            True,
            FAILED,
        ),
        (
            WORKER,
            response("", "give_up", "approve"),
            results(give_up="error", approve="ok"),
            True,
            COMPLETED,
        ),
    ],
)
def test_what_follows_a_response(
    side: Side,
    said: AssistantRecord,
    ran: dict[CallId, ToolRecord],
    is_dual: bool,
    verdict: Verdict,
) -> None:
    assert judge(side, said, ran, is_dual=is_dual) == verdict


def test_a_reminder_names_the_tools_that_end_the_turn() -> None:
    side = Side(prompt=Prompt(name="p"), stop_on_response=False, stop_tool="done")
    verdict = judge(side, response("hm"), {}, is_dual=True)
    assert verdict == NeedsReminder(text="Go on. When you have finished, call done.")


@pytest.mark.parametrize(
    ("value", "text"),
    [("words", "words"), ({"a": 1}, '{"a":1}'), (None, None), ("  ", None), (3, "3")],
)
def test_the_stop_tools_argument_becomes_the_sides_words(value: object, text: str | None) -> None:
    call = CallPart(id=CallId("c"), name="done", arguments={"said": value})
    assert stop_text(WORKER, [call]) == text


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ("/attachments/a.png", ["/attachments/a.png"]),
        (["/a", "/b"], ["/a", "/b"]),
        ([{"path": "/a"}], ["/a"]),
        ({"path": "/a"}, ["/a"]),
        ([], []),
        (None, []),
    ],
)
def test_attachments_are_one_path_several_or_objects(value: object, paths: list[str]) -> None:
    binding = SessionToolBinding(name="approve", attachments_property="files")
    call = CallPart(id=CallId("c"), name="approve", arguments={"files": value})
    assert bound_paths(binding, call) == paths
