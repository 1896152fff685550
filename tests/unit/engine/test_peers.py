"""Whom an agent may write to by an id, a tag or a swarm: the lists of its definition hold."""

from pathlib import Path

import pytest

from retinue.agents.descriptor import SubagentDescriptor, SwarmDescriptor
from retinue.ids import LOCAL_OWNER, new_agent_id
from retinue.models.scripted import Call, Reply, ScriptedModel
from retinue.records import ToolRecord
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import Play, definition, quiet

DEFINITIONS = {
    "helper.toml": definition("helper", agentDenylist='["clerk"]'),
    "clerk.toml": definition("clerk"),
    "ghost.toml": definition("ghost", uiVisible="false"),
    "todo.toml": definition("todo"),
}
SETTINGS = """
[agents]
systemTags = { office = "clerk", attic = "ghost" }
swarms = { desk = "todo" }
"""


def does(tool: str, **arguments: object) -> Reply:
    return Reply(calls=[Call(name=tool, arguments=arguments)])


def writes(to: str) -> Reply:
    return does("send_agent_message", text="psst", agentId=to)


class Scene:
    """An engine whose model does what it is told next."""

    def __init__(self, kit: Kit, play: Play) -> None:
        self.kit = kit
        self.play = play

    async def outcome(self, agent: Agent, reply: Reply) -> str:
        """What the agent's call gave."""
        self.play.replies["go"] = reply
        await self.kit.ask(agent, "go")
        await quiet(self.kit)
        records = await self.kit.records(agent)
        return [record.text for record in records if isinstance(record, ToolRecord)][-1]

    async def told(self, agent: Agent) -> str:
        """What the agent's model is told before the conversation."""
        await self.kit.ask(agent, "hello")
        model = self.kit.stage.models["main"]
        assert isinstance(model, ScriptedModel)
        return model.requests[-1].system

    async def was_told(self, agent: Agent) -> bool:
        return "system psst" in await self.kit.kinds(agent)

    async def child_of(self, parent: Agent, kind: str) -> Agent:
        child = new_agent_id()
        descriptor = SubagentDescriptor(id=child, parent_agent_id=parent.id, name="child")
        return await self.kit.engine.create(LOCAL_OWNER, kind, descriptor=descriptor)


@pytest.fixture
async def scene(start: Start, tmp_path: Path) -> Scene:
    (tmp_path / "retinue.toml").write_text(SETTINGS)
    play = Play()
    return Scene(await start(play, definitions=DEFINITIONS, collaborates=True), play)


@pytest.mark.parametrize("kind", ["clerk", "ghost"])
async def test_denied_and_hidden_agents_are_as_if_they_did_not_exist(
    scene: Scene, kind: str
) -> None:
    writer, target = await scene.kit.agent("helper"), await scene.kit.agent(kind)
    refused = await scene.outcome(writer, writes(target.id))
    unknown = await scene.outcome(writer, writes("nobody"))
    assert refused.replace(target.id, "X") == unknown.replace("nobody", "X")
    await scene.kit.engine.terminate(LOCAL_OWNER, target.id)
    assert await scene.outcome(writer, writes(target.id)) == refused
    assert not await scene.was_told(target)


async def test_allowed_agents_and_those_of_the_same_kind_are_reached(scene: Scene) -> None:
    writer = await scene.kit.agent("helper")
    for target in (await scene.kit.agent("todo"), await scene.kit.agent("helper")):
        assert "Sent to" in await scene.outcome(writer, writes(target.id))
        assert await scene.was_told(target)


async def test_parents_and_children_reach_each_other_whatever_the_lists_say(scene: Scene) -> None:
    parent = await scene.kit.agent("helper")
    child = await scene.child_of(parent, "ghost")
    grandchild = await scene.child_of(child, "clerk")
    for one, other in ((parent, grandchild), (grandchild, parent), (child, parent)):
        assert "Sent to" in await scene.outcome(one, writes(other.id))
        assert await scene.was_told(other)


