"""Variables through HTTP: names come out, values never do, and strangers get nowhere."""

import json
from typing import Any

import pytest
import pytest_asyncio

from tests.acceptance.http.support import Door
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

VALUE = "canary-7d1f-value"


async def names(door: Door, path: str) -> dict[str, str | None]:
    answer = await door.client.get(path)
    assert answer.status_code == 200, answer.text
    assert VALUE not in answer.text
    return {one["name"]: one["scope"] for one in answer.json()["variables"]}


async def test_an_accounts_variables_are_set_listed_and_unset(door: Door) -> None:
    path = "/api/variables/SHOP_KEY"
    answer = await door.client.put(path, json={"value": VALUE})
    assert (answer.status_code, answer.text) == (204, "")
    assert await names(door, "/api/variables") == {"SHOP_KEY": "account"}
    assert (await door.client.delete(path)).status_code == 204
    assert (await door.client.delete(path)).status_code == 404
    assert await names(door, "/api/variables") == {}


async def test_an_agents_variables_are_set_at_its_beginning_and_later(door: Door) -> None:
    agent = await door.new_agent(env={"FIRST": VALUE})
    assert VALUE not in (await door.client.get(f"/api/agents/{agent}")).text
    path = f"/api/agents/{agent}/variables"
    assert (await door.client.put(f"{path}/SECOND", json={"value": VALUE})).status_code == 204
    assert await names(door, path) == {"FIRST": "thread", "SECOND": "thread"}
    assert (await door.client.delete(f"{path}/FIRST")).status_code == 204
    assert await names(door, path) == {"SECOND": "thread"}


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("NOT-A-NAME", {"value": VALUE}),
        ("KEY", {"value": VALUE, "extra": 1}),
        ("KEY", {"value": f"{VALUE}\0"}),
        ("KEY", {"value": [VALUE]}),
        ("KEY", {"value": VALUE * 2000}),
    ],
)
async def test_what_cannot_be_kept_is_refused_without_being_quoted(
    door: Door, name: str, body: dict[str, Any]
) -> None:
    answer = await door.client.put(f"/api/variables/{name}", json=body)
    assert answer.status_code == 400
    assert VALUE not in answer.text
    assert await names(door, "/api/variables") == {}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/variables"),
        ("PUT", "/api/variables/KEY"),
        ("DELETE", "/api/variables/KEY"),
        ("GET", "/threads/{agent}/variables/q1"),
        ("POST", "/threads/{agent}/variables/q1"),
        ("POST", "/api/threads/{agent}/variables/q1"),
    ],
)
async def test_nobody_gets_in_without_the_token(door: Door, method: str, path: str) -> None:
    agent = await door.new_agent()
    async with door.stranger() as stranger:
        answer = await stranger.request(method, path.format(agent=agent), json={"value": VALUE})
    assert answer.status_code == 401


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def boss(door: Door) -> str:
    """An agent whose offline model can begin a pair that needs a variable."""
    files = {
        "agents/boss.toml": 'name = "boss"\ndescription = "b"\n[sideA]\nprompt = "boss"\n',
        "agents/pair.toml": (
            'name = "pair"\ndescription = "p"\ntype = "dual_ai"\nmaxSessionTurns = 2\n'
            'exposeAsTool = true\n[sideA]\nprompt = "worker"\n[sideB]\nprompt = "worker"\n'
        ),
        "prompts/boss.md": "---\ntools: [{name: pair, blocking: false}]\n---\nYou are the boss.",
        "prompts/worker.md": (
            "---\nvariables: [{name: PAIR_KEY, required: true, scoped: true}]\ntools: []\n---\n"
            "You are the worker."
        ),
    }
    (door.project / "prompts").mkdir(exist_ok=True)
    for name, text in files.items():
        (door.project / name).write_text(text)

    async def are_known() -> bool:
        return '"boss"' in (await door.client.get("/api/definitions")).text

    await until(are_known)
    return await door.new_agent(definition="boss")


async def request_of(door: Door, boss: str) -> str:
    await door.talk(boss, "pair please")
    records = (await door.history(boss, limit=100))["records"]
    result = [record for record in records if record["kind"] == "tool"][-1]
    return json.loads(result["text"])["endpoint"]


async def test_a_subagent_begins_when_its_variables_are_posted(door: Door, boss: str) -> None:
    endpoint = await request_of(door, boss)
    wanted = (await door.client.get(endpoint)).json()
    assert (wanted["agent"], wanted["required"], wanted["missing"]) == (
        "pair",
        ["PAIR_KEY"],
        ["PAIR_KEY"],
    )
    assert (await door.client.get(f"/api{endpoint}")).json() == wanted
    short = await door.client.post(endpoint, json={"env": {}})
    assert (short.status_code, short.json()["error"]["details"]["missing"]) == (400, ["PAIR_KEY"])
    begun = await door.client.post(endpoint, json={"env": {"PAIR_KEY": VALUE}})
    assert begun.status_code == 200, begun.text
    assert begun.json()["status"] == "success"
    child = begun.json()["child_thread_id"]
    assert (await door.client.get(f"/api/agents/{child}")).json()["parentId"] == boss
    assert (await door.client.get(endpoint)).status_code == 404
    again = await door.client.post(endpoint, json={"env": {"PAIR_KEY": VALUE}})
    assert again.status_code == 404
