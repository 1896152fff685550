"""Schedules and the heartbeat over HTTP."""

import asyncio
from typing import Any

import pytest

from retinue.ids import LOCAL_OWNER
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import Door

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_schedule_is_made_listed_changed_and_deleted(door: Door) -> None:
    made = await door.schedule(title="Report")
    assert (made["id"], made["state"], made["source"]) == ("report", "waiting", "http")
    assert made["nextAt"].endswith("T08:00:00Z")
    listed = (await door.client.get("/api/schedules")).json()
    assert made in listed["schedules"]
    path = "/api/schedules/report"
    changed = (await door.client.patch(path, json={"paused": True, "title": "Other"})).json()
    assert (changed["state"], changed["title"], changed["nextAt"]) == ("paused", "Other", None)
    assert (await door.client.get(path)).json() == changed
    assert (await door.client.delete(path)).status_code == 204
    assert (await door.client.get(path)).status_code == 404
    assert (await door.client.delete(path)).status_code == 404


async def test_running_now_gives_a_message_whose_fate_can_be_followed(door: Door) -> None:
    await door.schedule(title="Runner")
    answer = await door.client.post("/api/schedules/runner/run")
    assert answer.status_code == 202
    message = answer.json()
    path = f"/api/agents/{message['agentId']}/messages/{message['id']}?wait=20"
    assert (await door.client.get(path)).json()["fate"] == "answered"
    (run,) = (await door.client.get("/api/schedules/runner/runs")).json()["runs"]
    assert (run["status"], run["messageId"], run["fate"]) == ("run_now", message["id"], "answered")
    assert run["agentId"] == message["agentId"]


async def test_what_is_due_soon_fires_by_itself_and_is_announced(door: Door) -> None:
    stream = door.engine.subscribe(LOCAL_OWNER, after=None)
    await anext(stream)
    await door.schedule(title="Soon", at="in 1 second", cron=None)
    kinds: set[str] = set()
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in stream:
            kinds.add(type(event).__name__)
            shown = (await door.client.get("/api/schedules/soon")).json()
            if shown["state"] == "done":
                break
    assert "SchedulesEvent" in kinds
    done = (await door.client.get("/api/schedules/soon")).json()
    assert done["last"]["fate"] == "answered"


async def test_the_same_key_makes_one_schedule(door: Door) -> None:
    first = await door.schedule(title="Keyed", key="k-1")
    assert (await door.schedule(title="Keyed", key="k-1"))["id"] == first["id"]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"cron": "0 0 30 2 *"}, "never runs"),
        ({"cron": "61 * * * *"}, "invalid minute: '61'"),
        ({"timezone": "Europe/Berlim"}, "did you mean Europe/Berlin"),
        ({"at": "18:30"}, "either cron"),
        ({"cron": None}, "either cron"),
        ({"watch": {"file": "gone.md"}}, "the project has no file 'gone.md'"),
        ({"watch": {"list": "todo"}}, "no list 'todo'"),
        ({"watch": {}}, "set exactly one of"),
        ({"definition": "nobody"}, "nobody"),
        ({"colour": "red"}, "colour"),
    ],
)
async def test_bad_input_is_refused_and_creates_nothing(
    door: Door, fields: dict[str, Any], complaint: str
) -> None:
    before = (await door.client.get("/api/schedules")).json()
    body = {"title": "Bad", "prompt": "x", "cron": "0 8 * * *", **fields}
    answer = await door.client.post("/api/schedules", json=body)
    assert answer.status_code in (400, 404)
    assert complaint in answer.json()["error"]["message"]
    assert (await door.client.get("/api/schedules")).json() == before


async def test_the_heartbeat_lists_its_tasks_and_runs_them(door: Door) -> None:
    folder = door.project / "heartbeat"
    folder.mkdir()
    (folder / "tidy.md").write_text("---\nevery: 2h\n---\nTidy up.\n", encoding="utf-8")
    (folder / "odd.md").write_text("---\nevery: never\n---\nx\n", encoding="utf-8")
    stream = door.engine.subscribe(LOCAL_OWNER, after=None)
    await anext(stream)
    shown = (await door.client.get("/api/heartbeat")).json()
    assert [task["id"] for task in shown["tasks"]] == ["tidy"]
    assert shown["problems"][0]["file"] == "heartbeat/odd.md"
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for _ in stream:  # the files are looked at once a second
            shown = (await door.client.get("/api/heartbeat")).json()
            if shown["runs"]:
                break
    path = f"/api/messages/{shown['runs'][0]['messageId']}?wait=20"
    assert (await door.client.get(path)).json()["fate"] == "answered"
    again = (await door.client.post("/api/heartbeat/run", json={"tasks": ["tidy"]})).json()
    assert again["applied"]
    unknown = await door.client.post("/api/heartbeat/run", json={"tasks": ["nope"]})
    assert unknown.status_code == 404
