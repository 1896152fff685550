"""Subagents that begin as soon as the prompt that lists them becomes active."""

import pytest

from retinue.ids import LOCAL_OWNER
from retinue.model_messages import ToolMessage
from retinue.records import AssistantRecord
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import quiet
from tests.unit.engine.subagents.support import (
    BOSS,
    PAIR,
    Play,
    begin,
    call,
    children,
    only_child,
    registry_until,
    says,
    tool_result,
)

AT_ONCE = "{name: pair, immediate: true}"
KEPT = "{name: pair, blocking: false, immediate: true, resumable: true}"


async def test_an_immediate_child_is_there_before_the_first_step_of_the_model(
    start: Start,
) -> None:
    play = Play(says("noted"))
    kit = await begin(start, play, AT_ONCE)
    boss = await kit.agent("boss")
    assert (await kit.ask(boss, "hello")).reply == "noted"
    assert play.spoke == ["worker", "reviewer", "boss"]
    assert isinstance(play.last("boss").messages[-2], ToolMessage)
    assert (await tool_result(kit, boss)).text == "a good tree"
    await kit.ask(boss, "hello again")
    assert len(await children(kit, boss)) == 1


async def test_a_new_agent_boots_before_anybody_writes_and_then_rests(start: Start) -> None:
    play = Play(says("noted"))
    kit = await begin(start, play, KEPT)
    boss = await kit.agent("boss")
    await registry_until(kit, boss, ("idle", ""))
    await quiet(kit)
    assert (await kit.fresh(boss)).state.turn is None
    first = next(r for r in await kit.records(boss) if isinstance(r, AssistantRecord))
    assert [part.name for part in first.calls] == ["subagent_create"]
    assert await kit.ask(boss, "hello")
    assert len(await children(kit, boss)) == 1


async def test_immediate_children_begin_in_children_too(start: Start) -> None:
    nested = (
        "---\nmodel: main\ntools: [draw, give_up, {name: helpers, immediate: true}]\n---\n"
        "You are the worker."
    )
    helpers = PAIR.replace('"pair"', '"helpers"').replace('"worker"', '"simple"')
    simple = "---\nmodel: main\ntools: [draw, give_up]\n---\nYou are the worker."
    kit = await begin(
        start,
        Play(says("noted")),
        AT_ONCE,
        prompts={"worker.md": nested, "simple.md": simple},
        definitions={"helpers.toml": helpers},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "hello")
    child = await only_child(kit, boss)
    grandchild = await only_child(kit, child)
    assert grandchild.definition == "helpers"


async def test_an_immediate_child_of_itself_stops_at_the_limit_of_depth(start: Start) -> None:
    nested = (
        "---\nmodel: main\ntools: [draw, give_up, {name: pair, immediate: true}]\n---\n"
        "You are the worker."
    )
    kit = await begin(
        start,
        Play(says("noted")),
        AT_ONCE,
        prompts={"worker.md": nested},
        limits={"subagent_depth": 3},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "hello")
    depth, agent = 0, boss
    while found := await children(kit, agent):
        (agent,) = found
        depth += 1
    assert depth == 3


async def test_a_prompt_that_takes_over_boots_its_own_children(start: Start) -> None:
    chief = BOSS.replace('"boss"', '"chief"').replace("[sideA]", "exposeAsTool = true\n[sideA]")

    play = Play(lambda _: call("chief"))
    kit = await begin(
        start,
        lambda request: "taken over" if "the chief" in request.system else play(request),
        "chief",
        definitions={"chief.toml": chief},
        prompts={"chief.md": f"---\nmodel: main\ntools: [{AT_ONCE}]\n---\nYou are the chief."},
    )
    boss = await kit.agent("boss")
    assert (await kit.ask(boss, "hello")).reply == "taken over"
    assert play.spoke == ["boss", "worker", "reviewer"]
    assert len(await children(kit, boss)) == 1


