"""Opening lists, notes and views in a person's window, from wherever it is asked for."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
import pytest_asyncio
import websockets

from retinue.agents.panel import HEADLESS
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import Door
from tests.acceptance.http.test_artifacts import done, operate

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Client:
    """A window that tells what it shows, as the web app does."""

    def __init__(self, socket: websockets.ClientConnection, window_id: str, agent_id: str) -> None:
        self._socket = socket
        self._window_id = window_id
        self._agent_id = agent_id

    async def tell(self, *followed: tuple[str, str]) -> None:
        chat = {"panelId": "chat", "panelType": "chat", "binding": {"agentId": self._agent_id}}
        panel = {"panelId": "artifacts", "panelType": "artifacts"}
        message = {
            "type": "panel_inventory",
            "windowId": self._window_id,
            "panels": [chat, panel],
            "shown": [{"show": show, "how": how} for show, how in followed],
        }
        await self._socket.send(json.dumps(message))

    async def asked(self) -> dict[str, Any]:
        """Wait for a request to show something, to whichever window it goes."""
        while True:
            event = json.loads(await asyncio.wait_for(self._socket.recv(), PATIENCE_SECONDS))
            if event["type"] == "show":
                return event


@asynccontextmanager
async def window(door: Door, window_id: str, agent_id: str = "") -> AsyncGenerator[Client, None]:
    async with door.socket() as socket:
        await socket.send(json.dumps({"type": "subscribe", "after": None, "agent": None}))
        await asyncio.wait_for(socket.recv(), PATIENCE_SECONDS)  # the hello
        client = Client(socket, window_id, agent_id)
        await client.tell()
        await listed(door, window_id, is_there=True)
        yield client
    await listed(door, window_id, is_there=False)


async def listed(door: Door, window_id: str, *, is_there: bool) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            known = (await door.client.get("/api/windows")).json()["windows"]
            if (window_id in {one["windowId"] for one in known}) == is_there:
                return
            await asyncio.sleep(0.01)


def asking(door: Door, name: str, **arguments: Any) -> "asyncio.Task[Any]":
    return asyncio.create_task(done(door, name, **arguments))


@pytest_asyncio.fixture(loop_scope="module", scope="module", autouse=True)
async def kept(door: Door) -> None:
    await done(door, "lists_create", name="Groceries")
    await done(door, "notes_create", title="Recipe", content="Stir.")
    await done(door, "views_create", name="All of it", query="milk")


async def test_the_last_used_window_opens_it_and_says_so(door: Door) -> None:
    async with window(door, "old"), window(door, "new") as client:
        call = asking(door, "lists_show", list="groceries")
        event = await client.asked()
        assert (event["windowId"], event["kind"], event["id"]) == ("new", "list", "groceries")
        await client.tell((event["show"], "opened"))
        told = await call
    assert told["shown"] == {"kind": "list", "id": "groceries", "name": "Groceries"}
    assert (told["windowId"], told["state"]) == ("new", "opened")


async def test_notes_and_views_open_too_in_the_window_and_panel_that_are_named(door: Door) -> None:
    async with window(door, "left") as left, window(door, "right"):
        for name, arguments, kind in (
            ("notes_show", {"note": "recipe", "window_id": "left"}, "note"),
            ("views_show", {"view": "all of it", "window_id": "left"}, "view"),
            ("lists_show", {"list": "Groceries", "window_id": "left"}, "list"),
        ):
            call = asking(door, name, panel_id="artifacts", **arguments)
            event = await left.asked()
            assert (event["windowId"], event["panelId"], event["kind"]) == (
                "left",
                "artifacts",
                kind,
            )
            await left.tell((event["show"], "offered"))
            told = await call
            assert told["state"] == "offered"
            assert "asks before it opens it" in told["message"]


async def test_a_window_that_comes_back_without_having_answered_is_asked_again(door: Door) -> None:
    async with window(door, "flaky") as client:
        call = asyncio.create_task(done(door, "lists_show", "show-0", list="groceries"))
        first = await client.asked()
    async with window(door, "flaky") as client:
        again = await client.asked()
        assert again == first
        await client.tell((again["show"], "opened"))
        await call
        told = await done(door, "lists_show", "show-0", list="groceries")
        assert (told["windowId"], told["state"]) == ("flaky", "opened")


async def test_the_same_key_asks_its_window_once(door: Door) -> None:
    async with window(door, "once") as client:
        call = asyncio.create_task(done(door, "lists_show", "show-1", list="groceries"))
        event = await client.asked()
        await client.tell((event["show"], "opened"))
        first = await call
        assert await done(door, "lists_show", "show-1", list="groceries") == first
        call = asyncio.create_task(done(door, "lists_show", "show-2", list="groceries"))
        other = await client.asked()
        assert other["show"] != event["show"]
        await client.tell((other["show"], "opened"))
        await call


async def test_where_it_cannot_be_shown_the_answer_says_why(door: Door) -> None:
    async def refused(name: str, **arguments: Any) -> tuple[int, str]:
        answer: httpx2.Response = await operate(door, name, **arguments)
        return answer.status_code, answer.json()["error"]["message"]

    assert await refused("lists_show", list="groceries") == (404, HEADLESS)
    status, said = await refused("lists_show", list="moon")
    assert status == 404 and "there is no list 'moon'" in said
    async with window(door, "here"):
        status, said = await refused("lists_show", list="groceries", window_id="gone")
        assert status == 404 and "window_not_found" in said and "open: here" in said
        status, said = await refused("lists_show", list="groceries", panel_id="nowhere")
        assert status == 404 and "panel_not_found" in said
        status, said = await refused("lists_show", list="groceries", panel_id="chat")
        assert status == 400 and "cannot show lists" in said
