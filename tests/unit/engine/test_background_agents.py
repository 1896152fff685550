"""Agents that are started in the background, through the tool that starts them."""

import re
from collections.abc import Callable

import pytest

from retinue.agents.descriptor import SubagentDescriptor
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.stores.port import Agent
from retinue.testing.kit import HELPER, Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, last_said, until
from tests.unit.engine.test_suspension import child_of, kinds_until

SPY = 'name = "spy"\ndisplayName = "Spy"\ndescription = "Hidden."\nuiVisible = false\n'
CLERK = 'name = "clerk"\ndisplayName = "Clerk"\ndescription = "Files things."\n'


def starts(prompt: str = "dig", **arguments: object) -> Reply:
    return Reply(
        calls=[Call(name="start_background_agent", arguments={"prompt": prompt, **arguments})]
    )


def on_go(reply: Answer, worker: Answer = "dug up a bone") -> Callable[[ModelRequest], Answer]:
    """The person says go; a child is told to dig; everything else is noted."""

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return reply
        if text.startswith("Started"):
            return "begun"
        return worker if text.startswith("dig") else "noted"

    return script


async def result(kit: Kit, agent: Agent) -> str:
    kinds = await kit.kinds(agent)
    return [kind for kind in kinds if kind.startswith("tool start_background_agent")][-1]


async def children(kit: Kit, agent: Agent) -> list[Agent]:
    return list(await kit.store.children(agent.owner, agent.id))


async def test_a_background_agent_begins_with_the_prompt_and_its_result_comes_back_once(
    start: Start,
) -> None:
    kit = await start(on_go(starts(name="Digger")), collaborates=True)
    parent = await kit.agent()
    outcome = await kit.ask(parent, "go")
    assert outcome.item.fate == "answered"
    (child,) = await children(kit, parent)
    assert child.descriptor == SubagentDescriptor(
        id=child.id, parent_agent_id=parent.id, name="Digger"
    )
    assert child.definition == parent.definition
    assert child.id in await result(kit, parent)
    await kinds_until(kit, parent, "assistant noted")
    await kit.restart()
    await kit.ask(parent, "hello")
    assert (await kit.kinds(parent)).count("system dug up a bone") == 1
    assert (await kit.kinds(child))[1] == "user dig"


async def test_the_returned_id_takes_messages(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return starts()
        if "Started the background agent" in text:
            found = re.search(r"\((\w{24})\)", text)
            assert found
            arguments = {"text": "deeper", "agentId": found[1]}
            return Reply(calls=[Call(name="send_agent_message", arguments=arguments)])
        return "ok"

    kit = await start(script, collaborates=True)
    parent = await kit.agent()
    await kit.ask(parent, "go")
    (child,) = await children(kit, parent)

    async def is_told() -> bool:
        return "system deeper" in await kit.kinds(child)

    await until(is_told)


async def test_a_child_that_wrote_to_its_parent_is_not_heard_twice(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return starts()
        if text == "dig":
            return Reply(calls=[Call(name="send_agent_message", arguments={"text": "a bone"})])
        return "noted" if "bone" in text else "that was all"

    kit = await start(script, collaborates=True)
    parent = await kit.agent()
    await kit.ask(parent, "go")
    kinds = await kinds_until(kit, parent, "assistant noted")
    (child,) = await children(kit, parent)
    await kinds_until(kit, child, "assistant that was all")
    assert [kind for kind in kinds if kind.startswith("system")] == ["system a bone"]
    await kit.restart()
    assert [k for k in await kit.kinds(parent) if k.startswith("system")] == ["system a bone"]


async def test_a_result_survives_a_crash_before_the_parent_reads_it(start: Start) -> None:
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return starts()
        if "bone" in text:
            return Reply(text="noted", before=gate)
        return "dug up a bone" if text == "dig" else "ok"

    kit = await start(script, collaborates=True)
    parent = await kit.agent()
    await kit.ask(parent, "go")
    await gate.reached.wait()
    await kit.crash()
    gate.opened.set()
    kinds = await kinds_until(kit, parent, "assistant noted")
    assert kinds.count("system dug up a bone") == 1


@pytest.mark.parametrize("definition", ["spy", "denied", "nobody"])
async def test_a_definition_that_may_not_be_used_is_refused_in_one_way(
    start: Start, definition: str
) -> None:
    definitions = {
        "helper.toml": HELPER + 'agentDenylist = ["denied"]\n',
        "spy.toml": SPY,
        "denied.toml": 'name = "denied"\ndisplayName = "Denied"\ndescription = "No."\n',
    }
    kit = await start(
        on_go(starts(definition=definition)), collaborates=True, definitions=definitions
    )
    parent = await kit.agent()
    await kit.ask(parent, "go")
    text = (await result(kit, parent)).replace(definition, "X")
    assert "there is no agent 'X' that you can reach" in text
    assert await children(kit, parent) == []


async def test_a_child_of_another_definition_is_that(start: Start) -> None:
    definitions = {"helper.toml": HELPER, "clerk.toml": CLERK}
    kit = await start(on_go(starts(definition="clerk")), collaborates=True, definitions=definitions)
    parent = await kit.agent()
    await kit.ask(parent, "go")
    (child,) = await children(kit, parent)
    assert (child.definition, child.owner, child.state.grants) == ("clerk", parent.owner, [])


async def test_an_empty_prompt_starts_nobody(start: Start) -> None:
    kit = await start(on_go(starts("  \n")), collaborates=True)
    parent = await kit.agent()
    await kit.ask(parent, "go")
    assert "prompt: it is empty" in await result(kit, parent)
    assert await children(kit, parent) == []


async def test_only_so_many_children_work_at_once_and_resting_ones_do_not_count(
    start: Start,
) -> None:
    gate = Gate()
    kit = await start(
        on_go(starts(), Reply(text="bone", before=gate)),
        collaborates=True,
        limits={"live_children": 2},
    )
    parent = await kit.agent()
    for _ in range(3):
        await kit.ask(parent, "go")
    assert "limits.liveChildren" in await result(kit, parent)
    assert len(await children(kit, parent)) == 2
    gate.opened.set()

    async def are_resting() -> bool:
        return not any(child.is_busy for child in await children(kit, parent))

    await until(are_resting)
    await kit.ask(parent, "go")
    assert len(await children(kit, parent)) == 3


async def test_agents_are_nested_only_so_deep(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        is_asked = isinstance(request.messages[-1], UserMessage) and last_said(request) == "dig"
        return starts() if is_asked else "done"

    kit = await start(script, collaborates=True, limits={"subagent_depth": 2})
    parent = await kit.agent()
    first = await child_of(kit, parent)
    second = await child_of(kit, first)
    await kit.ask(second, "dig")
    assert "limits.subagentDepth" in await result(kit, second)
    await kit.ask(first, "dig")
    assert len(await children(kit, first)) == 2


async def test_a_background_agent_has_its_parents_variables_but_for_what_is_scoped(
    start: Start,
) -> None:
    own = HELPER + 'variables = [{name = "OWN", scoped = true}]\n'
    kit = await start(on_go(starts()), collaborates=True, definitions={"helper.toml": own})
    env = {"SHARED": "of all", "OWN": "of one"}
    parent = await kit.engine.create(LOCAL_OWNER, "helper", env=env)
    await kit.ask(parent, "go")
    (child,) = await children(kit, parent)
    assert set(child.state.env) == {"SHARED"}
    assert kit.engine.environment.own_value(child.id, child.state.env, "SHARED") == "of all"
