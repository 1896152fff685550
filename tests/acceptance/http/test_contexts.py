"""Contexts, windows and the line before a message, as clients meet them."""

import json
from typing import Any

import pytest
import websockets
from websockets.exceptions import ConnectionClosed

from tests.acceptance.http.support import Door
from tests.acceptance.http.test_events import subscribe
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

PANEL = {"panelId": "p1", "panelType": "artifacts", "context": {"type": "list", "id": "l1"}}
INVENTORY = {"panels": [PANEL], "selectedPanelId": "p1"}
LINE = '<context panel-id="p1" panel-type="artifacts" type="list" id="l1" name="Groceries" />'


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


async def windows(door: Door) -> list[str]:
    answer = await door.client.get("/api/windows")
    return [window["windowId"] for window in answer.json()["windows"]]


async def push(client: websockets.ClientConnection, window: str, **fields: Any) -> None:
    told = {"type": "panel_inventory", "windowId": window, **INVENTORY, **fields}
    await client.send(json.dumps(told))


async def test_the_context_is_told_part_by_part(door: Door) -> None:
    agent = await door.new_agent()
    await door.talk(agent, "hello")
    seen = (await door.client.get(f"/api/agents/{agent}/context")).json()
    assert seen["system"][0] == {"name": "base", "text": "You help.", "tokens": 3}
    assert [tool["name"] for tool in seen["tools"]] == sorted(t["name"] for t in seen["tools"])
    assert {"time"} <= {tool["name"] for tool in seen["tools"]}
    assert all(tool["parameters"]["type"] == "object" for tool in seen["tools"])
    texts = [(one["role"], one["parts"][0]["text"]) for one in seen["messages"]]
    assert texts == [("user", "hello"), ("assistant", "You said: hello")]
    assert seen["marks"] == {"warning": 150000, "critical": 180000, "full": 200000}
    assert seen["tokens"]["estimated"] == pytest.approx(
        sum(seen["tokens"][part] for part in ("system", "tools", "messages", "closing")), abs=4
    )
    assert (seen["definition"], seen["model"], seen["pressure"]) == ("helper", "scripted", "low")


async def test_the_context_line_is_stored_shown_to_the_model_and_in_no_title(door: Door) -> None:
    agent = await door.new_agent()
    await door.talk(agent, f"{LINE}\nbuy milk")
    entry = (await door.client.get(f"/api/agents/{agent}")).json()
    assert entry["title"] == "buy milk"
    assert "<context" not in entry["lastSnippet"].partition("You said: ")[0]
    records = (await door.history(agent))["records"]
    assert records[1]["text"] == f"{LINE}\nbuy milk"
    seen = (await door.client.get(f"/api/agents/{agent}/context")).json()
    assert seen["messages"][0]["parts"][0]["text"] == f"{LINE}\nbuy milk"


async def test_a_window_is_there_as_long_as_its_connection(door: Door) -> None:
    async with door.socket() as one, door.socket() as other:
        await push(one, "desk")
        await push(other, "phone")
        await until(lambda: windows_are(door, "desk", "phone"))
        await push(one, "desk", selectedPanelId=None)
        assert (await subscribe(one, after=None))["type"] == "hello"
    await until(lambda: windows_are(door))


async def windows_are(door: Door, *names: str) -> bool:
    return sorted(await windows(door)) == sorted(names)


async def test_a_window_is_told_over_http_too(door: Door) -> None:
    answer = await door.client.put("/api/windows/tablet", json=INVENTORY)
    assert answer.json() == {"leaseSeconds": 60.0}
    assert await windows(door) == ["tablet"]
    assert (await door.client.delete("/api/windows/tablet")).status_code == 204
    assert (await door.client.delete("/api/windows/tablet")).status_code == 404
    assert await windows(door) == []


@pytest.mark.parametrize(
    "told",
    [
        {"panels": [{"panelId": "", "panelType": "x"}]},
        {"panels": [{"panelType": "x"}]},
        {"panels": [PANEL] * 65},
        {"panels": [PANEL], "isTrusted": True},
        {"panels": [{**PANEL, "context": {"name": "x" * 60_000}}]},
        {"panels": [{**PANEL, "context": nested(30)}]},
        {"panels": [{**PANEL, "binding": nested(500)}]},
        {"panels": [PANEL], "layout": nested(400)},
    ],
)
async def test_an_inventory_that_is_too_much_or_something_else_is_refused(
    door: Door, told: dict[str, Any]
) -> None:
    answer = await door.client.put("/api/windows/w1", json=told)
    assert answer.status_code == 400, answer.text
    assert (await door.client.put("/api/windows/a%20b", json=INVENTORY)).status_code == 400
    async with door.socket() as client:
        await push(client, "w1", **told)
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
    assert closed.value.rcvd is not None and closed.value.rcvd.code in (1008, 1009)
    assert await windows(door) == []
