"""Agents through HTTP: begin, list, change, command, delete."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from retinue.cli.channel import Channel
from retinue.cli.client import Client
from retinue.cli.doctor.store_checks import store
from retinue.engine.feed.agent_views import events_of
from retinue.events import ItemEvent
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import TOKEN, Door, opened
from tests.support.disks import file_size_limit
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_new_agent_says_what_it_is(door: Door) -> None:
    answer = await door.client.post(
        "/api/agents", json={"definition": "helper", "name": "Mine", "attributes": {"a": [1]}}
    )
    assert answer.status_code == 201
    agent = answer.json()
    assert answer.headers["location"] == f"/api/agents/{agent['id']}"
    assert agent["definition"] == "helper"
    assert agent["kind"] == "user"
    assert agent["name"] == "Mine"
    assert agent["attributes"] == {"a": [1]}
    assert agent["status"] == "resting"
    assert agent["pinnedAt"] is None
    assert (await door.client.get(f"/api/agents/{agent['id']}")).json() == agent


async def test_the_same_descriptor_finds_the_same_agent(door: Door) -> None:
    place = {"type": "user", "connector": "terminal", "userId": "u", "channelId": "c"}
    body = {"definition": "helper", "descriptor": place}
    first, second = await asyncio.gather(
        door.client.post("/api/agents", json=body), door.client.post("/api/agents", json=body)
    )
    assert first.json()["id"] == second.json()["id"]
    assert first.json()["descriptor"] == place


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"definition": "nobody"}, 404, "nobody"),
        ({"definition": "broken"}, 404, "broken"),
        ({"definition": 3}, 400, "definition"),
        ({"definition": ""}, 400, "definition"),
        ({}, 400, "definition"),
        ({"definition": "helper", "nam": "x"}, 400, "did you mean 'name'"),
        ({"definition": "helper", "name": " "}, 400, "name"),
        ({"definition": "helper", "name": "x" * 201}, 400, "name"),
        ({"definition": "helper", "attributes": []}, 400, "attributes"),
        ({"definition": "helper", "attributes": {"a": "x" * 70_000}}, 413, "attributes"),
        ({"definition": "helper", "descriptor": {"type": "cron", "id": "x"}}, 400, "descriptor"),
        ({"definition": "helper", "descriptor": {"type": "user"}}, 400, "connector"),
        ([], 400, "object"),
    ],
)
async def test_an_agent_that_cannot_be_made_is_refused_with_the_reason(
    door: Door, body: Any, status: int, word: str
) -> None:
    answer = await door.client.post("/api/agents", json=body)
    assert answer.status_code == status
    assert word in answer.json()["error"]["message"]


async def test_attributes_that_are_nested_too_deeply_are_refused(door: Door) -> None:
    value: Any = 1
    for _ in range(40):
        value = {"a": value}
    answer = await door.client.post(
        "/api/agents", json={"definition": "helper", "attributes": value}
    )
    assert answer.status_code == 400
    assert "nested" in answer.json()["error"]["message"]


async def test_a_list_comes_in_pages_with_pinned_agents_first(door: Door) -> None:
    made = [await door.new_agent(name=f"page {number}") for number in range(5)]
    await door.client.patch(f"/api/agents/{made[0]}", json={"pinned": True})
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"query": "page", "limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await door.client.get("/api/agents", params=params)).json()
        seen += [agent["id"] for agent in page["agents"]]
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert seen[0] == made[0]
    assert sorted(seen) == sorted(made)


async def test_a_list_can_be_narrowed(door: Door) -> None:
    await door.new_agent(name="Narrow")
    for params, some in [
        ({"definition": "helper"}, True),
        ({"definition": "other"}, False),
        ({"kind": "user"}, True),
        ({"kind": "cron"}, False),
        ({"query": "nARROW"}, True),
        ({"query": "no such name"}, False),
    ]:
        page = (await door.client.get("/api/agents", params=params)).json()
        assert bool(page["agents"]) is some, params


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("limit=0", "limit"),
        ("limit=1000", "limit"),
        ("limit=ten", "limit"),
        ("limit=1&limit=2", "repeated"),
        ("kind=person", "'kind': 'person' is not one of cron, heartbeat, permanent, subagent"),
        ("cursor=nonsense", "cursor"),
        ("cursor=99999999999999999999999-1-1", "cursor"),
        ("definitions=x", "did you mean 'definition'"),
        ("token=x", "unknown parameter 'token'"),
        ("query=%ff", "UTF-8"),
    ],
)
async def test_a_query_that_is_not_understood_is_refused(door: Door, query: str, word: str) -> None:
    answer = await door.client.get(f"/api/agents?{query}")
    assert answer.status_code == 400
    assert word in answer.json()["error"]["message"]


async def test_a_change_leaves_alone_what_it_does_not_name(door: Door) -> None:
    agent = await door.new_agent(name="Before", attributes={"a": 1})
    path = f"/api/agents/{agent}"
    pinned = (await door.client.patch(path, json={"pinned": True})).json()
    assert pinned["pinnedAt"] and pinned["name"] == "Before"
    renamed = (await door.client.patch(path, json={"name": "After", "model": "scripted"})).json()
    assert renamed["name"] == "After" and renamed["pinnedAt"] and renamed["model"] == "scripted"
    cleared = (await door.client.patch(path, json={"name": None, "pinned": False})).json()
    assert cleared["name"] is None and cleared["pinnedAt"] is None
    assert cleared["attributes"] == {"a": 1}


@pytest.mark.parametrize(
    "body", [{"model": "no-such-provider:x"}, {"name": ""}, {"pinned": "yes"}, {"lifecycle": "x"}]
)
async def test_a_senseless_change_is_refused_and_changes_nothing(door: Door, body: Any) -> None:
    agent = await door.new_agent(name="Same")
    answer = await door.client.patch(f"/api/agents/{agent}", json=body)
    assert answer.status_code == 400, answer.text
    after = (await door.client.get(f"/api/agents/{agent}")).json()
    assert (after["name"], after["model"], after["lifecycle"]) == ("Same", None, "sleeping")


async def test_a_deleted_agent_is_gone(door: Door) -> None:
    agent = await door.new_agent()
    await door.talk(agent, "hello")
    assert (await door.client.delete(f"/api/agents/{agent}")).status_code == 204
    for method, tail in [
        ("GET", ""),
        ("GET", "/history"),
        ("GET", "/messages"),
        ("GET", "/files"),
        ("POST", "/reset"),
        ("DELETE", ""),
    ]:
        answer = await door.client.request(method, f"/api/agents/{agent}{tail}")
        assert answer.status_code == 404, (method, tail)


async def test_a_reset_begins_the_context_anew_and_keeps_the_history(door: Door) -> None:
    agent = await door.new_agent()
    await door.talk(agent, "hello")
    answer = await door.client.post(f"/api/agents/{agent}/reset", json={"reason": "enough"})
    assert answer.json() == {"applied": True}
    kinds = [record["kind"] for record in (await door.history(agent))["records"]]
    assert kinds == ["start", "user", "assistant", "reset"]


async def test_the_same_key_gives_the_first_command_again(door: Door) -> None:
    agent = await door.new_agent()
    path = f"/api/agents/{agent}"
    for text in ("hello", "hello again"):
        await door.talk(agent, text)
        answer = await door.client.post(f"{path}/reset", params={"key": f"reset {agent}"})
        assert answer.json() == {"applied": True}
    kinds = [record["kind"] for record in (await door.history(agent))["records"]]
    assert kinds.count("reset") == 1
    clash = await door.client.post(f"{path}/compact", params={"key": f"reset {agent}"})
    assert (clash.status_code, clash.json()["error"]["code"]) == (409, "conflict")
    renamed = await door.client.patch(path, params={"key": "x" * 257}, json={"name": "Trip"})
    assert renamed.status_code == 400


async def test_commands_are_no_messages_and_no_events(door: Door) -> None:
    agent = await door.new_agent()
    after = await door.engine.store.cursor()
    await door.client.patch(f"/api/agents/{agent}", json={"name": "Trip"})
    await door.client.post(f"/api/agents/{agent}/reset")
    changes = await door.engine.store.changes(
        LOCAL_OWNER, after=after, agent_id=AgentId(agent), limit=99
    )
    assert changes
    items = {item.id: item for change in changes for item in change.items}
    assert {item.body.text for item in items.values()} == {"patch", "reset"}
    shown = [event for change in changes for event in events_of(change, bool)]
    assert not any(isinstance(event, ItemEvent) for event in shown)
    listed = await door.client.get(f"/api/agents/{agent}/messages")
    assert listed.json() == {"items": []}
    found = [(await door.client.get(f"/api/messages/{item}")).json() for item in items]
    assert [(one["kind"], one["text"], one["fate"]) for one in found] == [
        ("command", "patch", "answered"),
        ("command", "reset", "answered"),
    ]


async def test_compacting_nothing_says_so(door: Door) -> None:
    agent = await door.new_agent()
    answer = await door.client.post(f"/api/agents/{agent}/compact")
    assert answer.json() == {"applied": False}


async def test_the_tools_of_an_agent_are_the_ones_in_its_scope(door: Door) -> None:
    agent = await door.new_agent()
    tools = (await door.client.get("/api/tools", params={"agent": agent})).json()["tools"]
    by_name = {tool["name"]: tool for tool in tools}
    assert "time" in by_name and "shell" not in by_name
    assert by_name["time"]["effect"] == "pure"
    assert by_name["time"]["source"] == "builtin"
    assert set(by_name["time"]) == {"name", "description", "effect", "capabilities", "source"}


async def test_tools_need_an_agent(door: Door) -> None:
    assert (await door.client.get("/api/tools")).status_code == 400
    assert (await door.client.get("/api/tools", params={"agent": "x"})).status_code == 404


async def test_definitions_come_with_what_does_not_load(door: Door) -> None:
    listed = (await door.client.get("/api/definitions")).json()
    helper = next(entry for entry in listed["definitions"] if entry["name"] == "helper")
    assert helper["displayName"] == "Helper"
    assert helper["file"] == "agents/helper.toml"
    problem = next(p for p in listed["problems"] if p["file"] == "agents/broken.toml")
    assert problem["severity"] == "error"


@pytest.mark.parametrize("agent", ["x", "a" * 24, "A" * 24, "..", "a" * 5000, "ключ"])
async def test_an_id_that_is_no_agents_is_not_found(door: Door, agent: str) -> None:
    for tail in ("", "/history", "/messages", "/files"):
        answer = await door.client.get(f"/api/agents/{agent}{tail}")
        assert answer.status_code in (400, 404)


async def test_a_tool_file_that_breaks_is_announced_and_named_from_the_project(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as door, door.socket() as socket:
        await socket.send('{"type": "subscribe", "after": null}')
        assert '"hello"' in str(await socket.recv())
        (tmp_path / "tools").mkdir()
        (tmp_path / "tools" / "shop.py").write_text("import no_such_module\n")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while '"definitions"' not in str(await socket.recv()):
                pass
        listed = (await door.client.get("/api/definitions")).json()
        problem = next(one for one in listed["problems"] if one["file"] == "tools/shop.py")
        assert (problem["line"], problem["severity"]) == (1, "error")
        assert problem["message"].startswith("ModuleNotFoundError")
        assert str(tmp_path) not in str(listed["problems"])


async def test_a_definition_that_takes_long_to_run_holds_nobody_else_up(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        go, begun = tmp_path / "go", tmp_path / "begun"
        (tmp_path / "agents" / "slow.py").write_text(
            "import time\nfrom pathlib import Path\n"
            f"Path({str(begun)!r}).touch()\n"
            "end = time.monotonic() + 50\n"
            f"while not Path({str(go)!r}).exists() and time.monotonic() < end:\n"
            "    time.sleep(0.01)\n"
        )
        await eventually(begun.exists)
        creating = asyncio.create_task(door.new_agent())
        assert (await door.client.get("/api/agents")).status_code == 200
        assert not creating.done()
        go.touch()
        assert await creating


async def test_health_tells_that_nothing_can_be_stored_until_it_can(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as door, door.stranger() as stranger:
        await door.new_agent()
        assert (await stranger.get("/api/health")).status_code == 200
        clock.advance(10)
        with file_size_limit(4096):
            little, more = await stranger.get("/api/health"), await door.client.get("/api/health")
            client = Client(Channel.to_server(door.url, TOKEN))
            (finding,) = await store(client)
            await client.close()
        assert [little.status_code, more.status_code] == [503, 503]
        assert little.json()["status"] == more.json()["status"] == "degraded"
        assert str(tmp_path) not in little.text
        assert "free some space" in more.json()["reason"]
        assert finding.state == "fail" and "free some space" in finding.text
        again = await stranger.get("/api/health")
        assert again.status_code == 200
        assert again.json()["status"] == "ok" and again.json()["reason"] == ""


async def test_health_is_degraded_right_after_a_refusal(tmp_path: Path) -> None:
    async with opened(tmp_path, clock=FakeClock()) as door, door.stranger() as stranger:
        agent = await door.new_agent()
        assert (await stranger.get("/api/health")).json()["status"] == "ok"
        with file_size_limit(4096):
            refused = await door.client.post(
                f"/api/agents/{agent}/messages", json={"content": "hi"}
            )
            health = await stranger.get("/api/health")
        assert [refused.status_code, health.json()["status"]] == [507, "degraded"]


async def test_health_tells_strangers_little_and_the_owner_more(door: Door) -> None:
    await door.new_agent()
    async with door.stranger() as stranger:
        little = (await stranger.get("/api/health")).json()
    assert little["status"] == "ok" and little["store"] == {"ok": True}
    more = (await door.client.get("/api/health")).json()
    assert more["store"]["kind"] == "sqlite"
    assert more["store"]["agents"] > 0


async def test_the_graph_of_a_definition_is_shown_and_of_an_unknown_one_is_not(door: Door) -> None:
    graph = (await door.client.get("/api/definitions/helper/graph")).json()
    (helper,) = graph["definitions"]
    assert (helper["name"], helper["type"]) == ("helper", "ai_human")
    assert [side["name"] for side in helper["sides"]] == ["side_a"]
    assert graph["prompts"] == []
    assert (await door.client.get("/api/definitions/helpr/graph")).status_code == 404
