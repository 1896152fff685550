from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from retinue.agents.command import (
    AgentPatch,
    Command,
    CompactCommand,
    DeleteCommand,
    PatchCommand,
    ResetCommand,
    StopCommand,
    SwitchCommand,
    TerminateCommand,
)
from retinue.agents.inbox import Item, ItemBody, Sender
from retinue.agents.state import Turn
from retinue.engine.agent.limits import Limits
from retinue.engine.rules.decision import (
    Action,
    Answered,
    BeginTrial,
    CallModel,
    Compact,
    CountCrash,
    Drain,
    EndLate,
    EndTrial,
    Failed,
    Gather,
    NoteSilent,
    Obey,
    Pressure,
    Prune,
    Rest,
    RunTools,
    StartSubagents,
    TurnView,
    Wait,
    next_action,
)
from retinue.ids import AgentId, CallId, ItemId
from retinue.records import AssistantRecord, CallPart, TextPart

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CALLS = [CallPart(id=CallId("a"), name="one"), CallPart(id=CallId("b"), name="two")]
ANSWER = AssistantRecord(parts=[TextPart(text="done")], model="m", seq=7)


def item(seq: int = 1, *, silent: bool = False, connector: str = "", ago: float = 0) -> Item:
    return Item(
        id=ItemId(f"m{seq}"),
        agent_id=AgentId("agent"),
        seq=seq,
        kind="message",
        silent=silent,
        body=ItemBody(text="hi", sender=Sender(type="user", connector=connector)),
        admitted_at=NOW - timedelta(seconds=ago),
    )


def command(seq: int, command: Command) -> Item:
    body = ItemBody(text="", sender=Sender(type="user"), command=command)
    return structs.replace(item(seq, silent=True), kind="command", body=body)


LOUD, QUIET = item(1), item(2, silent=True)
TURN = Turn(items=[ItemId("m0")], first_seq=5, calls_epoch=1)
LATER, EARLIER = NOW + timedelta(seconds=9), NOW - timedelta(seconds=9)


def view(**changes: Any) -> TurnView:
    plain = TurnView(
        turn=None,
        waiting=(),
        open_calls=(),
        answer=None,
        pressure="low",
        can_compact=False,
        can_prune=False,
        epoch=1,
        now=NOW,
        limits=Limits(steps=10, crash_attempts=3, gather_seconds=0.2),
    )
    return structs.replace(plain, **changes)


def turn(**changes: Any) -> Turn:
    return structs.replace(TURN, **changes)


RESTING: list[tuple[str, TurnView, Action]] = [
    ("nothing waits", view(), Rest()),
    ("a message waits", view(waiting=[LOUD]), Drain(items=[LOUD])),
    ("a silent one waits", view(waiting=[QUIET]), NoteSilent(items=[QUIET])),
    ("both wait", view(waiting=[LOUD, QUIET]), Drain(items=[LOUD, QUIET])),
    (
        "an old answer is there",
        view(answer=ANSWER, waiting=[LOUD]),
        Drain(items=[LOUD]),
    ),
    ("at 75 %", view(pressure="warning", can_compact=True), Compact(reason="warning")),
    ("at 90 %", view(pressure="critical", can_compact=True), Compact(reason="warning")),
    ("at 100 %", view(pressure="full", can_compact=True), Compact(reason="warning")),
    ("at 75 % with nothing to sum up", view(pressure="warning"), Rest()),
    (
        "at 75 % and a message waits",
        view(pressure="warning", can_compact=True, waiting=[LOUD]),
        Drain(items=[LOUD]),
    ),
]

