"""Lifecycles and trees through HTTP."""

from pathlib import Path
from typing import Any

import pytest

from retinue.agents.descriptor import SubagentDescriptor
from retinue.ids import LOCAL_OWNER, AgentId, new_agent_id
from tests.acceptance.http.support import SETTINGS, Door, opened
from tests.unit.engine.support import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def child_of(door: Door, parent: str, name: str) -> str:
    agent_id = new_agent_id()
    agent = await door.engine.create(
        LOCAL_OWNER,
        "helper",
        descriptor=SubagentDescriptor(id=agent_id, parent_agent_id=AgentId(parent), name=name),
    )
    return agent.id


async def tree(door: Door, agent: str, **query: int) -> dict[str, Any]:
    answer = await door.client.get(f"/api/agents/{agent}/tree", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def lifecycle(door: Door, agent: str) -> str:
    return (await door.client.get(f"/api/agents/{agent}")).json()["lifecycle"]


async def test_an_agent_sleeps_until_it_is_written_to_then_is_awake_then_rests(door: Door) -> None:
    agent = await door.new_agent()
    assert await lifecycle(door, agent) == "sleeping"
    door.script.released.clear()
    message = await door.say(agent, "hold")
    await door.script.holding.wait()
    assert await lifecycle(door, agent) == "awake"
    door.script.released.set()
    await door.outcome(agent, message["id"])
    assert await lifecycle(door, agent) == "resting"


async def test_a_tree_shows_parents_and_children_and_counts_what_is_deeper(door: Door) -> None:
    root = await door.new_agent()
    child = await child_of(door, root, "middle")
    grandchild = await child_of(door, child, "leaf")
    whole = await tree(door, root)
    assert whole["ancestors"] == []
    middle = whole["tree"]["children"][0]
    assert (middle["agent"]["id"], middle["agent"]["parentId"]) == (child, root)
    assert [branch["agent"]["id"] for branch in middle["children"]] == [grandchild]
    upwards = await tree(door, grandchild)
    assert [agent["id"] for agent in upwards["ancestors"]] == [child, root]
    shallow = await tree(door, root, depth=1)
    assert shallow["tree"]["children"][0]["children"] == []
    assert shallow["tree"]["children"][0]["hidden"] == 1


async def test_the_tree_of_nobody_is_not_found(door: Door) -> None:
    answer = await door.client.get(f"/api/agents/{new_agent_id()}/tree")
    assert answer.status_code == 404


async def test_terminating_an_agent_ends_its_children_and_everything_refuses_clearly(
    door: Door,
) -> None:
    root = await door.new_agent()
    child = await child_of(door, root, "middle")
    grandchild = await child_of(door, child, "leaf")
    path = f"/api/agents/{root}"
    answer = (await door.client.post(f"{path}/terminate", json={"reason": "enough"})).json()
    assert answer == {"applied": True, "ended": [root, child, grandchild]}
    for agent in (root, child, grandchild):
        assert await lifecycle(door, agent) == "terminated"
    for operation, body in [
        ("messages", {"content": "hi"}),
        ("reset", None),
        ("stop", None),
        ("compact", None),
    ]:
        refused = await door.client.post(f"{path}/{operation}", json=body)
        assert refused.status_code == 410, operation
        assert "ended" in refused.json()["error"]["message"]
    again = (await door.client.post(f"{path}/terminate")).json()
    assert again == {"applied": False, "ended": []}
    history = await door.history(root)
    assert history["records"][-1]["text"] == "Terminated: enough"


async def test_system_and_swarm_agents_are_found_or_made_by_what_the_settings_name(
    tmp_path: Path,
) -> None:
    settings = '[agents]\nsystemTags = { planner = "helper" }\nswarms = { desk = "helper" }\n'
    (tmp_path / "agents").mkdir(parents=True)
    async with opened(tmp_path, settings=SETTINGS + settings) as door:
        contact = await door.new_agent()
        for place in (
            {"type": "system", "tag": "planner"},
            {"type": "heartbeat"},
            {"type": "swarm", "id": "desk", "contactAgentId": contact},
        ):
            made = [await door.client.post("/api/agents", json={"descriptor": place}) for _ in "ab"]
            assert [answer.status_code for answer in made] == [201, 201]
            assert made[0].json()["id"] == made[1].json()["id"]
            assert made[0].json()["kind"] == place["type"]
        for place, word in (
            ({"type": "system", "tag": "nobody"}, "configured: planner"),
            ({"type": "swarm", "id": "nobody", "contactAgentId": contact}, "configured: desk"),
        ):
            refused = await door.client.post("/api/agents", json={"descriptor": place})
            assert refused.status_code == 400
            assert word in refused.json()["error"]["message"]
        stray = {"type": "swarm", "id": "desk", "contactAgentId": new_agent_id()}
        refused = await door.client.post("/api/agents", json={"descriptor": stray})
        assert refused.status_code == 404


async def test_a_person_goes_back_with_an_account_of_what_was_said(door: Door) -> None:
    home, other = await door.new_agent(), await door.new_agent()
    await door.talk(other, "dear diary")
    path = f"/api/agents/{home}/switch-back"
    assert (await door.client.post(path)).json() == {"applied": False}
    back = await door.client.post(path, json={"from": other})
    assert back.json() == {"applied": True}

    async def came() -> bool:
        records = (await door.history(home))["records"]
        return any("dear diary" in record.get("text", "") for record in records)

    await until(came)
    for wrong, status in ((home, 400), ("nobody", 404), (new_agent_id(), 404)):
        refused = await door.client.post(path, json={"from": wrong})
        assert refused.status_code == status, refused.text
