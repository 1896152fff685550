"""Agents that stay: permanent ones, and those that the settings name."""

import asyncio
import json
from pathlib import Path

from retinue.agents.descriptor import PermanentDescriptor, SwarmDescriptor, SystemDescriptor
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.stores.port import Agent, AgentQuery
from retinue.testing.kit import HELPER, Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import last_said, until
from tests.unit.engine.test_suspension import is_ended

SETTINGS = '[agents]\nsystemTags = { architect = "clerk" }\nswarms = { desk = "clerk" }\n'
CLERK = HELPER.replace("helper", "clerk")


def does(tool: str, /, **arguments: object) -> Reply:
    return Reply(calls=[Call(name=tool, arguments=arguments)])


def creates(name: str = "Archivist", **more: object) -> Reply:
    fields = {"description": "Keeps <all>.", "systemPrompt": "File it.", **more}
    return does("create_permanent_agent", name=name, **fields)


class Script:
    """Does what a person's words name; keeps what models were told."""

    def __init__(self, **orders: Answer) -> None:
        self.orders = orders
        self.systems: dict[str, str] = {}

    def __call__(self, request: ModelRequest) -> Answer:
        self.systems[request.session or ""] = request.system
        return self.orders.get(last_said(request), "ok")


async def result(kit: Kit, agent: Agent) -> str:
    return [kind for kind in await kit.kinds(agent) if kind.startswith("tool ")][-1]


async def permanent(kit: Kit, *, owner: Agent) -> list[Agent]:
    page = await kit.store.agents(AgentQuery(owner=owner.owner, kind="permanent"))
    return [agent for agent in page.agents if agent.lifecycle == "active"]


async def test_a_permanent_agent_is_found_again_by_its_name_without_case(start: Start) -> None:
    script = Script(make=creates(), change=creates("  ARCHIVIST ", systemPrompt="File less."))
    kit = await start(script, collaborates=True)
    maker = await kit.agent()
    await kit.ask(maker, "make")
    (made,) = await permanent(kit, owner=maker)
    await kit.ask(made, "hello")
    assert script.systems[made.id].endswith("File it.")
    await kit.restart()
    await kit.ask(maker, "change")
    (changed,) = await permanent(kit, owner=maker)
    assert changed.id == made.id and "Updated" in await result(kit, maker)
    assert changed.descriptor == PermanentDescriptor(
        id=made.id, name="ARCHIVIST", description="Keeps <all>.", system_prompt="File less."
    )
    await kit.ask(made, "hello again")
    assert script.systems[made.id].endswith("File less.")
    assert (await kit.kinds(made)).count("user hello") == 1


async def test_permanent_agents_are_told_to_the_others_of_their_owner(start: Start) -> None:
    script = Script(make=creates())
    kit = await start(script, collaborates=True)
    maker = await kit.agent()
    await kit.ask(maker, "hello")
    assert "<permanent_agents>" not in script.systems[maker.id]
    await kit.ask(maker, "make")
    (made,) = await permanent(kit, owner=maker)
    await kit.ask(maker, "hello")
    line = f'<agent id="{made.id}" name="Archivist">Keeps &lt;all&gt;.</agent>'
    assert line in script.systems[maker.id]
    await kit.ask(made, "hello")
    assert line not in script.systems[made.id]
    stranger = await kit.agent(owner=type(maker.owner)("somebody"))
    await kit.ask(stranger, "hello")
    assert "<permanent_agents>" not in script.systems[stranger.id]
    await kit.engine.delete(made.owner, made.id)
    await kit.ask(maker, "hello")
    assert "<permanent_agents>" not in script.systems[maker.id]


async def test_two_creations_of_one_name_at_once_make_one_agent(start: Start) -> None:
    kit = await start(Script(make=creates()), collaborates=True)
    makers = [await kit.agent() for _ in range(6)]
    await asyncio.gather(*(kit.ask(maker, "make") for maker in makers))
    assert len(await permanent(kit, owner=makers[0])) == 1
    results = [await result(kit, maker) for maker in makers]
    assert sum("Created" in text for text in results) == 1
    assert all(
        "Created" in text or "Updated" in text or "with that name" in text for text in results
    )


