import asyncio

import pytest

from retinue.agents.command import (
    AgentPatch,
)
from retinue.agents.inbox import Sender
from retinue.errors import (
    BusyError,
    NotFoundError,
    RateLimitedError,
)
from retinue.events import AgentEvent, HelloEvent, StepEvent
from retinue.ids import OwnerId
from retinue.model_messages import AssistantMessage, UserMessage
from retinue.models.scripted import Call, Reply, ScriptedModel
from retinue.records import AssistantRecord, ResetRecord, ToolRecord
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import PATIENCE_SECONDS
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, eventually, gated, said

OTHER = OwnerId("other")


async def test_stop_breaks_off_a_model_call_and_keeps_the_queue(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="never", midway=gate), "next"])
    agent = await kit.agent()
    first = await kit.post(agent, "one")
    await gate.reached.wait()
    second = await kit.post(agent, "two")
    assert await kit.engine.interrupt(agent.owner, agent.id)
    outcome = await kit.outcome(first)
    assert (outcome.item.fate, outcome.item.reason) == ("cancelled", "stopped")
    assert (await kit.outcome(second)).reply == "next"
    assert await kit.kinds(agent) == [
        "start",
        "user one",
        "assistant never",
        "note stopped",
        "user two",
        "assistant next",
    ]


async def test_what_was_said_before_a_stop_stays_in_history_and_context(start: Start) -> None:
    gate = Gate()
    half = Reply(thinking="hm", text="Once upon", calls=[Call(name="look")], midway=gate)
    model = ScriptedModel([half, "next"], name="main")
    kit = await start(model)
    agent = await kit.agent()
    receipt = await kit.post(agent, "a story, please")
    await gate.reached.wait()
    assert await kit.engine.interrupt(agent.owner, agent.id)
    await kit.outcome(receipt)
    partial = next(r for r in await kit.records(agent) if isinstance(r, AssistantRecord))
    assert (partial.text, partial.finish, partial.calls) == ("Once upon", "cancelled", [])
    await kit.crash()
    assert (await kit.ask(agent, "go on")).reply == "next"
    shown = model.requests[-1].messages[:3]
    assert [type(m) for m in shown] == [UserMessage, AssistantMessage, UserMessage]


async def test_a_stop_before_any_text_leaves_only_its_note(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(thinking="hm", calls=[Call(name="look")], midway=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    assert await kit.engine.interrupt(agent.owner, agent.id)
    await kit.outcome(receipt)
    assert await kit.kinds(agent) == ["start", "user go", "note stopped"]


async def test_a_watcher_is_not_told_to_drop_what_a_stop_keeps(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="Once upon", midway=gate)])
    agent = await kit.agent()
    events = kit.engine.subscribe(agent.owner, after=None)
    assert isinstance(await anext(events), HelloEvent)
    receipt = await kit.post(agent, "a story, please")
    await gate.reached.wait()
    await kit.engine.interrupt(agent.owner, agent.id)
    await kit.outcome(receipt)
    seen: list[str] = []
    async for event in events:
        seen += [event.state] if isinstance(event, StepEvent) else []
        if isinstance(event, AgentEvent) and event.agent.status == "resting":
            break
    assert "started" in seen
    assert "discarded" not in seen


