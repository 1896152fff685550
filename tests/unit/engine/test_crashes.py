"""What a process that died leaves behind is taken up by the next one."""

import asyncio

import pytest

from retinue.agents.inbox import Sender
from retinue.engine.calls.tool_call import HAPPENED, UNKNOWN_AT_THE_END, UNKNOWN_OUTCOME
from retinue.errors import RateLimitedError
from retinue.model_messages import AssistantMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Reply, ScriptedModel
from retinue.records import ToolRecord
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import Effect, Tool, ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool, gated, last_said, tool_then_answer


class Effects:
    """What tools did, with their keys; the first call of each hangs until the process dies."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.began = asyncio.Event()

    def tool(self, effect: Effect, *, happened: bool | None = None) -> Tool:
        async def work(ctx: ToolContext) -> str:
            """Do it."""
            self.keys.append(ctx.idempotency_key)
            if len(self.keys) == 1:
                self.began.set()
                await asyncio.Event().wait()
            return "worked"

        async def check() -> bool:
            if happened is None:
                raise RuntimeError("cannot tell")
            return happened

        checked = check if effect == "verifiable" else None
        return tool(name="work", effect=effect, check=checked)(work).as_tool()


async def died_in_tool(start: Start, effects: Effects, made: Tool) -> tuple[Kit, ToolRecord]:
    kit = await start(tool_then_answer("work"), tools=[made])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await effects.began.wait()
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "done"
    results = [r for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert len(results) == 1
    return kit, results[0]


@pytest.mark.parametrize("effect", ["pure", "keyed"])
async def test_a_pure_or_keyed_call_runs_again_with_the_same_key(
    start: Start, effect: Effect
) -> None:
    effects = Effects()
    _, result = await died_in_tool(start, effects, effects.tool(effect))
    assert (result.status, result.text) == ("ok", "worked")
    assert len(effects.keys) == 2
    assert len(set(effects.keys)) == 1


async def test_a_call_that_must_happen_once_is_not_run_again_and_the_model_is_told(
    start: Start,
) -> None:
    effects = Effects()
    _, result = await died_in_tool(start, effects, effects.tool("once"))
    assert (result.status, result.text) == ("unknown", UNKNOWN_OUTCOME)
    assert len(effects.keys) == 1


@pytest.mark.parametrize(
    ("happened", "status", "text", "runs"),
    [
        (True, "ok", HAPPENED, 1),
        (False, "ok", "worked", 2),
        (None, "unknown", UNKNOWN_OUTCOME, 1),
    ],
    ids=["it happened", "it did not", "nobody knows"],
)
async def test_a_verifiable_call_is_asked_about_first(
    start: Start, happened: bool | None, status: str, text: str, runs: int
) -> None:
    effects = Effects()
    made = effects.tool("verifiable", happened=happened)
    _, result = await died_in_tool(start, effects, made)
    assert (result.status, result.text, len(effects.keys)) == (status, text, runs)


async def test_a_lost_call_whose_tool_is_gone_may_have_taken_effect(start: Start) -> None:
    """Told that there is no such tool, the model would take it for a call that never was."""
    effects = Effects()
    kit = await start(tool_then_answer("work"), tools=[effects.tool("keyed")])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await effects.began.wait()
    kit.stage.tools = []
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "done"
    (result,) = [r for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert (result.status, result.text) == ("unknown", UNKNOWN_OUTCOME)


async def test_calls_that_had_not_begun_are_run_as_usual(start: Start) -> None:
    effects = Effects()

    def reply(request: ModelRequest) -> Answer:
        return calls("work", "work") if len(request.messages) == 1 else "done"

    kit = await start(reply, tools=[effects.tool("once")])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await effects.began.wait()
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "done"
    results = [r.status for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert results == ["unknown", "ok"]


async def test_a_model_call_that_was_cut_is_made_again(start: Start) -> None:
    gate = Gate()
    model = ScriptedModel([Reply(text="lost", midway=gate), "whole"], name="main")
    kit = await start(model)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "whole"
    assert await kit.kinds(agent) == ["start", "user go", "assistant whole"]


async def test_a_message_that_was_only_admitted_is_answered_after_the_restart(
    start: Start,
) -> None:
    kit = await start(["hello"])
    agent = await kit.agent()
    await kit.engine.stop()
    receipt = await kit.post(agent, "hi")
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "hello"


async def test_whoever_asks_right_after_a_restart_can_wait_for_the_answer(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="lost", midway=gate), Reply(text="there", before=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    await kit.restart()
    waiting = asyncio.ensure_future(kit.outcome(receipt))
    await asyncio.sleep(0)
    gate.opened.set()
    assert (await waiting).reply == "there"


async def test_a_message_that_kills_the_process_three_times_fails_and_the_next_one_runs(
    start: Start,
) -> None:
    gate = Gate()

    def reply(request: ModelRequest) -> Answer:
        return "fine" if len(request.messages) > 1 else Reply(text="x", before=gate)

    kit = await start(reply)
    agent = await kit.agent()
    poison = await kit.post(agent, "poison")
    for _ in range(3):
        await gate.reached.wait()
        gate.reached.clear()
        await kit.crash()
    outcome = await kit.outcome(poison)
    assert outcome.item.fate == "failed"
    assert "died 3 times" in outcome.reply
    gate.opened.set()
    assert (await kit.ask(agent, "harmless")).item.fate == "answered"


async def test_every_message_in_a_turn_that_kills_the_process_gets_its_fate_and_reply(
    start: Start,
) -> None:
    """The second one steered the turn before it turned out to be poison."""
    steered, gate = Gate(), Gate()

    async def work() -> str:
        """Work."""
        await steered()
        return "worked"

    def reply(request: ModelRequest) -> Answer:
        match len(request.messages):
            case 1:
                return calls("work")
            case 3 | 4:
                return Reply(text="x", before=gate)
            case _:
                return "fine"

    kit = await start(reply, tools=[tool(name="work", effect="pure")(work).as_tool()])
    agent = await kit.agent()
    first = await kit.post(agent, "poison")
    await steered.reached.wait()
    second = await kit.post(agent, "on the way")
    steered.opened.set()
    for _ in range(3):
        await gate.reached.wait()
        gate.reached.clear()
        await kit.crash()
    for receipt in (first, second):
        outcome = await kit.outcome(receipt)
        assert outcome.item.fate == "failed"
        assert "died 3 times" in outcome.reply
    said = [kind for kind in await kit.kinds(agent) if kind.startswith("user")]
    assert said == ["user poison", "user on the way"]
    gate.opened.set()
    assert (await kit.ask(agent, "harmless")).item.fate == "answered"


async def test_each_message_of_a_burst_that_kills_the_process_is_told_in_its_chat(
    start: Start,
) -> None:
    gate = Gate()

    def reply(request: ModelRequest) -> Answer:
        return "fine" if "harmless" in last_said(request) else Reply(text="x", before=gate)

    kit = await start(reply, limits={"coalesce_window_ms": 50})
    agent = await kit.agent()
    chatting = Sender(type="user", id="ada", connector="chat")
    burst = [await kit.post(agent, f"m{n}", sender=chatting) for n in range(3)]
    for _ in range(3):
        await gate.reached.wait()
        gate.reached.clear()
        await kit.crash()
    outcomes = [await kit.outcome(receipt) for receipt in burst]
    assert [outcome.item.fate for outcome in outcomes] == ["failed"] * 3
    assert len({outcome.reply for outcome in outcomes}) == 1
    assert "died 3 times" in outcomes[0].reply
    gate.opened.set()
    assert (await kit.ask(agent, "harmless")).reply == "fine"


async def test_a_tool_that_kills_the_process_ends_too_though_the_model_insists(
    start: Start,
) -> None:
    """Each time the outcome is unknown, the model asks again: that is no progress."""
    gate = Gate()

    async def kill() -> str:
        """Kill."""
        await gate()
        return ""

    kit = await start(
        lambda request: calls("kill"), tools=[tool(name="kill", effect="once")(kill).as_tool()]
    )
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    for _ in range(3):
        await gate.reached.wait()
        gate.reached.clear()
        await kit.crash()
    outcome = await kit.outcome(receipt)
    assert outcome.item.fate == "failed"
    assert "died 3 times" in outcome.reply
    results = [r for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert {r.status for r in results} == {"unknown"}
    assert [r.text for r in results] == [UNKNOWN_OUTCOME, UNKNOWN_OUTCOME, UNKNOWN_AT_THE_END]


@pytest.mark.parametrize(
    ("gaps", "fate"),
    [
        ([4, 4], "failed"),
        ([5, 5, 5], "answered"),
        ([5, 1], "answered"),
        ([5, 1, 1], "failed"),
        ([1, 5, 1], "answered"),
    ],
    ids=str,
)
async def test_five_steps_without_a_crash_start_the_count_again_at_one(
    start: Start, gaps: list[int], fate: str
) -> None:
    """The gaps are the steps from one crash to the next; the third crash counted is the last."""
    gate = Gate()
    deadly = {sum(gaps[:n]) for n in range(len(gaps) + 1)}

    def reply(request: ModelRequest) -> Answer:
        steps = sum(isinstance(message, AssistantMessage) for message in request.messages)
        if steps > max(deadly):
            return "survived"
        return calls("gated" if steps in deadly else "work")

    kit = await start(reply, tools=[gated(gate), counted_tool([], "work")])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    for _ in deadly:
        await gate.reached.wait()
        gate.reached.clear()
        await kit.crash()
    assert (await kit.outcome(receipt)).item.fate == fate


async def test_an_agent_that_only_waits_is_not_blamed_for_deaths(
    start: Start, clock: FakeClock
) -> None:
    kit = await start([RateLimitedError("later", retry_after_seconds=500), "ok"], clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await clock.someone_sleeps(400)
    for _ in range(4):
        await kit.crash()
        await clock.someone_sleeps(400)
    clock.advance(500)
    assert (await kit.outcome(receipt)).reply == "ok"


async def test_a_call_that_a_clean_stop_came_before_simply_runs_later(start: Start) -> None:
    gate = Gate()
    ran: list[str] = []
    kit = await start(
        [calls("gated", "second", "third"), "done"],
        tools=[gated(gate), counted_tool(ran, "second"), counted_tool(ran, "third")],
    )
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    restarting = asyncio.ensure_future(kit.restart())
    await asyncio.sleep(0)
    gate.opened.set()
    await restarting
    assert (await kit.outcome(receipt)).reply == "done"
    assert (gate.count, ran) == (1, ["second", "third"])
    results = [r.status for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert results == ["ok", "ok", "ok"]


async def test_a_call_that_ran_after_a_clean_stop_is_in_doubt_after_a_crash(start: Start) -> None:
    first, second = Gate(), Gate()
    kit = await start(
        [calls("gated", "second"), "done"], tools=[gated(first), gated(second, name="second")]
    )
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await first.reached.wait()
    restarting = asyncio.ensure_future(kit.restart())
    await asyncio.sleep(0)
    first.opened.set()
    await restarting
    await second.reached.wait()
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "done"
    assert second.count == 1
    results = [r.status for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    assert results == ["ok", "unknown"]


async def test_a_call_that_a_clean_stop_broke_off_is_in_doubt(start: Start) -> None:
    gate = Gate()
    kit = await start([calls("gated"), "done"], tools=[gated(gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    await kit.engine.stop(patience_seconds=0)
    await kit.store.close()
    await kit.open()
    assert (await kit.outcome(receipt)).reply == "done"
    assert gate.count == 1


async def test_a_clean_restart_is_no_crash(start: Start) -> None:
    gate = Gate()
    kit = await start(lambda request: Reply(text="ok", before=gate))
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    for _ in range(4):
        await gate.reached.wait()
        gate.reached.clear()
        await kit.restart()
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "ok"