async def test_a_name_that_another_agent_has_is_refused(start: Start) -> None:
    script = Script(one=creates("One"), two=creates("Two"))
    kit = await start(script, collaborates=True)
    maker = await kit.agent()
    await kit.ask(maker, "one")
    await kit.ask(maker, "two")
    two = next(a for a in await permanent(kit, owner=maker) if "Two" in str(a.descriptor))
    script.orders["clash"] = creates("ONE", agentId=two.id)
    await kit.ask(maker, "clash")
    assert "already has that name" in await result(kit, maker)
    script.orders["foreign"] = creates("Three", agentId=maker.id)
    await kit.ask(maker, "foreign")
    assert "there is no permanent agent" in await result(kit, maker)
    script.orders["blank"] = creates("Three", description=" ")
    await kit.ask(maker, "blank")
    assert "description: it is empty" in await result(kit, maker)
    assert len(await permanent(kit, owner=maker)) == 2


async def test_a_deleted_permanent_agent_ends_and_its_name_is_free(start: Start) -> None:
    script = Script(
        make=creates(),
        delete=does("delete_permanent_agent", agentId="archivist"),
        list=does("list_permanent_agents"),
    )
    kit = await start(script, collaborates=True)
    maker = await kit.agent()
    await kit.ask(maker, "make")
    (first,) = await permanent(kit, owner=maker)
    await kit.ask(maker, "list")
    listed = json.loads((await result(kit, maker)).partition(" ok ")[2])
    assert [one["agentId"] for one in listed["agents"]] == [first.id]
    await kit.ask(maker, "delete")
    await until(lambda: is_ended(kit, first))
    await kit.restart()
    await kit.ask(maker, "make")
    (second,) = await permanent(kit, owner=maker)
    assert second.id != first.id


async def test_a_system_agent_is_made_by_the_first_message_to_its_tag(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "retinue.toml").write_text(SETTINGS)
    script = Script(
        go=does("send_agent_message", text="plan it", agentId="system:architect"),
        wrong=does("send_agent_message", text="plan it", agentId="system:nobody"),
    )
    definitions = {"helper.toml": HELPER, "clerk.toml": CLERK}
    kit = await start(script, collaborates=True, definitions=definitions)
    writers = [await kit.agent(), await kit.agent()]
    for writer in writers:
        await kit.ask(writer, "go")
    found = await kit.store.find(writers[0].owner, SystemDescriptor(tag="architect"))
    assert found is not None and found.definition == "clerk"

    async def is_told() -> bool:
        return (await kit.kinds(found)).count("system plan it") == 2

    await until(is_told)
    await kit.ask(writers[0], "wrong")
    assert "configured: architect" in await result(kit, writers[0])
    assert await kit.store.find(writers[0].owner, SystemDescriptor(tag="nobody")) is None


async def test_a_swarm_has_one_agent_for_each_contact_and_answers_only_that(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "retinue.toml").write_text(SETTINGS)
    script = Script(go=does("send_agent_message", text="a question", agentId="swarm:desk"))
    definitions = {"helper.toml": HELPER, "clerk.toml": CLERK}
    kit = await start(script, collaborates=True, definitions=definitions)
    one, two = await kit.agent(), await kit.agent()
    await kit.ask(one, "go")
    await kit.ask(two, "go")
    desks = [
        await kit.store.find(one.owner, SwarmDescriptor(id="desk", contact_agent_id=contact.id))
        for contact in (one, two)
    ]
    assert desks[0] is not None and desks[1] is not None and desks[0].id != desks[1].id
    for contact in (one, two):

        async def is_told(contact: Agent = contact) -> bool:
            return (await kit.kinds(contact)).count("system ok") == 1

        await until(is_told)
    script.orders["stray"] = does("send_agent_message", text="psst", agentId=two.id)
    await kit.ask(desks[0], "stray")
    assert "only to the agent that contacted it" in await result(kit, desks[0])
    assert "system psst" not in await kit.kinds(two)
    assert "Available agents" in script.systems[one.id]
    assert "Available agents" not in script.systems[desks[0].id]


async def test_whoever_asks_a_permanent_agent_is_told_how_to_write_to_it(start: Start) -> None:
    script = Script(make=creates("Ada"), ask=does("agents_message", agentId="ada", content="hi"))
    kit = await start(script, collaborates=True)
    maker = await kit.agent()
    await kit.ask(maker, "make")
    (made,) = await permanent(kit, owner=maker)
    await kit.ask(maker, "ask")
    told = await result(kit, maker)
    assert f"write to it with send_agent_message and agentId {made.id}" in told