async def test_a_tag_is_reached_unless_the_lists_deny_whom_it_names(scene: Scene) -> None:
    writer = await scene.kit.agent("helper")
    assert "Sent to" in await scene.outcome(writer, writes("system:attic"))
    refused = await scene.outcome(writer, writes("system:office"))
    assert "there is no agent 'system:office' that you can reach" in refused
    assert "Sent to" in await scene.outcome(await scene.kit.agent("todo"), writes("system:office"))


async def test_permanent_agents_out_of_reach_are_neither_told_nor_changed(scene: Scene) -> None:
    kit = scene.kit
    make = {"name": "Ada", "description": "adds", "systemPrompt": "Add."}
    await scene.outcome(await kit.agent("clerk"), does("create_permanent_agent", **make))
    friend, stranger = await kit.agent("todo"), await kit.agent("helper")
    assert "Ada" in await scene.outcome(friend, does("list_permanent_agents"))
    assert "Ada" not in await scene.outcome(stranger, does("list_permanent_agents"))
    assert "Ada" in await scene.told(friend)
    assert "Ada" not in await scene.told(stranger)
    taken = await scene.outcome(stranger, does("create_permanent_agent", **make))
    assert "is taken" in taken
    gone = await scene.outcome(stranger, does("delete_permanent_agent", agentId="Ada"))
    assert "there is no permanent agent 'Ada'" in gone
    assert "Ada" in await scene.outcome(friend, does("list_permanent_agents"))


async def test_a_swarm_agent_and_who_works_for_it_reach_nobody_but_the_contact(
    scene: Scene,
) -> None:
    kit = scene.kit
    contact, bystander = await kit.agent("todo"), await kit.agent("todo")
    await scene.outcome(contact, writes("swarm:desk"))
    found = SwarmDescriptor(id="desk", contact_agent_id=contact.id)
    desk = await kit.store.find(LOCAL_OWNER, found)
    assert desk is not None
    worker = await scene.child_of(desk, "todo")
    for agent in (desk, worker):
        for attempt in (
            does("agents_message", agentId="clerk", content="hi"),
            writes(bystander.id),
            writes("nobody"),
            writes("system:office"),
            writes("swarm:desk"),
        ):
            assert "only to the agent that contacted it" in await scene.outcome(agent, attempt)
        assert await scene.outcome(agent, does("agents_list")) == '{"agents":[]}'
        assert "Sent to" in await scene.outcome(agent, writes(contact.id))
    assert not await scene.was_told(bystander)
    assert "Sent to" in await scene.outcome(worker, writes(desk.id))


async def test_who_works_for_a_swarm_agent_is_told_of_nobody_else(scene: Scene) -> None:
    kit = scene.kit
    make = {"name": "Ada", "description": "adds", "systemPrompt": "Add."}
    contact = await kit.agent("todo")
    await scene.outcome(contact, does("create_permanent_agent", **make))
    await scene.outcome(contact, writes("swarm:desk"))
    found = SwarmDescriptor(id="desk", contact_agent_id=contact.id)
    desk = await kit.store.find(LOCAL_OWNER, found)
    assert desk is not None
    worker = await scene.child_of(desk, "todo")
    for agent, is_told in ((contact, True), (desk, False), (worker, False)):
        told = await scene.told(agent)
        assert ("clerk" in told, "Ada" in told) == (is_told, is_told)
        shown = await kit.engine.contexts.view(LOCAL_OWNER, agent.id)
        assert any("Ada" in section.text for section in shown.system) == is_told


async def test_strangers_cannot_write_to_somebody_else_s_swarm_agent(scene: Scene) -> None:
    kit = scene.kit
    contact, stranger = await kit.agent("todo"), await kit.agent("todo")
    await scene.outcome(contact, writes("swarm:desk"))
    found = SwarmDescriptor(id="desk", contact_agent_id=contact.id)
    desk = await kit.store.find(LOCAL_OWNER, found)
    assert desk is not None
    assert "there is no agent" in await scene.outcome(stranger, writes(desk.id))
    assert "Sent to" in await scene.outcome(contact, writes(desk.id))
