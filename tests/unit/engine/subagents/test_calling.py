"""Subagents that a prompt calls like tools, and that end with their first run."""

import pytest

from retinue.errors import ModelError
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import quiet
from tests.unit.engine.subagents.support import (
    BOSS,
    PAIR,
    TASK_SCHEMA,
    Play,
    begin,
    call,
    children,
    notices,
    on_go,
    only_child,
    registry,
    registry_until,
    says,
    tool_result,
)
from tests.unit.engine.support import Gate, eventually, last_said

GO = call("pair", message="draw a tree")
ASIDE = "{name: pair, blocking: false}"


async def test_a_blocking_child_gives_its_result_as_the_result_of_the_call(start: Start) -> None:
    play = Play(on_go(GO))
    kit = await begin(start, play)
    boss = await kit.agent("boss")
    assert (await kit.ask(boss, "go")).reply == "noted"
    result = await tool_result(kit, boss)
    assert (result.status, result.text) == ("ok", "a good tree")
    assert await notices(kit, boss) == []
    child = await only_child(kit, boss)
    assert child.lifecycle == "terminated"
    assert (await kit.kinds(child))[1] == "user draw a tree"
    assert await registry(kit, boss) == [("terminated", "")]
    assert play.spoke == ["boss", "worker", "reviewer", "boss"]


async def test_a_child_beside_the_work_sends_its_result_in_the_words_of_the_seed(
    start: Start,
) -> None:
    gate = Gate()

    def reviewer(_: ModelRequest) -> Answer:
        return Reply(
            calls=[Call(name="approve", arguments={"summary": "a good tree"})], before=gate
        )

    play = Play(on_go(GO), reviewer=reviewer)
    kit = await begin(start, play, ASIDE)
    boss = await kit.agent("boss")
    assert (await kit.ask(boss, "go")).item.fate == "answered"
    child = await only_child(kit, boss)
    assert child.id in (await tool_result(kit, boss)).text
    gate.opened.set()
    await quiet(kit)
    (notice,) = await notices(kit, boss)
    assert notice.text == (
        f"Subagent (reference: {child.id}) has returned the following result:\n\na good tree"
    )
    assert (notice.origin, notice.silent) == (child.id, False)
    assert play.spoke[-1] == "boss"  # it heard of it in a turn of its own
    assert (await kit.fresh(child)).lifecycle == "terminated"


async def test_a_failure_is_told_in_the_words_of_the_seed(start: Start) -> None:
    def worker(_: ModelRequest) -> Answer:
        return call("give_up", reason="no paper")

    kit = await begin(start, Play(on_go(GO), worker=worker), ASIDE)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    child = await only_child(kit, boss)
    (notice,) = await notices(kit, boss)
    assert notice.text == f"Subagent (reference: {child.id}) has reported a failure:\n\nno paper"


async def test_a_blocking_child_that_fails_gives_an_error_and_its_reason_is_kept(
    start: Start,
) -> None:
    kit = await begin(start, Play(on_go(GO), worker=lambda _: call("give_up", reason="no paper")))
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    result = await tool_result(kit, boss)
    assert (result.status, result.text) == ("error", "no paper")
    (entry,) = (await kit.fresh(boss)).state.children
    assert (entry.lifecycle, entry.failure) == ("terminated", "no paper")


COMMANDS = ("stop", "reset", "terminate", "delete")


async def told_failure(kit: Kit, boss: Agent) -> str:
    """What the boss was told, however it was waiting."""
    found = await notices(kit, boss)
    return found[-1].text if found else (await tool_result(kit, boss)).text


@pytest.mark.parametrize("entry", ["pair", ASIDE])
@pytest.mark.parametrize("how", COMMANDS)
async def test_a_child_that_is_broken_off_reaches_its_parent_once_as_a_failure(
    start: Start, how: str, entry: str
) -> None:
    gate = Gate()
    kit = await begin(
        start, Play(on_go(GO), worker=lambda _: Reply(text="late", before=gate)), entry
    )
    boss = await kit.agent("boss")
    receipt = await kit.post(boss, "go")
    await gate.reached.wait()
    child = await only_child(kit, boss)
    engine = kit.engine
    command = {"stop": engine.interrupt, "reset": engine.reset}.get(how)
    command = command or {"terminate": engine.terminate, "delete": engine.delete}[how]
    await command(LOCAL_OWNER, child.id)
    await kit.outcome(receipt)
    await quiet(kit)
    text = await told_failure(kit, boss)
    assert "ended without a result" in text
    assert len(await notices(kit, boss)) == (0 if entry == "pair" else 1)
    assert await registry(kit, boss) == [("terminated", "")]