WORKING: list[tuple[str, TurnView, Action]] = [
    ("the model is due", view(turn=TURN), CallModel()),
    ("tools are due", view(turn=TURN, open_calls=CALLS), RunTools(calls=CALLS, in_doubt=None)),
    (
        "tools were due when the process died",
        view(turn=TURN, open_calls=CALLS, epoch=2),
        RunTools(calls=CALLS, in_doubt=CALLS[0]),
    ),
    (
        "a process ended in good order before it began any call",
        view(turn=turn(calls_unbegun=True), open_calls=CALLS, epoch=2),
        RunTools(calls=CALLS, in_doubt=None),
    ),
    ("subagents begin before the model", view(turn=TURN, are_boots_due=True), StartSubagents()),
    (
        "the provider refused the context",
        view(turn=turn(overflow="too long"), can_prune=True),
        Prune(reason="overflow"),
    ),
    (
        "the provider refused what was left",
        view(turn=turn(overflow="too long", overflowed=True), can_prune=True),
        Failed(code="context_too_long", reason="too long"),
    ),
    (
        "the provider refused the context and nothing can go",
        view(turn=turn(overflow="too long")),
        Failed(code="context_too_long", reason="too long"),
    ),
    ("a process died", view(turn=TURN, has_crashed=True), CountCrash()),
    (
        "a process died while the turn waited",
        view(turn=turn(retry_at=LATER), has_crashed=True),
        Wait(until=LATER),
    ),
    (
        "a process died of another suspect",
        view(turn=turn(crashes=2), has_crashed=True),
        BeginTrial(),
    ),
    (
        "a process died of this suspect",
        view(turn=turn(crashes=2, on_trial=True), has_crashed=True),
        CountCrash(),
    ),
    ("one more crash would be the last", view(turn=turn(crashes=2)), BeginTrial()),
    ("a trial goes on", view(turn=turn(crashes=2, on_trial=True)), CallModel()),
    (
        "a trial waits",
        view(turn=turn(crashes=2, on_trial=True, retry_at=LATER)),
        EndTrial(),
    ),
    ("a suspect waits", view(turn=turn(crashes=2, retry_at=LATER)), Wait(until=LATER)),
    (
        "tools come before messages",
        view(turn=TURN, open_calls=CALLS, waiting=[LOUD]),
        RunTools(calls=CALLS, in_doubt=None),
    ),
    ("the answer is there", view(turn=TURN, answer=ANSWER), Answered(by=ANSWER)),
    (
        "the answer comes before the next message",
        view(turn=TURN, answer=ANSWER, waiting=[LOUD]),
        Answered(by=ANSWER),
    ),
    ("the answer is an older turn's", view(turn=turn(first_seq=8), answer=ANSWER), CallModel()),
    ("a message steers", view(turn=TURN, waiting=[LOUD]), Drain(items=[LOUD])),
    ("a silent one is seen too", view(turn=TURN, waiting=[QUIET]), Drain(items=[QUIET])),
    ("a retry is not due", view(turn=turn(retry_at=LATER)), Wait(until=LATER)),
    ("a retry is due", view(turn=turn(retry_at=EARLIER)), CallModel()),
    ("a retry is due now", view(turn=turn(retry_at=NOW)), CallModel()),
    (
        "a message comes before the wait",
        view(turn=turn(retry_at=LATER), waiting=[LOUD]),
        Drain(items=[LOUD]),
    ),
    ("at 75 %", view(turn=TURN, pressure="warning", can_compact=True), CallModel()),
    (
        "at 90 %",
        view(turn=TURN, pressure="critical", can_compact=True),
        Compact(reason="critical"),
    ),
    ("at 90 % with nothing to sum up", view(turn=TURN, pressure="critical"), CallModel()),
    (
        "at 100 %",
        view(turn=TURN, pressure="full", can_prune=True, can_compact=True),
        Prune(reason="emergency"),
    ),
    (
        "at 100 % with nothing to drop",
        view(turn=TURN, pressure="full", can_compact=True),
        Compact(reason="critical"),
    ),
    ("at 100 % with nothing to be done", view(turn=TURN, pressure="full"), CallModel()),
    (
        "tools run however full it is",
        view(turn=TURN, open_calls=CALLS, pressure="full", can_prune=True),
        RunTools(calls=CALLS, in_doubt=None),
    ),
    ("one step is left", view(turn=turn(steps=9)), CallModel()),
]


@pytest.mark.parametrize(("given_view", "expected"), [row[1:] for row in RESTING + WORKING],
                         ids=[row[0] for row in RESTING + WORKING])  # fmt: skip
def test_what_comes_next(given_view: TurnView, expected: Action) -> None:
    assert next_action(given_view) == expected


@pytest.mark.parametrize(
    ("given_view", "code", "words"),
    [
        (view(turn=turn(steps=10)), "steps", "10 steps"),
        (view(turn=turn(crashes=3), open_calls=CALLS), "poison", "3 times"),
        (view(turn=turn(crashes=4, retry_at=LATER), waiting=[LOUD]), "poison", "4 times"),
    ],
    ids=["too many steps", "poison", "poison comes first"],
)
def test_a_turn_that_cannot_go_on_says_why(given_view: TurnView, code: str, words: str) -> None:
    action = next_action(given_view)
    assert isinstance(action, Failed)
    assert action.code == code
    assert words in action.reason


def test_the_last_results_are_taken_in_before_the_step_limit_counts() -> None:
    action = next_action(view(turn=turn(steps=10), open_calls=CALLS))
    assert isinstance(action, RunTools)


def test_two_deaths_are_forgiven() -> None:
    assert next_action(view(turn=turn(crashes=2, on_trial=True))) == CallModel()


