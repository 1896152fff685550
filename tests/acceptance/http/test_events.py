"""The event stream over WebSocket and SSE: live and replay alike, resumable, never in the way."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import websockets
from websockets.exceptions import ConnectionClosed, InvalidStatus

from retinue.server.options import ServerOptions
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import SETTINGS, TOKEN, Door, opened
from tests.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

Event = dict[str, Any]
COMMITTED = ("record", "item", "agent", "agent_deleted")


async def subscribe(client: websockets.ClientConnection, **fields: Any) -> Event:
    await client.send(json.dumps({"type": "subscribe", **fields}))
    return await event_of(client)


async def event_of(client: websockets.ClientConnection) -> Event:
    return json.loads(await asyncio.wait_for(client.recv(), PATIENCE_SECONDS))


async def until_answered(client: websockets.ClientConnection, message: str) -> list[Event]:
    """Read until the message has its final fate and the agent rests."""
    events: list[Event] = []
    is_answered = False
    while True:
        event = await event_of(client)
        events.append(event)
        if event["type"] == "item" and event["item"]["id"] == message:
            is_answered = is_answered or event["item"]["fate"] == "answered"
        if is_answered and event["type"] == "agent" and event["agent"]["status"] == "resting":
            return events


def facts(events: list[Event]) -> list[Event]:
    return [event for event in events if event["type"] in COMMITTED]


async def test_a_conversation_can_be_watched(door: Door) -> None:
    agent = await door.new_agent()
    async with door.socket() as client:
        hello = await subscribe(client, after=None, agent=None)
        assert hello["type"] == "hello"
        message = await door.say(agent, "stream please")
        events = await until_answered(client, message["id"])
    kinds = [event["record"]["kind"] for event in events if event["type"] == "record"]
    assert kinds == ["user", "assistant"]
    deltas = [event for event in events if event["type"] == "delta"]
    assert "".join(event["text"] for event in deltas) == "0123456789" * 20
    cursors = [event["cursor"] for event in facts(events)]
    assert cursors == sorted(cursors) and cursors[0] > hello["cursor"]


async def test_a_replay_is_what_was_live(door: Door) -> None:
    agent = await door.new_agent()
    async with door.socket() as client:
        hello = await subscribe(client, after=None, agent=agent)
        await door.say(agent, "hello")
        live = await records_of(client, until="assistant")
    async with door.socket() as client:
        again = await subscribe(client, after=hello["cursor"], agent=agent)
        assert again == {"type": "hello", "cursor": hello["cursor"]}
        replay = await records_of(client, until="assistant")
    assert replay == live


async def records_of(client: websockets.ClientConnection, *, until: str) -> list[Event]:
    records: list[Event] = []
    while not records or records[-1]["record"]["kind"] != until:
        event = await event_of(client)
        if event["type"] == "record":
            records.append(event)
    return records


async def test_a_client_that_comes_back_misses_and_repeats_nothing(door: Door) -> None:
    agent = await door.new_agent()
    seen: list[int] = []
    cursor: int | None = None
    sending = asyncio.create_task(_say_many(door, agent, 12))
    while len(seen) < 24:
        async with door.socket() as client:
            await subscribe(client, after=0 if cursor is None else cursor, agent=agent)
            for _ in range(9):  # then break off, wherever that is
                event = await event_of(client)
                cursor = event.get("cursor", cursor)
                if event["type"] == "record" and event["record"]["kind"] in ("user", "assistant"):
                    seen.append(event["record"]["seq"])
                if len(seen) == 24:
                    break
    await sending
    assert seen == sorted(set(seen)) == list(range(2, 26))


async def _say_many(door: Door, agent: str, count: int) -> None:
    for number in range(count):
        await door.talk(agent, f"message {number}")


async def test_only_the_asked_for_agent_is_heard_of(door: Door) -> None:
    watched, other = await door.new_agent(), await door.new_agent()
    async with door.socket() as client:
        await subscribe(client, after=None, agent=watched)
        await door.talk(other, "elsewhere")
        message = await door.say(watched, "here")
        events = await until_answered(client, message["id"])
    assert {event["agentId"] for event in events} == {watched}


async def test_a_client_may_subscribe_anew(door: Door) -> None:
    first, second = await door.new_agent(), await door.new_agent()
    async with door.socket() as client:
        await subscribe(client, after=None, agent=first)
        hello = await subscribe(client, after=None, agent=second)
        assert hello["type"] == "hello"
        await door.talk(first, "not this")
        message = await door.say(second, "but this")
        events = await until_answered(client, message["id"])
    assert {event["agentId"] for event in events} == {second}


async def test_a_deleted_agent_is_announced(door: Door) -> None:
    agent = await door.new_agent()
    async with door.socket() as client:
        await subscribe(client, after=None)
        await door.client.delete(f"/api/agents/{agent}")
        while (event := await event_of(client))["type"] != "agent_deleted":
            pass
    assert event["agentId"] == agent


async def test_a_cursor_from_the_future_is_told_to_start_anew(door: Door) -> None:
    async with door.socket() as client:
        await subscribe(client, after=10**12)
        assert (await event_of(client))["type"] == "resync"


@pytest.mark.parametrize(
    "message",
    [
        "nonsense",
        "[]",
        "{}",
        '{"type": "unsubscribe"}',
        '{"type": "subscribe", "after": "x"}',
        '{"type": "subscribe", "after": -1}',
        '{"type": "subscribe", "since": 1}',
        '{"type": "subscribe", "agent": "nobody"}',
        '{"type": "subscribe", "agent": "' + "a" * 24 + '"}',
        b"\x00\x01",
    ],
)
async def test_a_message_that_is_not_understood_ends_the_connection(
    door: Door, message: str | bytes
) -> None:
    async with door.socket() as client:
        await client.send(message)
        with pytest.raises(ConnectionClosed) as closed:
            await event_of(client)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1008
    assert closed.value.rcvd.reason


async def test_a_message_that_is_too_long_ends_the_connection(door: Door) -> None:
    async with door.socket() as client:
        with pytest.raises(ConnectionClosed) as closed:
            await client.send("x" * 100_000)
            await event_of(client)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1009


async def test_a_client_that_takes_nothing_is_dropped_and_hinders_nobody(tmp_path: Path) -> None:
    options = ServerOptions(send_timeout_seconds=0.3)
    settings = SETTINGS.replace("messageChars = 20000", "messageChars = 200000")
    async with opened(tmp_path, options=options, settings=settings) as door:
        full, agent = await door.new_agent(), await door.new_agent()
        for number in range(50):  # together more than the buffers on the way take
            await door.say(full, f"{number} {'x' * 190_000}", silent=True)
        live = door.app.state.services.live
        with socket.create_connection(("127.0.0.1", door.port)) as stalled:
            stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            await asyncio.to_thread(_subscribe_and_stall, stalled)
            assert live.count == 1
            async with asyncio.timeout(PATIENCE_SECONDS):
                while live.count:
                    assert (await door.talk(agent, "are you there"))["fate"] == "answered"


def _subscribe_and_stall(connection: socket.socket) -> None:
    """Speak just enough of the protocol to subscribe, and never read again."""
    connection.sendall(
        f"GET /api/ws HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    assert connection.recv(4096).startswith(b"HTTP/1.1 101")
    message = b'{"type":"subscribe","after":0}'
    connection.sendall(bytes([0x81, 0x80 | len(message), 0, 0, 0, 0]) + message)


async def test_sockets_are_told_when_the_server_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        async with door.socket() as client:
            await subscribe(client, after=None)
            door.serving.cancel()
            with pytest.raises(ConnectionClosed) as closed:
                await event_of(client)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1001


async def test_a_waiting_request_is_answered_when_the_server_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        agent = await door.new_agent()
        message = await door.say(agent, "hold")
        waiting = asyncio.create_task(door.outcome(agent, message["id"], wait=60))
        await door.script.holding.wait()
        await eventually(lambda: door.app.state.services.live.count == 1)
        door.serving.cancel()
        assert (await waiting)["fate"] == "running"


async def test_a_socket_takes_the_parameters_of_the_stream(door: Door) -> None:
    mine, other = await door.new_agent(), await door.new_agent()
    async with door.socket() as client:
        cursor = (await subscribe(client, after=None))["cursor"]
    await door.talk(other, "not for me")
    await door.talk(mine, "for me")
    async with door.socket(query=f"?after={cursor}&agent={mine}") as client:
        hello, *events = [await event_of(client) for _ in range(4)]
    assert hello["type"] == "hello"
    assert {event["agentId"] for event in events} == {mine}


@pytest.mark.parametrize(
    ("query", "status", "word"),
    [
        ("?cursor=1", 400, "unknown parameter 'cursor'"),
        ("?after=x", 400, "after"),
        (f"?agent={'a' * 24}", 404, "agent"),
    ],
)
async def test_a_socket_refuses_parameters_that_it_does_not_take(
    door: Door, query: str, status: int, word: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with door.socket(query=query):
            pass
    assert refused.value.response.status_code == status
    assert word in refused.value.response.body.decode()


async def test_a_logout_closes_the_browsers_sockets(door: Door) -> None:
    async with door.stranger(Origin=door.url, **{"X-Retinue": "1"}) as page:
        await page.post("/api/login", json={"token": TOKEN})
        ((name, value),) = page.cookies.items()
        async with door.socket(Cookie=f"{name}={value}", Origin=door.url) as client:
            await subscribe(client, after=None)
            await page.post("/api/logout")
            with pytest.raises(ConnectionClosed):
                await event_of(client)


# ---------------------------------------------------------------- server-sent events


@asynccontextmanager
async def stream(
    door: Door, headers: dict[str, str] | None = None, **params: Any
) -> AsyncGenerator[AsyncIterator[tuple[str, Event]]]:
    request = door.client.stream("GET", "/api/events", params=params, headers=headers or {})
    async with request as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield _parsed(response)


async def _parsed(response: httpx2.Response) -> AsyncIterator[tuple[str, Event]]:
    cursor = ""
    async for line in response.aiter_lines():
        if line.startswith("id: "):
            cursor = line[4:]
        elif line.startswith("data: "):
            yield cursor, json.loads(line[6:])


async def test_events_come_as_server_sent_events_too(door: Door) -> None:
    agent = await door.new_agent()
    async with stream(door, agent=agent) as events:
        cursor, hello = await anext(events)
        assert hello == {"type": "hello", "cursor": int(cursor)}
        await door.say(agent, "hello")
        async for cursor, event in events:
            assert event["agentId"] == agent
            if event["type"] in COMMITTED:
                assert int(cursor) == event["cursor"]
            if event["type"] == "record" and event["record"]["kind"] == "assistant":
                break


async def test_what_a_browser_saw_last_beats_the_address(door: Door) -> None:
    agent = await door.new_agent()
    await door.talk(agent, "hello")
    async with stream(door, after=0, agent=agent) as events:
        seen = [await anext(events) for _ in range(4)]
    last = seen[-1][0]
    async with stream(door, {"Last-Event-ID": last}, after=0, agent=agent) as events:
        _, hello = await anext(events)
        assert hello == {"type": "hello", "cursor": int(last)}


@pytest.mark.parametrize("query", ["after=x", "after=-1", "since=1", "agent=nobody"])
async def test_a_stream_that_cannot_be_is_refused(door: Door, query: str) -> None:
    answer = await door.client.get(f"/api/events?{query}")
    assert answer.status_code in (400, 404)
    assert answer.json()["error"]["message"]


async def test_a_reader_that_leaves_is_forgotten(door: Door) -> None:
    live = door.app.state.services.live
    before = live.count
    async with stream(door) as events:
        await anext(events)
        assert live.count == before + 1
    await eventually(lambda: live.count == before)
