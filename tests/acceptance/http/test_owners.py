"""One owner never reaches another's agents, whatever the route."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from retinue.ids import OwnerId
from retinue.server.app import ENDPOINTS, create_app
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import Door

pytestmark = pytest.mark.asyncio(loop_scope="module")

BODIES: dict[str, dict[str, Any]] = {
    "POST /api/agents/{agent_id}/messages": {"content": "let me in"},
    "PATCH /api/agents/{agent_id}": {"name": "mine now"},
    "POST /api/permissions/{request_id}": {"decision": "allow"},
    "PATCH /api/schedules/{schedule_id}": {"title": "mine now"},
    "PUT /api/agents/{agent_id}/variables/{name}": {"value": "mine now"},
    "POST /threads/{agent_id}/variables/{request_id}": {"env": {"KEY": "mine now"}},
    "POST /api/threads/{agent_id}/variables/{request_id}": {"env": {"KEY": "mine now"}},
}
ABOUT_AN_AGENT = [
    (endpoint.method, endpoint.path)
    for endpoint in ENDPOINTS
    if ("{" in endpoint.path or endpoint.path in ("/api/tools", "/api/events"))
    and endpoint.path not in ("/api/variables/{name}", "/api/windows/{window_id}")  # one's own
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def foreigner(door: Door) -> AsyncGenerator[httpx2.AsyncClient]:
    """Another person's door into the same engine."""
    app = create_app(door.engine, token="another-persons-token", owner=OwnerId("other"))
    headers = {"Authorization": "Bearer another-persons-token"}
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers
    ) as client:
        yield client


@pytest.mark.parametrize(("method", "path"), ABOUT_AN_AGENT)
async def test_a_foreign_agent_does_not_exist(
    door: Door, foreigner: httpx2.AsyncClient, method: str, path: str
) -> None:
    agent = await door.new_agent(name="private")
    message = await door.say(agent, "private")
    await door.client.put(f"/api/agents/{agent}/files/a.txt", content=b"private")
    schedule = await door.schedule(prompt="private")
    address = path.replace(":path", "").format(
        agent_id=agent,
        message_id=message["id"],
        path="a.txt",
        schedule_id=schedule["id"],
        request_id="r1",
        name="KEY",
        plugin="shelf",
        operation="find",
    )
    params = {"agent": agent} if path in ("/api/tools", "/api/events") else {}
    body = BODIES.get(f"{method} {path}")
    if "{operation}" in path:
        body = {"arguments": {"title": "Emma"}, "agentId": agent}
    async with asyncio.timeout(PATIENCE_SECONDS):
        answer = await foreigner.request(method, address, params=params, json=body)
    assert answer.status_code == 404, answer.text
    assert "private" not in answer.text
    mine = (await door.client.get(f"/api/agents/{agent}")).json()
    assert mine["name"] == "private"
    kept = await door.client.get(f"/api/agents/{agent}/files/a.txt")
    assert kept.content == b"private"


async def test_a_foreign_message_is_not_waited_for(
    door: Door, foreigner: httpx2.AsyncClient
) -> None:
    agent = await door.new_agent()
    door.script.released.clear()
    message = await door.say(agent, "hold")
    answer = await asyncio.wait_for(
        foreigner.get(f"/api/messages/{message['id']}", params={"wait": 60}), PATIENCE_SECONDS
    )
    door.script.released.set()
    assert answer.status_code == 404


async def test_lists_hold_only_ones_own(door: Door, foreigner: httpx2.AsyncClient) -> None:
    await door.new_agent()
    assert (await foreigner.get("/api/agents")).json()["agents"] == []