@pytest.mark.parametrize(
    ("ages", "seconds"),
    [
        ([0], 0.2),
        ([0.15], 0.05),
        ([0.2], 0),
        ([0.5, 0.1], 0.1),
        ([0.75, 0.05], 0.05),
        ([0.8, 0.05], 0),
        ([30, 0.05], 0),
        ([-5], 0),
        ([0.1, -5], 0),
    ],
    ids=[
        "just now",
        "a while ago",
        "long enough ago",
        "one more came",
        "four windows are nearly over",
        "four windows are over",
        "an old one waits",
        "the clock went back",
        "the clock went back in a burst",
    ],
)
def test_a_burst_of_one_chat_is_awaited(ages: Sequence[float], seconds: float) -> None:
    items = [item(n, connector="telegram", ago=age) for n, age in enumerate(ages, start=1)]
    action = next_action(view(waiting=items))
    if seconds:
        assert isinstance(action, Gather)
        assert action.seconds == pytest.approx(seconds, abs=1e-6)
    else:
        assert action == Drain(items=items)


def test_only_people_in_a_chat_are_awaited() -> None:
    assert next_action(view(waiting=[item(1)])) == Drain(items=[item(1)])
    machine = structs.replace(item(1, connector="telegram"), kind="system")
    assert next_action(view(waiting=[machine])) == Drain(items=[machine])
    no_window = Limits(gather_seconds=0)
    spoken = item(1, connector="telegram")
    assert next_action(view(waiting=[spoken], limits=no_window)) == Drain(items=[spoken])


_pressures: st.SearchStrategy[Pressure] = st.sampled_from(["low", "warning", "critical", "full"])
_turns = st.none() | st.builds(
    turn,
    steps=st.integers(0, 12),
    crashes=st.integers(0, 4),
    on_trial=st.booleans(),
    first_seq=st.sampled_from([5, 8]),
    retry_at=st.sampled_from([None, LATER, EARLIER]),
)
_views = st.builds(
    view,
    turn=_turns,
    waiting=st.lists(st.sampled_from([LOUD, QUIET]), max_size=2),
    open_calls=st.sampled_from([[], CALLS]),
    answer=st.sampled_from([None, ANSWER]),
    pressure=_pressures,
    can_compact=st.booleans(),
    can_prune=st.booleans(),
    epoch=st.sampled_from([1, 2]),
    has_crashed=st.booleans(),
    are_boots_due=st.booleans(),
)


@given(_views)
def test_the_same_view_always_gives_the_same_action(any_view: TurnView) -> None:
    assert next_action(any_view) == next_action(any_view)


@given(_views)
def test_an_agent_rests_only_when_nobody_waits_for_it(any_view: TurnView) -> None:
    if isinstance(next_action(any_view), Rest):
        assert any_view.turn is None
        assert not any_view.waiting


@given(_views)
def test_a_model_is_never_asked_with_a_call_open_or_a_message_unread(any_view: TurnView) -> None:
    if isinstance(next_action(any_view), CallModel):
        assert not any_view.open_calls
        assert not any_view.waiting
        assert any_view.turn is not None


STOP, COMPACT = command(5, StopCommand()), command(6, CompactCommand())
ARRIVAL = command(4, SwitchCommand(is_chat=True))
RETURN = command(7, SwitchCommand(is_return=True))
RENAME, DELETE = command(8, PatchCommand(patch=AgentPatch())), command(9, DeleteCommand())


@pytest.mark.parametrize("turn", [None, TURN])
def test_commands_come_first_in_the_order_of_the_inbox(turn: Turn | None) -> None:
    waiting = [LOUD, STOP, COMPACT]
    assert next_action(view(turn=turn, waiting=waiting)) == Obey(command=STOP)
    assert next_action(view(turn=turn, waiting=[LOUD, COMPACT])) == Obey(command=COMPACT)


def test_an_account_waits_for_open_calls_and_holds_no_other_command_back() -> None:
    busy = view(turn=TURN, waiting=[ARRIVAL, STOP], open_calls=CALLS)
    assert next_action(busy) == Obey(command=STOP)
    assert isinstance(next_action(structs.replace(busy, waiting=[ARRIVAL])), RunTools)
    assert next_action(structs.replace(busy, waiting=[ARRIVAL, RETURN])) == Obey(command=RETURN)
    assert next_action(view(turn=TURN, waiting=[ARRIVAL])) == Obey(command=ARRIVAL)


def test_an_agent_that_ended_obeys_few_commands_and_ends_the_rest() -> None:
    late = [LOUD, STOP, command(6, ResetCommand()), command(7, TerminateCommand(reason=""))]
    assert next_action(view(is_ended=True, waiting=late)) == EndLate(items=late)
    for still in (RENAME, DELETE):
        ended = view(is_ended=True, waiting=[*late, still])
        assert next_action(ended) == Obey(command=still)
    assert next_action(view(is_ended=True)) == Rest()