@pytest.mark.parametrize("entry", ["pair", ASIDE])
async def test_a_limit_and_a_failing_model_reach_the_parent_as_failures(
    start: Start, entry: str
) -> None:
    def reviewer(request: ModelRequest) -> Answer:
        if "broken" in str(request.messages):
            return ModelError("the provider is gone")
        return "not yet"

    kit = await begin(start, Play(on_go(GO, broken=_go("broken")), reviewer=reviewer), entry)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    assert "after 6 turns" in await told_failure(kit, boss)
    await kit.ask(boss, "broken")
    await quiet(kit)
    assert "the provider is gone" in await told_failure(kit, boss)


def _go(message: str) -> Reply:
    return call("pair", message=message)


async def test_without_a_tool_that_ends_it_the_last_words_are_the_result(start: Start) -> None:
    pair = PAIR.partition("[sideA.sessionFail]")[0] + '[sideB]\nprompt = "reviewer"\n'
    kit = await begin(
        start, Play(on_go(GO), reviewer=says("fair enough")), definitions={"pair.toml": pair}
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    result = await tool_result(kit, boss)
    assert (result.status, result.text) == ("ok", "fair enough")


async def test_a_child_that_somebody_ends_is_not_kept_as_failed(start: Start) -> None:
    gate = Gate()
    kit = await begin(start, Play(on_go(GO), worker=lambda _: Reply(text="late", before=gate)))
    boss = await kit.agent("boss")
    await kit.post(boss, "go")
    await gate.reached.wait()
    await kit.engine.terminate(LOCAL_OWNER, (await only_child(kit, boss)).id)
    await registry_until(kit, boss, ("terminated", ""))
    (ended,) = (await kit.fresh(boss)).state.children
    assert ended.failure == ""


@pytest.mark.parametrize("how", ["stop", "terminate"])
async def test_a_parent_that_waits_no_more_ends_the_child_it_waited_for(
    start: Start, how: str
) -> None:
    gate = Gate()
    kit = await begin(start, Play(on_go(GO), worker=lambda _: Reply(text="late", before=gate)))
    boss = await kit.agent("boss")
    await kit.post(boss, "go")
    await gate.reached.wait()
    child = await only_child(kit, boss)
    if how == "stop":
        await kit.engine.interrupt(LOCAL_OWNER, boss.id)
        await registry_until(kit, boss, ("terminated", ""))
    else:
        await kit.engine.terminate(LOCAL_OWNER, boss.id)
    await quiet(kit)
    assert (await kit.fresh(child)).lifecycle == "terminated"
    assert await notices(kit, boss) == []


async def test_several_calls_of_one_response_work_at_the_same_time(start: Start) -> None:
    gate = Gate()
    kit = await begin(
        start,
        Play(
            on_go(Reply(calls=[Call(name="pair", arguments={"message": f"n{n}"}) for n in (1, 2)])),
            worker=lambda _: Reply(text="here", before=gate),
        ),
    )
    boss = await kit.agent("boss")
    receipt = await kit.post(boss, "go")
    await eventually(lambda: gate.count == 2)
    gate.opened.set()
    assert (await kit.outcome(receipt)).item.fate == "answered"


async def test_the_parameters_are_the_schema_of_the_childs_first_prompt(start: Start) -> None:
    entry = "{name: pair, initUserMessageProperty: task, initAgentNameProperty: called}"
    play = Play(on_go(call("pair", task="a tree", called=" Tree \n artist ")))
    kit = await begin(start, play, entry, schema=TASK_SCHEMA)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    (spec,) = [s for s in play.last("boss").tools if s.name == "pair"]
    assert spec.parameters["required"] == ["task"]
    assert spec.description == "Draws what it is told to."
    child = await only_child(kit, boss)
    assert child.state.name == "Tree artist"
    kinds = await kit.kinds(child)
    assert kinds[1].startswith("system You were started with these arguments:")
    assert kinds[2] == "user a tree"


async def test_without_a_property_the_first_message_is_all_arguments_as_json(
    start: Start,
) -> None:
    kit = await begin(start, Play(on_go(call("pair", task="a tree"))), schema=TASK_SCHEMA)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert 'user {\n  "task": "a tree"\n}' in await kit.kinds(await only_child(kit, boss))


async def test_arguments_that_do_not_fit_start_nobody(start: Start) -> None:
    kit = await begin(start, Play(on_go(call("pair", job="a tree"))), schema=TASK_SCHEMA)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert "'task': missing" in (await tool_result(kit, boss)).text
    assert await children(kit, boss) == []


async def test_scoping_decides_about_subagents_too(start: Start) -> None:
    play = Play(on_go(GO))
    denied = BOSS.replace("[sideA]", 'toolDenylist = ["pair"]\n[sideA]')
    kit = await begin(start, play, definitions={"boss.toml": denied})
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert "pair" not in {spec.name for spec in play.last("boss").tools}
    assert (await tool_result(kit, boss)).status == "refused"
    assert await children(kit, boss) == []


async def test_children_are_nested_only_so_deep(start: Start) -> None:
    def worker(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return call("give_up", reason=last_said(request))
        return call("pair", message="deeper")

    worker_prompt = "---\nmodel: main\ntools: [give_up, pair]\n---\nYou are the worker."
    kit = await begin(
        start,
        Play(on_go(GO), worker=worker),
        prompts={"worker.md": worker_prompt},
        limits={"subagent_depth": 3},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert "limits.subagentDepth" in (await tool_result(kit, boss)).text


@pytest.mark.parametrize("entry", ["pair", ASIDE])
async def test_a_crash_in_the_middle_of_a_child_loses_and_doubles_nothing(
    start: Start, entry: str
) -> None:
    gate = Gate()

    def reviewer(_: ModelRequest) -> Answer:
        return Reply(calls=[Call(name="approve", arguments={"summary": "ok"})], before=gate)

    play = Play(on_go(GO), reviewer=reviewer)
    kit = await begin(start, play, entry)
    boss = await kit.agent("boss")
    receipt = await kit.post(boss, "go")
    await gate.reached.wait()
    await kit.crash()
    gate.opened.set()
    await kit.outcome(receipt)
    await quiet(kit)
    told = [n.text for n in await notices(kit, boss)]
    text = (await tool_result(kit, boss)).text
    assert (text == "ok") != any(t.endswith("\n\nok") for t in told)
    assert len(told) == (0 if entry == "pair" else 1)
    assert play.spoke.count("worker") == 1


async def test_a_terminal_call_that_fails_ends_nothing_and_is_tried_again(start: Start) -> None:
    tries: list[str] = []

    @tool(effect="once", name="approve")
    async def failing(summary: str = "", files: list[str] | None = None) -> str:
        """Approve the work, at the second try."""
        tries.append(summary)
        if len(tries) == 1:
            raise RuntimeError("the stamp is dry")
        return "approved"

    kit = await begin(start, Play(on_go(GO)), tools=[failing])
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert (await tool_result(kit, boss)).text == "a good tree"
    assert tries == ["a good tree"] * 2


async def test_a_side_that_nothing_stops_gives_way_after_each_step(start: Start) -> None:
    pair = PAIR.replace('prompt = "worker"', 'prompt = "worker"\nstopOnResponse = false')
    turns = iter(["not yet", "not yet"])

    def reviewer(_: ModelRequest) -> Answer:
        return next(turns, call("approve", summary="at last"))

    play = Play(on_go(GO), reviewer=reviewer)
    kit = await begin(start, play, definitions={"pair.toml": pair})
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert play.spoke == ["boss", *(["worker", "reviewer"] * 3), "boss"]
    assert (await tool_result(kit, boss)).text == "at last"


@pytest.mark.parametrize(("steps", "is_enough"), [(3, True), (2, False)])
async def test_a_side_takes_exactly_as_many_steps_as_it_may(
    start: Start, steps: int, is_enough: bool
) -> None:
    pair = PAIR.replace('prompt = "worker"', f'prompt = "worker"\nmaxSteps = {steps}')
    drawn = iter([call("draw", name="a.png"), call("draw", name="b.png")])
    kit = await begin(
        start,
        Play(on_go(GO), worker=lambda _: next(drawn, "here it is")),
        definitions={"pair.toml": pair},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    result = await tool_result(kit, boss)
    assert (result.status == "ok") == is_enough
    assert ("after 2 steps" in result.text) != is_enough
