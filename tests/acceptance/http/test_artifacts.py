"""Lists, notes and views through HTTP and the event stream."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
import websockets

from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import Door

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def operate(
    door: Door, name: str, key: str | None = None, /, **arguments: Any
) -> httpx2.Response:
    plugin, _, operation = name.partition("_")
    address = f"/api/plugins/{plugin}/operations/{operation.replace('_', '-')}"
    body: dict[str, Any] = {"arguments": arguments} | ({"key": key} if key else {})
    return await door.client.post(address, json=body)


async def done(door: Door, name: str, key: str | None = None, /, **arguments: Any) -> Any:
    answer = await operate(door, name, key, **arguments)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def news(
    client: websockets.ClientConnection, count: int, **subscription: Any
) -> list[dict[str, Any]]:
    """Read so many events about artifacts, from a cursor on or live."""
    events: list[dict[str, Any]] = []
    if subscription:
        await client.send(json.dumps({"type": "subscribe", **subscription}))
    while len(events) < count:
        event = json.loads(await asyncio.wait_for(client.recv(), PATIENCE_SECONDS))
        if event["type"] == "artifact":
            events.append(event)
    return events


async def test_changes_reach_every_window_and_those_that_come_back_miss_nothing(
    door: Door,
) -> None:
    async with door.socket() as first, door.socket() as second:
        for client in (first, second):
            await client.send(json.dumps({"type": "subscribe", "after": None, "agent": None}))
        hello = json.loads(await asyncio.wait_for(first.recv(), PATIENCE_SECONDS))
        await asyncio.wait_for(second.recv(), PATIENCE_SECONDS)
        await done(door, "lists_create", name="Windows")
        item = await done(door, "lists_item_add", list="windows", title="Wash them")
        live = await news(first, 2)
        also = await news(second, 2)
    assert live == also
    assert live[1] == {
        "type": "artifact",
        "cursor": live[1]["cursor"],
        "kind": "item",
        "id": item["item"]["id"],
        "action": "created",
        "version": 1,
        "change": item["change"],
        "list": "windows",
    }
    await done(door, "lists_undo")
    async with door.socket() as client:
        replayed = await news(client, 3, after=hello["cursor"], agent=None)
    assert replayed[:2] == live
    assert (replayed[2]["action"], replayed[2]["id"]) == ("removed", item["item"]["id"])
    async with door.socket() as client:
        rest = await news(client, 1, after=live[1]["cursor"], agent=None)
    assert rest == replayed[2:]


async def test_the_same_key_adds_one_item(door: Door) -> None:
    await done(door, "lists_create", name="Once")
    first = await done(door, "lists_item_add", "add-1", list="once", title="Milk")
    assert await done(door, "lists_item_add", "add-1", list="once", title="Milk") == first
    assert (await done(door, "lists_items_list", list="once"))["total"] == 1


async def test_a_bad_query_is_told_with_its_position(door: Door) -> None:
    answer = await operate(door, "views_query", query="tag IN (a b)")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_query")
    assert error["details"] == {"position": 10, "expected": '"," or ")"'}
    missing = await operate(door, "notes_read", note="nothing")
    assert missing.status_code == 404
    await done(door, "notes_create", title="Twice")
    assert (await operate(door, "notes_create", title="twice")).status_code == 409
