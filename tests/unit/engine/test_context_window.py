import asyncio

import pytest

from retinue.errors import ModelError
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Reply, ScriptedModel
from retinue.records import SummaryRecord, Usage
from retinue.stores.port import Agent
from retinue.testing.kit import HELPER, PATIENCE_SECONDS, Kit
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool, said

LIMIT = 1_000
WORDS = "w" * 4  # a token


def is_summary(request: ModelRequest) -> bool:
    return request.system.startswith("Summarise")


def words(tokens: int) -> str:
    return WORDS * tokens


def answering(summary: Answer = "in short", *, log: list[str] | None = None) -> ScriptedModel:
    def reply(request: ModelRequest) -> Answer:
        if log is not None:
            log.append("summary" if is_summary(request) else "answer")
        return summary if is_summary(request) else "ok"

    return ScriptedModel(reply, name="main")


async def reasons(kit: Kit, agent: Agent) -> list[str]:
    return [r.reason for r in await kit.records(agent) if isinstance(r, SummaryRecord)]


async def test_below_75_percent_nothing_happens(start: Start) -> None:
    kit = await start(answering(), context_limit=LIMIT)
    agent = await kit.agent()
    await kit.ask(agent, words(300))
    await kit.ask(agent, words(300))
    assert await reasons(kit, agent) == []


async def test_at_75_percent_it_compacts_after_the_turn(start: Start) -> None:
    log: list[str] = []
    kit = await start(answering(log=log), context_limit=LIMIT)
    agent = await kit.agent()
    await kit.ask(agent, words(400))
    await kit.ask(agent, words(400))
    await kit.engine.interrupt(agent.owner, agent.id)
    await kit.ask(agent, "and now?")
    assert await reasons(kit, agent) == ["warning"]
    assert log == ["answer", "answer", "summary", "answer"]
    history = await kit.kinds(agent)
    assert f"user {words(400)}" in history, "nothing in the history is lost"


async def test_at_90_percent_it_compacts_inside_a_tool_loop_before_the_next_call(
    start: Start,
) -> None:
    log: list[str] = []

    def reply(request: ModelRequest) -> Answer:
        if is_summary(request):
            log.append("summary")
            return "in short"
        steps = sum(line.startswith("work done") for line in said(request))
        log.append(f"step {steps}")
        return calls("work") if len([e for e in log if e != "summary"]) < 5 else "done"

    async def work() -> str:
        """Do a lot."""
        return "work done " + words(180)

    kit = await start(reply, context_limit=LIMIT, tools=[tool(effect="pure")(work)])
    agent = await kit.agent()
    assert (await kit.ask(agent, words(180))).reply == "done"
    assert "critical" in await reasons(kit, agent)
    assert log.index("summary") < len(log) - 1


async def test_at_100_percent_whole_exchanges_are_dropped_without_a_model(start: Start) -> None:
    shown: list[list[str]] = []

    def reply(request: ModelRequest) -> Answer:
        shown.append(said(request))
        return "ok"

    kit = await start(reply, context_limit=LIMIT)
    agent = await kit.agent()
    for text in (words(200) + "a", words(200) + "b", words(700) + "c"):
        await kit.ask(agent, text)
    assert (await reasons(kit, agent))[0] == "emergency"
    notice, last = shown[2]
    assert last.endswith("c")
    assert "dropped from the context" in notice


async def test_a_summariser_that_fails_does_not_stop_the_turn_or_loop(start: Start) -> None:
    log: list[str] = []
    kit = await start(answering(ModelError("no summary"), log=log), context_limit=LIMIT)
    agent = await kit.agent()
    for _ in range(3):
        assert (await kit.ask(agent, words(300))).reply == "ok"
    assert log.count("summary") <= 3
    assert log.count("answer") == 3


