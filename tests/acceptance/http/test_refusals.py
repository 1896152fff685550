"""Calls that agents were not allowed to make, and the MCP servers of the settings, over HTTP."""

from pathlib import Path
from typing import Any

import httpx2

from retinue.ids import OwnerId
from retinue.server.app import create_app
from tests.acceptance.http.support import SETTINGS, Door, opened


async def refused(door: Door, **query: int) -> dict[str, Any]:
    answer = await door.client.get("/api/refusals", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_refused_calls_are_listed_newest_first_by_pages(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        assert await refused(door) == {"refusals": [], "hasMore": False}
        agent = await door.new_agent()
        for tool in ("shell", "web_fetch", "shelf_burn"):
            await door.talk(agent, f"use {tool}")
        await door.talk(agent, "use time")
        found = await refused(door, limit=2)
        assert [one["name"] for one in found["refusals"]] == ["shelf_burn", "web_fetch"]
        assert found["hasMore"]
        last = found["refusals"][-1]
        assert (last["agentId"], last["kind"]) == (agent, "tool")
        assert "toolAllowlist" in last["rule"]
        rest = await refused(door, before=last["number"])
        assert [one["name"] for one in rest["refusals"]] == ["shell"]
        assert not rest["hasMore"]


async def test_nobody_sees_what_the_agents_of_others_were_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        await door.talk(await door.new_agent(), "use shell")
        app = create_app(door.engine, token="another-persons-token", owner=OwnerId("other"))
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app),
            base_url="http://localhost",
            headers={"Authorization": "Bearer another-persons-token"},
        ) as foreigner:
            theirs = (await foreigner.get("/api/refusals")).json()
        assert theirs == {"refusals": [], "hasMore": False}
        assert len((await refused(door))["refusals"]) == 1


async def test_mcp_servers_are_listed_with_how_they_stand(tmp_path: Path) -> None:
    table = '[mcp.gone]\ncommand = "no-such-program"\n[mcp.off]\ncommand = "x"\nenabled = false\n'
    async with opened(tmp_path, settings=SETTINGS + table) as door:
        gone, off = (await door.client.get("/api/mcp")).json()["servers"]
    assert (gone["name"], gone["state"], gone["tools"]) == ("gone", "lost", 0)
    assert "program 'no-such-program' not found" in gone["problems"][0]
    assert off == {"name": "off", "state": "off", "tools": 0, "problems": []}
