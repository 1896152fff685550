"""Permissions, approvals and questions through HTTP and the event stream."""

import asyncio
import json
from typing import Any

import pytest
import pytest_asyncio

from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import Door
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(door: Door, agent: str) -> dict[str, Any]:
    """Wait until the agent asks something."""
    found: list[dict[str, Any]] = []

    async def came() -> bool:
        query = {"status": "pending", "agent": agent}
        found[:] = (await door.client.get("/api/permissions", params=query)).json()["requests"]
        return bool(found)

    await until(came)
    return found[0]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def asker(door: Door) -> str:
    """A definition whose built-in model asks when it is told to."""
    text = 'name = "asker"\ndescription = "Asks."\nmodel = "offline"\ntoolApprovals = ["time"]\n'
    (door.project / "agents" / "asker.toml").write_text(text)

    async def is_known() -> bool:
        return '"asker"' in (await door.client.get("/api/definitions")).text

    await until(is_known)
    return "asker"


async def begun(door: Door, asker: str, words: str) -> tuple[str, str, dict[str, Any]]:
    agent = await door.new_agent(definition=asker)
    message = await door.say(agent, words)
    return agent, message["id"], await asked(door, agent)


async def test_a_permission_is_shown_allowed_and_told(door: Door, asker: str) -> None:
    agent, message, request = await begun(door, asker, "request network to look it up")
    assert (request["kind"], request["permission"]) == ("permission", "@network")
    assert request["reason"] == "look it up"
    assert "from now on" in request["consequence"]
    address = f"/api/permissions/{request['id']}"
    assert (await door.client.get(address)).json() == request
    decided = await door.client.post(address, json={"decision": "allow", "note": "go"})
    assert (decided.status_code, decided.json()["status"]) == (200, "allowed")
    assert (await door.outcome(agent, message))["fate"] == "answered"
    again = await door.client.post(address, json={"decision": "deny"})
    assert again.status_code == 409
    assert again.json()["error"]["details"]["status"] == "allowed"


async def test_an_approval_shows_the_exact_arguments_whole(door: Door, asker: str) -> None:
    arguments = '{"zone": "Europe/Berlin"}'
    agent, message, request = await begun(door, asker, f"call time {arguments}")
    assert request["tool"] == "time"
    assert request["arguments"] == '{\n  "zone": "Europe/Berlin"\n}'
    address = f"/api/permissions/{request['id']}"
    await door.client.post(address, json={"decision": "deny", "note": "not now"})
    await door.outcome(agent, message)
    records = (await door.history(agent))["records"]
    result = next(record for record in records if record["kind"] == "tool")
    assert result["status"] == "refused"
    assert "not now" in result["text"]


async def test_a_question_is_answered_with_values_that_fit(door: Door, asker: str) -> None:
    agent, message, request = await begun(door, asker, "ask me which size I wear")
    assert [field["name"] for field in request["fields"]] == ["answer"]
    address = f"/api/permissions/{request['id']}"
    wrong = await door.client.post(address, json={"decision": "allow", "values": {"size": "M"}})
    assert wrong.status_code == 400
    assert "size: unknown field; answer: is required" in wrong.text
    right = await door.client.post(address, json={"decision": "allow", "values": {"answer": "M"}})
    assert right.json()["values"] == {"answer": "M"}
    assert "M" in (await door.outcome(agent, message))["reply"]


async def test_what_is_not_a_decision_is_refused_by_name(door: Door, asker: str) -> None:
    _, _, request = await begun(door, asker, "request network to look it up")
    address = f"/api/permissions/{request['id']}"
    for body in ({"decision": "maybe"}, {}, {"decision": "allow", "forever": True}):
        assert (await door.client.post(address, json=body)).status_code == 400
    values = {"decision": "allow", "values": {"a": 1}}
    assert (await door.client.post(address, json=values)).status_code == 400
    assert (await door.client.get(address)).json()["status"] == "pending"
    assert (await door.client.post("/api/permissions/q0", json=values)).status_code == 404


async def test_a_stranger_decides_nothing(door: Door, asker: str) -> None:
    _, _, request = await begun(door, asker, "request network to look it up")
    address = f"/api/permissions/{request['id']}"
    async with door.stranger() as stranger:
        answer = await stranger.post(address, json={"decision": "allow"})
        assert answer.status_code == 401
    assert (await door.client.get(address)).json()["status"] == "pending"


async def test_requests_are_in_the_event_stream_live_and_replayed(door: Door, asker: str) -> None:
    agent = await door.new_agent(definition=asker)
    before = (await door.client.get("/api/health")).json()["store"]["cursor"] << 16
    message = await door.say(agent, "request network to look it up")
    request = await asked(door, agent)
    address = f"/api/permissions/{request['id']}"
    await door.client.post(address, json={"decision": "allow"})
    await door.outcome(agent, message["id"])
    found: list[str] = []
    async with door.socket(query=f"?after={before}&agent={agent}") as socket:
        while len(found) < 2:
            event = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_SECONDS))
            if event["type"] == "request":
                found.append(event["request"]["id"])
    assert found == [request["id"]] * 2