@pytest.mark.parametrize(
    ("value", "is_there"),
    [("true", True), ("1", True), (" YES ", True), ("on", False), ("", False), (None, False)],
)
async def test_an_optional_child_is_there_only_when_its_variable_says_so(
    start: Start, value: str | None, is_there: bool
) -> None:
    env = "" if value is None else f'env = {{WITH_PAIR = "{value}"}}\n'
    play = Play(says("noted"))
    kit = await begin(
        start,
        play,
        "{name: pair, optional: WITH_PAIR, immediate: true}",
        definitions={"boss.toml": BOSS.replace("[sideA]", f"{env}[sideA]")},
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "hello")
    assert ("pair" in {spec.name for spec in play.last("boss").tools}) == is_there
    assert bool(await children(kit, boss)) == is_there


async def test_each_set_of_variables_makes_an_instance_that_has_them_alone(start: Start) -> None:
    entry = (
        "{name: pair, blocking: false, resumable: true, "
        "immediate: {nameEnv: WHO, scopedEnv: [PAIR_KEY]}}"
    )
    kit = await begin(start, Play(says("noted")), entry)
    env = {
        "WHO": "Ada",
        "WHO__2": "Bob",
        "PAIR_KEY": "key-of-ada",
        "PAIR_KEY__2": "key-of-bob",
        "SHARED": "of all",
    }
    boss = await kit.engine.create(LOCAL_OWNER, "boss", env=env)
    await registry_until(kit, boss, ("idle", ""), ("idle", ""))
    own = {
        child.state.name: {
            name: kit.engine.environment.own_value(child.id, child.state.env, name)
            for name in ("PAIR_KEY", "PAIR_KEY__2", "SHARED")
        }
        for child in await children(kit, boss)
    }
    assert own == {
        "Ada": {"PAIR_KEY": "key-of-ada", "PAIR_KEY__2": None, "SHARED": "of all"},
        "Bob": {"PAIR_KEY": "key-of-bob", "PAIR_KEY__2": None, "SHARED": "of all"},
    }
    assert set((await kit.fresh(boss)).state.env) == {"WHO", "WHO__2", "SHARED"}
    assert "key-of" not in str(await kit.records(boss))


async def test_no_more_instances_begin_than_there_may_be(start: Start) -> None:
    entry = "{name: pair, resumable: {maxInstances: 1}, immediate: {scopedEnv: [PAIR_KEY]}}"
    kit = await begin(start, Play(says("noted")), entry)
    env = {"PAIR_KEY": "key-of-ada", "PAIR_KEY__2": "key-of-bob"}
    boss = await kit.engine.create(LOCAL_OWNER, "boss", env=env)
    await registry_until(kit, boss, ("idle", ""))
    assert (await kit.ask(boss, "hello")).reply == "noted"
    assert len(await children(kit, boss)) == 1


async def test_without_scoped_env_an_instance_is_given_what_is_scoped_in_its_graph(
    start: Start,
) -> None:
    worker = (
        "---\nmodel: main\ntools: [draw, give_up]\nvariables: [{name: PAIR_KEY, scoped: true, "
        "required: true}]\n---\nYou are the worker."
    )
    kit = await begin(
        start,
        Play(says("noted")),
        "{name: pair, blocking: false, resumable: true, immediate: {nameEnv: WHO}}",
        prompts={"worker.md": worker},
    )
    env = {"WHO": "Ada", "WHO__2": "Bob", "PAIR_KEY": "key-of-ada", "PAIR_KEY__2": "key-of-bob"}
    boss = await kit.engine.create(LOCAL_OWNER, "boss", env=env)
    await registry_until(kit, boss, ("idle", ""), ("idle", ""))
    own = {
        child.state.name: kit.engine.environment.own_value(child.id, child.state.env, "PAIR_KEY")
        for child in await children(kit, boss)
    }
    assert own == {"Ada": "key-of-ada", "Bob": "key-of-bob"}
    assert set((await kit.fresh(boss)).state.env) == {"WHO", "WHO__2"}