@pytest.mark.parametrize("empty", ["", Reply(thinking="hm"), calls("work")])
async def test_a_summary_without_words_is_none(start: Start, empty: Answer) -> None:
    kit = await start(answering(empty), context_limit=LIMIT)
    agent = await kit.agent()
    await kit.ask(agent, words(400))
    await kit.ask(agent, words(400))
    await kit.ask(agent, "next")
    assert "warning" not in await reasons(kit, agent)


async def test_a_summary_that_frees_nothing_is_not_asked_for_again_and_again(
    start: Start,
) -> None:
    log: list[str] = []
    kit = await start(answering(words(900), log=log), context_limit=LIMIT)
    agent = await kit.agent()
    for _ in range(6):
        assert (await kit.ask(agent, words(150))).reply == "ok"
    assert log.count("summary") <= 6


async def test_a_prompt_that_fills_the_context_alone_does_not_loop(start: Start) -> None:
    log: list[str] = []
    definition = HELPER + f'systemPrompt = "{words(990)}"\n'
    kit = await start(
        answering(log=log), context_limit=LIMIT, definitions={"helper.toml": definition}
    )
    agent = await kit.agent()
    for number in range(5):
        assert (await kit.ask(agent, f"{number} {words(20)}")).reply == "ok"
    assert log.count("summary") <= 5
    assert len(await kit.records(agent)) < 30


async def test_the_model_s_own_window_is_the_limit_when_it_is_smaller(start: Start) -> None:
    small = ScriptedModel(lambda request: "ok", name="main", window=LIMIT)
    kit = await start(small)
    agent = await kit.agent()
    await kit.ask(agent, words(500))
    await kit.ask(agent, words(600))
    assert (await reasons(kit, agent))[:1] == ["emergency"]


async def test_what_the_provider_counts_moves_the_thresholds(start: Start) -> None:
    def reply(request: ModelRequest) -> Answer:
        if is_summary(request):
            return "in short"
        return Reply(text="ok", usage=Usage(input=800, output=1))

    kit = await start(reply, context_limit=LIMIT)
    agent = await kit.agent()
    await kit.ask(agent, words(200))
    await kit.ask(agent, words(200))
    await kit.ask(agent, "next")
    assert await reasons(kit, agent) != []


async def test_compact_by_command_sums_up_all_but_the_newest(start: Start) -> None:
    model = answering()
    kit = await start(model)
    agent = await kit.agent()
    for number in range(6):
        await kit.ask(agent, f"message {number}")
    assert await kit.engine.compact(agent.owner, agent.id)
    await kit.ask(agent, "and?")
    shown = said(model.requests[-1])
    assert "in short" in shown[0]
    assert "message 0" not in shown
    assert len(shown) < 5


async def test_compact_of_an_empty_conversation_says_that_there_was_nothing(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    assert not await kit.engine.compact(agent.owner, agent.id)


async def test_compact_that_is_stopped_did_nothing(start: Start) -> None:
    gate = Gate()
    kit = await start(answering(Reply(text="x", before=gate)))
    agent = await kit.agent()
    await kit.ask(agent, "one")
    await kit.ask(agent, "two")
    compacting = asyncio.ensure_future(kit.engine.compact(agent.owner, agent.id))
    await gate.reached.wait()
    await kit.engine.interrupt(agent.owner, agent.id)
    assert await asyncio.wait_for(compacting, PATIENCE_SECONDS) is False
    assert await reasons(kit, agent) == []


async def test_the_context_is_the_same_after_a_restart(start: Start) -> None:
    model = answering()
    kit = await start(model, context_limit=LIMIT, tools=[counted_tool([], "work")])
    agent = await kit.agent()
    for number in range(8):
        await kit.ask(agent, f"{number} {words(150)}")
    live = said(model.requests[-1])[:-1]
    await kit.restart()
    await kit.ask(agent, "x")
    cold = said(model.requests[-1])
    assert cold[-1] == "x"
    assert set(cold[1:-1]) <= {*live, f"7 {words(150)}"}
