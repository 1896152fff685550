"""Optional entries: there while their variable says so, wherever that was set."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, ScriptedModel
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import quiet
from tests.unit.engine.subagents.support import (
    PAIR,
    REVIEWER,
    WORKER,
    Play,
    children,
    on_go,
    pair_tools,
    registry_until,
    says,
)
from tests.unit.engine.support import calls, counted_tool

BOSS = """
name = "boss"
displayName = "Boss"
description = "Orders things."
{env}
[sideA]
prompt = "boss"
"""
CHIEF = """
name = "chief"
displayName = "Chief"
description = "Takes over."
exposeAsTool = true
systemPrompt = "You are the chief."
"""
EXPERT = "---\ntools: [{name: dig, optional: GATE}]\n---\nYou are the expert."
ENTRIES = {
    "pair": "{name: pair, optional: GATE}",
    "subagent_create": "{name: pair, optional: GATE, resumable: true}",
    "chief": "{name: chief, optional: GATE}",
    "expert": "{name: expert, optional: GATE}",
    "dig": "{name: dig, optional: GATE}",
}


async def begin(
    start: Start,
    script: object,
    entry: str,
    *,
    env: str = "",
    files: Mapping[str, str] | None = None,
) -> Kit:
    return await start(
        script,  # pyright: ignore[reportArgumentType]
        tools=[counted_tool([], "dig"), counted_tool([], "rest"), *pair_tools()],
        definitions={"boss.toml": BOSS.format(env=env), "pair.toml": PAIR, "chief.toml": CHIEF},
        prompts={
            "boss.md": f"---\ntools: [rest, {entry}]\n---\nYou are the boss.",
            "worker.md": WORKER.format(schema=""),
            "reviewer.md": REVIEWER,
            "expert.md": EXPERT,
            **(files or {}),
        },
        collaborates=True,
    )


async def offered(kit: Kit, agent: Agent) -> set[str]:
    return {tool.name for tool in await kit.engine.tools_of(agent.owner, agent.id)}


@pytest.mark.parametrize(("name", "entry"), ENTRIES.items())
async def test_every_kind_of_entry_follows_its_variable_from_step_to_step(
    start: Start, name: str, entry: str
) -> None:
    model = ScriptedModel(says("noted"), name="main")
    kit = await begin(start, model, entry)
    boss = await kit.agent("boss")
    seen: list[bool] = []
    for value in (None, "true", "1", "YES", " yes ", "false", "on", "", "yes"):
        await kit.engine.variables.set_agent(LOCAL_OWNER, boss.id, {"GATE": value or ""})
        await kit.ask(boss, "hello")
        tools = {spec.name for spec in model.requests[-1].tools}
        assert "rest" in tools
        assert (await offered(kit, boss)) == tools
        seen.append(name in tools)
    assert seen == [False, True, True, True, True, False, False, False, True]


async def test_the_variable_counts_wherever_it_is_set_and_the_nearest_place_decides(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "retinue.toml").write_text('[env]\nGATE = "yes"\nOTHER = "1"\n')
    kit = await begin(start, says("noted"), ENTRIES["dig"], env='env = {GATE = "no"}')
    boss = await kit.agent("boss")
    variables = kit.engine.variables
    assert "dig" in await offered(kit, boss)  # the installation goes before the definition
    await variables.set_account(LOCAL_OWNER, "GATE", "no")
    assert "dig" not in await offered(kit, boss)
    await variables.set_agent(LOCAL_OWNER, boss.id, {"GATE": "yes"})
    assert "dig" in await offered(kit, boss)
    await variables.set_agent(LOCAL_OWNER, boss.id, {"GATE": None})
    await variables.unset_account(LOCAL_OWNER, "GATE")
    assert "dig" in await offered(kit, boss)


@pytest.mark.parametrize("place", ["definition", "prompt"])
async def test_the_definition_and_the_prompt_can_switch_their_entries_on(
    start: Start, place: str
) -> None:
    own = "env: {GATE: '1'}\n" if place == "prompt" else ""
    prompt = f"---\n{own}tools: [{ENTRIES['dig']}]\n---\nYou are the boss."
    env = 'env = {GATE = "TRUE"}' if place == "definition" else ""
    kit = await begin(start, says("noted"), "dig", env=env, files={"boss.md": prompt})
    assert "dig" in await offered(kit, await kit.agent("boss"))


async def test_one_owners_switch_is_not_anothers(start: Start) -> None:
    kit = await begin(start, says("noted"), ENTRIES["dig"])
    mine, theirs = await kit.agent("boss"), await kit.agent("boss", OwnerId("ann"))
    await kit.engine.variables.set_account(LOCAL_OWNER, "GATE", "yes")
    assert "dig" in await offered(kit, mine)
    assert "dig" not in await offered(kit, theirs)


async def test_what_is_switched_off_between_the_call_and_its_run_does_not_run(
    start: Start,
) -> None:
    done: list[str] = []

    @tool(effect="once")
    async def close(ctx: ToolContext) -> str:
        """Switch the other one off."""
        await kit.engine.variables.set_account(ctx.owner, "GATE", "no")
        return "closed"

    def script(request: ModelRequest) -> Answer:
        if isinstance(request.messages[-1], ToolMessage):
            return "noted"
        return calls("close") if len(request.messages) == 1 else calls("dig")

    kit = await start(
        script,
        tools=[counted_tool(done, "dig"), close],
        definitions={"boss.toml": BOSS.format(env="")},
        prompts={"boss.md": f"---\ntools: [close, {ENTRIES['dig']}]\n---\nYou are the boss."},
    )
    boss = await kit.agent("boss")
    await kit.engine.variables.set_account(LOCAL_OWNER, "GATE", "yes")
    await kit.ask(boss, "close it")
    await kit.ask(boss, "and now dig")
    assert done == []
    assert "tool dig refused The tool 'dig' is not allowed for this agent." in await kit.kinds(boss)


async def test_entries_of_a_prompt_that_is_called_follow_the_variable_too(start: Start) -> None:
    model = ScriptedModel(
        lambda request: (
            "dug"
            if "the expert" in request.system
            else calls("expert")
            if not isinstance(request.messages[-1], ToolMessage)
            else "noted"
        ),
        name="main",
    )
    kit = await begin(start, model, "expert")
    boss = await kit.agent("boss")
    for value, expected in (("no", set[str]()), ("yes", {"dig"})):
        await kit.engine.variables.set_agent(LOCAL_OWNER, boss.id, {"GATE": value})
        await kit.ask(boss, "hello")
        asked = [r for r in model.requests if "the expert" in r.system][-1]
        assert {spec.name for spec in asked.tools} == expected


async def test_an_immediate_child_that_is_switched_on_later_begins_once(start: Start) -> None:
    entry = "{name: pair, optional: GATE, immediate: true, blocking: false, resumable: true}"
    kit = await begin(start, Play(says("noted")), entry)
    boss = await kit.agent("boss")
    await kit.ask(boss, "hello")
    assert await children(kit, boss) == []
    for value in ("yes", "no", "yes"):
        await kit.engine.variables.set_agent(LOCAL_OWNER, boss.id, {"GATE": value})
        await kit.ask(boss, "hello")
    await registry_until(kit, boss, ("idle", ""))
    await quiet(kit)
    assert len(await children(kit, boss)) == 1


async def test_a_child_of_a_branch_that_is_off_now_can_still_be_written_to(start: Start) -> None:
    play = Play(on_go(calls("subagent_create", agent="pair", name="Ann", message="draw")))
    kit = await begin(start, play, ENTRIES["subagent_create"], env='env = {GATE = "yes"}')
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await kit.engine.variables.set_agent(LOCAL_OWNER, boss.id, {"GATE": "no"})
    tools = await offered(kit, boss)
    assert "subagent_message" in tools
    assert "subagent_create" not in tools
