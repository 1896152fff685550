import asyncio
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import pytest

from retinue.agents.command import AgentPatch
from retinue.engine.feed.agent_views import status_of
from retinue.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    RateLimitedError,
    StoreFullError,
    StreamCutError,
)
from retinue.events import ItemEvent
from retinue.models.port import Completed, ModelEvent, ModelRequest
from retinue.models.scripted import Answer, Reply, ScriptedModel
from retinue.records import NoteRecord, TextPart, ThinkingPart
from retinue.stores.port import Commit, Committed
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import HELPER
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool, said

BUSY = ModelError("overloaded", is_retryable=True)
SLOW = {"retry_minimum_seconds": 10}  # nothing else in the engine sleeps that long


@pytest.mark.parametrize(
    "failure",
    [
        BUSY,
        ModelTimeoutError("silence"),
        StreamCutError("cut"),
        Reply(text="half an ans", cut=True),
        Reply(text="half", error=BUSY),
        Reply(text=""),
        Reply(text=" \n "),
        Reply(thinking="hmm"),
    ],
    ids=["5xx", "time-out", "cut", "cut in words", "error in words", "empty", "blank", "thinking"],
)
async def test_a_failure_that_may_pass_is_tried_again_and_leaves_no_half_answer(
    start: Start, clock: FakeClock, failure: Answer
) -> None:
    kit = await start([failure, "whole"], clock=clock, limits=SLOW)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    delay = await clock.someone_sleeps(2)
    assert 5 <= delay <= 10
    assert await kit.kinds(agent) == ["start", "user hi", "note retrying"]
    clock.advance(delay)
    assert (await kit.outcome(receipt)).reply == "whole"
    assert (await kit.kinds(agent))[-1] == "assistant whole"


class Dice(Random):
    """Gives known numbers instead of random ones."""

    def __init__(self, *numbers: float) -> None:
        super().__init__()
        self._numbers = list(numbers)

    def random(self) -> float:
        return self._numbers.pop(0)


async def test_each_wait_is_spread_by_a_random_number_of_its_own(
    start: Start, clock: FakeClock
) -> None:
    """Without it, all agents that one outage stopped would try again at the same moment."""
    kit = await start([BUSY, BUSY, "whole"], clock=clock, limits=SLOW, random=Dice(0.5, 0.25))
    receipt = await kit.post(await kit.agent(), "hi")
    for seconds in (7.5, 12.5):
        assert await clock.someone_sleeps(2) == pytest.approx(seconds)
        clock.advance(seconds)
    assert (await kit.outcome(receipt)).reply == "whole"