async def test_stop_breaks_off_a_tool_and_closes_every_open_call(start: Start) -> None:
    gate = Gate()
    kit = await start([calls("gated", "gated"), "after"], tools=[gated(gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    assert await kit.engine.interrupt(agent.owner, agent.id)
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    results = [r for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert [r.status for r in results] == ["cancelled", "cancelled"]
    assert gate.count == 1
    assert (await kit.ask(agent, "still there?")).reply == "after"


async def test_stop_ends_a_wait_for_the_provider(start: Start, clock: FakeClock) -> None:
    kit = await start([RateLimitedError("later", retry_after_seconds=900), "ok"], clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await clock.someone_sleeps(800)
    assert await kit.engine.interrupt(agent.owner, agent.id)
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    assert (await kit.ask(agent, "again")).reply == "ok"


async def test_stop_without_a_turn_says_so(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    assert not await kit.engine.interrupt(agent.owner, agent.id)


async def test_stop_right_after_sending_cancels_what_is_being_gathered(
    start: Start, clock: FakeClock
) -> None:
    model = ScriptedModel(["noted", "later"], name="main")
    kit = await start(model, clock=clock, limits={"coalesce_window_ms": 5000})
    agent = await kit.agent()
    sender = Sender(type="user", id="u", connector="chat")
    news = await kit.post_system(agent, "from a peer", silent=True)
    await kit.outcome(news)
    receipts = [await kit.post(agent, text, sender=sender) for text in ("wait", "no")]
    await clock.someone_sleeps(4)
    assert await kit.engine.interrupt(agent.owner, agent.id)
    for receipt in receipts:
        outcome = await kit.outcome(receipt)
        assert (outcome.item.fate, outcome.item.reason) == ("cancelled", "stopped")
        assert outcome.reply == "Stopped by the user."
    assert model.count == 0
    kinds = ["start", "system from a peer", "user wait", "user no", "note stopped"]
    assert await kit.kinds(agent) == kinds
    assert not await kit.engine.interrupt(agent.owner, agent.id)


async def test_stop_while_gathering_keeps_what_other_agents_sent(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(["noted"], clock=clock, limits={"coalesce_window_ms": 5000})
    agent = await kit.agent()
    sender = Sender(type="user", id="u", connector="chat")
    receipt = await kit.post(agent, "wait", sender=sender)
    news = await kit.post_system(agent, "from a peer")
    await clock.someone_sleeps(4)
    assert await kit.engine.interrupt(agent.owner, agent.id)
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    assert (await kit.outcome(news)).reply == "noted"


async def test_stop_reaches_a_turn_at_any_moment(start: Start) -> None:
    """Wherever the stop hits, the item ends once and the agent goes on."""
    kit = await start(lambda request: Reply(text="ok", delay_seconds=0.002))
    for number in range(30):
        agent = await kit.agent()
        receipt = await kit.post(agent, "go")
        await asyncio.sleep(number / 5000)
        await asyncio.wait_for(kit.engine.interrupt(agent.owner, agent.id), PATIENCE_SECONDS)
        assert (await kit.outcome(receipt)).item.fate in ("answered", "cancelled")


async def test_a_stop_that_comes_just_before_the_model_call_still_stops_it(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="never", before=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    commit = kit.store.commit

    async def commit_then_stop(step: object) -> object:
        done = await commit(step)  # pyright: ignore[reportArgumentType]
        order = asyncio.ensure_future(kit.engine.interrupt(agent.owner, agent.id))
        stopping.append(order)
        await eventually(lambda: order.done() or kit.engine._live[agent.id].has_commands)  # pyright: ignore[reportPrivateUsage]
        return done

    stopping: list[asyncio.Future[bool]] = []
    kit.store.commit = commit_then_stop  # pyright: ignore[reportAttributeAccessIssue]
    try:
        outcome = await asyncio.wait_for(kit.outcome(receipt), PATIENCE_SECONDS)
    finally:
        kit.store.commit = commit
    assert outcome.item.fate == "cancelled"
    assert gate.count == 0
    assert any(await asyncio.gather(*stopping))


async def test_a_reset_during_a_turn_takes_effect_at_once(start: Start) -> None:
    gate = Gate()
    model = ScriptedModel([Reply(text="old", midway=gate), "new"], name="main")
    kit = await start(model)
    agent = await kit.agent()
    running = await kit.post(agent, "long story")
    await gate.reached.wait()
    queued = await kit.post(agent, "more of it")
    await kit.engine.reset(agent.owner, agent.id, reason="enough")
    for receipt in (running, queued):
        outcome = await kit.outcome(receipt)
        assert (outcome.item.fate, outcome.item.reason) == ("cancelled", "reset")
    assert (await kit.ask(agent, "hello")).reply == "new"
    assert said(model.requests[-1]) == ["hello"]
    assert await kit.kinds(agent) == [
        "start",
        "user long story",
        "reset",
        "user hello",
        "assistant new",
    ]


async def test_a_reset_drops_older_input_though_the_clock_went_back(
    start: Start, clock: FakeClock
) -> None:
    gate = Gate()
    kit = await start([Reply(text="old", midway=gate)], clock=clock)
    agent = await kit.agent()
    await kit.post(agent, "long story")
    await gate.reached.wait()
    queued = await kit.post(agent, "more of it")
    clock.advance(-3600)
    await kit.engine.reset(agent.owner, agent.id)
    assert (await kit.outcome(queued)).item.fate == "cancelled"


async def test_a_reset_keeps_system_messages_that_wait(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="old", midway=gate), "noted"])
    agent = await kit.agent()
    await kit.post(agent, "go")
    await gate.reached.wait()
    system = await kit.post_system(agent, "a child ended")
    await kit.engine.reset(agent.owner, agent.id)
    assert (await kit.outcome(system)).reply == "noted"


async def test_a_message_written_after_the_reset_stays(start: Start) -> None:
    gate, cleaning = Gate(), Gate()

    async def stubborn() -> str:
        """Take a while to end."""
        try:
            await gate()
        finally:
            await cleaning()
        return ""

    kit = await start([calls("stubborn"), "fresh"], tools=[tool(stubborn)])
    agent = await kit.agent()
    old = await kit.post(agent, "old")
    await gate.reached.wait()
    reset = asyncio.ensure_future(kit.engine.reset(agent.owner, agent.id))
    await cleaning.reached.wait()
    new = await kit.post(agent, "new")
    cleaning.opened.set()
    await reset
    assert (await kit.outcome(old)).item.fate == "cancelled"
    assert (await kit.outcome(new)).reply == "fresh"


async def test_ten_resets_in_a_row_are_harmless(start: Start) -> None:
    kit = await start(lambda request: f"{len(said(request))} lines")
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    await asyncio.gather(*(kit.engine.reset(agent.owner, agent.id) for _ in range(10)))
    assert (await kit.ask(agent, "hello")).reply == "1 lines"
    resets = [r for r in await kit.records(agent) if isinstance(r, ResetRecord)]
    assert len(resets) == 1


async def test_a_reset_clears_the_context_for_good(start: Start) -> None:
    kit = await start(lambda request: f"{len(said(request))} lines")
    agent = await kit.agent()
    await kit.ask(agent, "secret")
    await kit.engine.reset(agent.owner, agent.id)
    await kit.restart()
    assert (await kit.ask(agent, "hi")).reply == "1 lines"


@pytest.mark.parametrize("command", ["reset", "interrupt", "compact", "delete"])
async def test_commands_to_another_owner_s_agent_find_nothing(start: Start, command: str) -> None:
    kit = await start(["ok"])
    agent = await kit.agent()
    with pytest.raises(NotFoundError):
        await getattr(kit.engine, command)(OTHER, agent.id)
    assert (await kit.ask(agent, "hi")).reply == "ok"


async def test_a_deleted_agent_is_gone_and_whoever_waits_is_told(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="never", midway=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    queued = await kit.post(agent, "later")
    await gate.reached.wait()
    waiting = [asyncio.ensure_future(kit.outcome(one)) for one in (receipt, queued)]
    await asyncio.sleep(0)
    await kit.engine.delete(agent.owner, agent.id)
    for waiter in waiting:
        with pytest.raises(NotFoundError):
            await asyncio.wait_for(waiter, PATIENCE_SECONDS)
    with pytest.raises(NotFoundError):
        await kit.post(agent, "anybody?")
    with pytest.raises(NotFoundError):
        await kit.engine.delete(agent.owner, agent.id)


async def test_two_deletes_at_once_delete_once(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    ended = await asyncio.gather(
        *(kit.engine.delete(agent.owner, agent.id) for _ in range(3)), return_exceptions=True
    )
    assert ended.count(None) == 1
    assert sum(isinstance(error, NotFoundError) for error in ended) == 2


async def test_a_rename_a_pin_and_attributes_are_kept(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    update = kit.engine.update
    await update(agent.owner, agent.id, AgentPatch(name="Trip", pinned=True))
    await update(agent.owner, agent.id, AgentPatch(attributes={"a": {"b": 1, "c": 2}, "l": [1]}))
    await update(agent.owner, agent.id, AgentPatch(attributes={"a": {"b": None, "d": 3}, "l": []}))
    await kit.restart()
    state = (await kit.fresh(agent)).state
    assert state.name == "Trip"
    assert state.pinned_at is not None
    assert state.attributes == {"a": {"c": 2, "d": 3}, "l": []}
    await kit.engine.update(agent.owner, agent.id, AgentPatch(name=None, pinned=False))
    state = (await kit.fresh(agent)).state
    assert (state.name, state.pinned_at) == (None, None)


async def test_a_rename_does_not_wait_for_the_model_and_changes_nothing_else(
    start: Start,
) -> None:
    gate = Gate()
    kit = await start([Reply(text="done", midway=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    renamed = [
        kit.engine.update(agent.owner, agent.id, AgentPatch(name=f"{n}", attributes={f"{n}": n}))
        for n in range(5)
    ]
    first = await asyncio.wait_for(renamed[0], PATIENCE_SECONDS)
    assert first.state.name == "0"
    rest = asyncio.gather(*renamed[1:])
    await asyncio.sleep(0)
    gate.opened.set()
    await rest
    assert (await kit.outcome(receipt)).reply == "done"
    assert gate.count == 1
    state = (await kit.fresh(agent)).state
    assert state.attributes == {f"{n}": n for n in range(5)}
    assert state.turn is None


async def test_a_command_that_is_under_way_at_shutdown_is_told(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="never", midway=gate)])
    agent = await kit.agent()
    await kit.post(agent, "go")
    await gate.reached.wait()
    compacting = asyncio.ensure_future(kit.engine.compact(agent.owner, agent.id))
    await eventually(lambda: kit.engine._live[agent.id].has_commands)  # pyright: ignore[reportPrivateUsage]
    await kit.engine.stop()
    with pytest.raises(BusyError):
        await asyncio.wait_for(compacting, PATIENCE_SECONDS)


async def test_a_command_to_an_engine_that_was_stopped_is_refused(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    await kit.engine.stop()
    with pytest.raises(BusyError, match="stopping"):
        await asyncio.wait_for(kit.engine.reset(agent.owner, agent.id), PATIENCE_SECONDS)