async def test_a_rate_limit_is_waited_for_as_long_as_the_provider_asks(
    start: Start, clock: FakeClock
) -> None:
    kit = await start([RateLimitedError("slow down", retry_after_seconds=42), "ok"], clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    assert await clock.someone_sleeps(30) == pytest.approx(42)
    outcome = await kit.engine.outcome(agent.owner, receipt.item.id)
    assert outcome.waiting_until is not None
    assert (outcome.waiting_until - clock.now()).total_seconds() == pytest.approx(42)
    clock.advance(41)
    await asyncio.sleep(0.02)
    assert kit.stage.models["main"].count == 1  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    clock.advance(1)
    assert (await kit.outcome(receipt)).reply == "ok"


async def test_a_wait_survives_a_restart(start: Start, clock: FakeClock) -> None:
    model = ScriptedModel([RateLimitedError("later", retry_after_seconds=100), "ok"], name="main")
    kit = await start(model, clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await clock.someone_sleeps(90)
    clock.advance(30)
    await kit.restart()
    assert await clock.someone_sleeps(60) == pytest.approx(70)
    assert model.count == 1
    clock.advance(70)
    assert (await kit.outcome(receipt)).reply == "ok"


async def test_it_gives_up_after_the_last_try_and_says_so_in_words(
    start: Start, clock: FakeClock
) -> None:
    model = ScriptedModel(lambda request: BUSY, name="main")
    kit = await start(model, clock=clock, limits={**SLOW, "retry_attempts": 3})
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    for _ in range(2):
        clock.advance(await clock.someone_sleeps(2))
    outcome = await kit.outcome(receipt)
    assert (outcome.item.fate, model.count) == ("failed", 3)
    assert "overloaded (after 3 attempts)" in outcome.reply
    assert isinstance((await kit.records(agent))[-1], NoteRecord)


async def test_an_error_that_will_stay_fails_at_once_and_the_next_message_runs(
    start: Start,
) -> None:
    kit = await start([ModelError("wrong key"), "better"])
    agent = await kit.agent()
    outcome = await kit.ask(agent, "hi")
    assert (outcome.item.fate, outcome.item.reason) == ("failed", "wrong key")
    assert (await kit.ask(agent, "again")).reply == "better"


async def test_a_model_that_does_not_exist_fails_in_words(start: Start) -> None:
    definition = HELPER + 'model = "acme:none"\n'
    kit = await start([], definitions={"helper.toml": definition})
    outcome = await kit.ask(await kit.agent(), "hi")
    assert outcome.item.fate == "failed"
    assert "acme:none" in outcome.reply


async def test_a_fallback_answers_when_the_first_model_cannot(start: Start) -> None:
    spare = ScriptedModel(lambda request: "spare here", name="spare")
    definition = HELPER + 'model = "acme:none"\nfallbackModels = ["spare"]\n'
    kit = await start([], models={"spare": spare}, definitions={"helper.toml": definition})
    assert (await kit.ask(await kit.agent(), "hi")).reply == "spare here"


async def test_a_fallback_takes_over_after_two_failures_and_keeps_the_turn(
    start: Start, clock: FakeClock
) -> None:
    log: list[str] = []
    first = ScriptedModel(lambda request: BUSY, name="first")
    spare = ScriptedModel([calls("work"), "done"], name="spare")
    definition = HELPER + 'model = "first"\nfallbackModels = ["spare"]\n'
    kit = await start(
        [],
        models={"first": first, "spare": spare},
        definitions={"helper.toml": definition},
        tools=[counted_tool(log, "work")],
        clock=clock,
        limits=SLOW,
    )
    receipt = await kit.post(await kit.agent(), "hi")
    clock.advance(await clock.someone_sleeps(2))
    assert (await kit.outcome(receipt)).reply == "done"
    assert (first.count, spare.count, log) == (2, 2, ["work"])


async def test_a_model_chosen_for_the_agent_falls_back_to_the_definition_s(start: Start) -> None:
    kit = await start(["main here"])
    agent = await kit.agent()
    await kit.engine.update(agent.owner, agent.id, AgentPatch(model="acme:none"))
    assert (await kit.ask(agent, "hi")).reply == "main here"


async def test_an_overflow_is_answered_by_pruning_once(start: Start) -> None:
    script: list[Answer] = ["one", "two", ContextTooLongError("too long"), "fits"]
    model = ScriptedModel(script, name="main")
    kit = await start(model)
    agent = await kit.agent()
    await kit.ask(agent, "a" * 400)
    await kit.ask(agent, "b" * 400)
    assert (await kit.ask(agent, "now")).reply == "fits"
    assert "summary overflow" in await kit.kinds(agent)
    assert "a" * 400 not in said(model.requests[-1])


async def test_a_second_overflow_in_one_turn_fails(start: Start) -> None:
    too_long = ContextTooLongError("too long")
    kit = await start(["one", "two", too_long, too_long, "fresh"])
    agent = await kit.agent()
    await kit.ask(agent, "a" * 400)
    await kit.ask(agent, "b" * 400)
    outcome = await kit.ask(agent, "now")
    assert (outcome.item.fate, outcome.item.reason) == ("failed", "too long")
    assert (await kit.ask(agent, "next")).reply == "fresh"


async def test_an_overflow_with_nothing_to_drop_fails_at_once(start: Start) -> None:
    kit = await start([ContextTooLongError("too long")])
    assert (await kit.ask(await kit.agent(), "x")).item.fate == "failed"


async def test_an_adapter_s_own_defect_is_tried_again(start: Start, clock: FakeClock) -> None:
    answers = iter([ZeroDivisionError("oops"), None])

    def reply(request: ModelRequest) -> Answer:
        error = next(answers)
        if error is not None:
            raise error
        return "ok"

    kit = await start(reply, clock=clock, limits=SLOW)
    receipt = await kit.post(await kit.agent(), "hi")
    clock.advance(await clock.someone_sleeps(2))
    assert (await kit.outcome(receipt)).reply == "ok"


async def test_a_model_that_cancels_itself_is_tried_again(start: Start, clock: FakeClock) -> None:
    class Scoped(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            if request.attempt == 0:
                raise asyncio.CancelledError
            async for event in super().stream(request):
                yield event

    kit = await start(Scoped(["ok"], name="main"), clock=clock, limits=SLOW)
    receipt = await kit.post(await kit.agent(), "hi")
    clock.advance(await clock.someone_sleeps(2))
    assert (await kit.outcome(receipt)).reply == "ok"


class FullStore:
    """A store that has no room for some commits."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.refuses: Callable[[Commit], bool] = lambda commit: False
        self.refused = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def commit(self, commit: Commit) -> Committed:
        if self.refuses(commit):
            self.refused += 1
            raise StoreFullError("no room")
        return await self._store.commit(commit)


async def test_a_full_disk_in_the_middle_of_a_turn_loses_nothing_and_repeats_nothing(
    start: Start, clock: FakeClock
) -> None:
    log: list[str] = []
    kit = await start(
        [calls("work"), "done"], tools=[counted_tool(log, "work")], clock=clock, wrap=FullStore
    )
    store: Any = kit.store
    agent = await kit.agent()
    tries = {"n": 0}

    def refuses(commit: Commit) -> bool:
        tries["n"] += 1
        return tries["n"] % 3 != 0

    store.refuses = refuses
    receipt = await kit.post(agent, "go")
    waiting = asyncio.ensure_future(kit.outcome(receipt))
    while not waiting.done():
        sleeping = asyncio.ensure_future(clock.someone_sleeps(0.9))
        await asyncio.wait({waiting, sleeping}, return_when=asyncio.FIRST_COMPLETED)
        sleeping.cancel()
        clock.advance(1)
    assert (await waiting).reply == "done"
    assert log == ["work"]
    assert store.refused >= 6
    assert await kit.kinds(agent) == [
        "start",
        "user go",
        "assistant work()",
        "tool work ok work done",
        "assistant done",
    ]


async def test_a_defect_of_ours_ends_the_turn_and_what_is_queued_behind_it_runs(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    kit = await start([Reply(text="lost", midway=gate), "second"], wrap=BrokenOnce)
    agent = await kit.agent()
    first = await kit.post(agent, "one")
    await gate.reached.wait()
    store: Any = kit.store
    store.is_broken = True
    second = await kit.post(agent, "two")
    gate.opened.set()
    outcome = await kit.outcome(first)
    assert outcome.item.fate == "failed"
    assert "internal error" in outcome.reply
    assert (await kit.outcome(second)).reply == "second"
    assert "a defect ended the turn" in caplog.text


class BrokenOnce(FullStore):
    """A store with a bug that shows once."""

    is_broken = False

    async def commit(self, commit: Commit) -> Committed:
        if self.is_broken:
            self.is_broken = False
            raise RuntimeError("a bug")
        return await self._store.commit(commit)


async def test_thinking_and_signatures_are_kept(start: Start) -> None:
    class Thinker(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
            yield Completed(
                parts=[ThinkingPart(text="hmm", signature="s"), TextPart(text="ok")],
                usage=None,
                finish="stop",
            )

    kit = await start(Thinker([], name="main"))
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "ok"
    record: Any = (await kit.records(agent))[-1]
    assert record.parts[0] == ThinkingPart(text="hmm", signature="s")


async def test_a_silent_message_does_not_cut_a_wait_short(start: Start, clock: FakeClock) -> None:
    model = ScriptedModel([RateLimitedError("later", retry_after_seconds=50), "ok"], name="main")
    kit = await start(model, clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await clock.someone_sleeps(40)
    note = await kit.post_system(agent, "psst", silent=True)
    assert (await kit.outcome(note)).item.fate == "answered"
    assert model.count == 1
    clock.advance(50)
    assert (await kit.outcome(receipt)).reply == "ok"
    assert model.count == 2


async def test_a_message_cuts_our_own_guessed_wait_short(start: Start, clock: FakeClock) -> None:
    kit = await start([BUSY, "ok"], clock=clock, limits=SLOW)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await clock.someone_sleeps(5)
    await kit.post(agent, "well?")
    assert (await kit.outcome(receipt)).reply == "ok"


async def test_a_message_does_not_cut_the_wait_that_a_provider_asked_for(
    start: Start, clock: FakeClock
) -> None:
    model = ScriptedModel([RateLimitedError("later", retry_after_seconds=50), "ok"], name="main")
    kit = await start(model, clock=clock)
    agent = await kit.agent()
    first = await kit.post(agent, "hi")
    await clock.someone_sleeps(40)
    events = kit.engine.subscribe(agent.owner, after=None)
    await anext(events)
    second = await kit.post(agent, "well?")
    async for event in events:
        if isinstance(event, ItemEvent) and event.item.fate == "running":
            break
    await kit.restart()
    assert await clock.someone_sleeps(40) == pytest.approx(50)
    assert model.count == 1
    clock.advance(50)
    assert (await kit.outcome(first)).reply == "ok"
    assert (await kit.outcome(second)).reply == "ok"


async def test_an_agent_runs_while_its_second_try_streams(start: Start, clock: FakeClock) -> None:
    gate = Gate()
    kit = await start([BUSY, Reply(text="ok", midway=gate)], clock=clock, limits=SLOW)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await clock.someone_sleeps(5)
    assert status_of(await kit.fresh(agent)) == "waiting"
    clock.advance(10)
    await gate.reached.wait()
    assert status_of(await kit.fresh(agent)) == "running"
    gate.opened.set()
    await kit.outcome(receipt)
