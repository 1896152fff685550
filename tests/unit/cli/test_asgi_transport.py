"""Requests to an app in this process behave as over the network, and stream as they do there."""

import asyncio

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from retinue.cli.asgi_transport import StreamingASGITransport


class Clock:
    """An app that sends one tick at a time, for as long as it is listened to."""

    def __init__(self) -> None:
        self.tick = asyncio.Event()
        self.sent = 0
        self.is_running = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.is_running = True
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            while True:
                await self.tick.wait()
                await send({"type": "http.response.body", "body": b"tick", "more_body": True})
                self.sent += 1
        finally:
            self.is_running = False


def client(app: object) -> httpx2.AsyncClient:
    transport = StreamingASGITransport(app)  # pyright: ignore[reportArgumentType]
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    request = await receive()
    body = b"%s %s?%s %s" % (
        scope["method"].encode(),
        scope["path"].encode(),
        scope["query_string"],
        request["body"],
    )
    headers = [(b"x-seen", dict(scope["headers"])[b"x-sent"])]
    await send({"type": "http.response.start", "status": 418, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def defect(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 500, "headers": []})
    await send({"type": "http.response.body", "body": b"went wrong"})
    raise ZeroDivisionError("the defect itself")


async def silent(scope: Scope, receive: Receive, send: Send) -> None:
    raise ZeroDivisionError("before any response")


async def test_a_request_and_its_response_arrive_whole() -> None:
    async with client(echo) as http:
        response = await http.put(
            "/a b", params={"q": "ü"}, content=b"body", headers={"X-Sent": "1"}
        )
    assert response.status_code == 418
    assert response.headers["x-seen"] == "1"
    assert response.text == "PUT /a b?q=%C3%BC body"


async def test_a_response_is_read_while_the_app_goes_on() -> None:
    app = Clock()
    async with client(app) as http, http.stream("GET", "/") as response:
        parts = response.aiter_raw()
        for _ in range(3):
            app.tick.set()
            assert await anext(parts) == b"tick"
        assert app.is_running


async def test_a_slow_reader_slows_the_app_down() -> None:
    app = Clock()
    app.tick.set()
    async with client(app) as http, http.stream("GET", "/") as response:
        parts = response.aiter_raw()
        await anext(parts)
        for _ in range(20):
            await asyncio.sleep(0)
        assert app.sent <= 2


@pytest.mark.parametrize("ends", ["response", "client"])
async def test_the_app_ends_with_its_reader(ends: str) -> None:
    app = Clock()
    http = client(app)
    response = await http.send(http.build_request("GET", "/"), stream=True)
    assert app.is_running
    await (response.aclose() if ends == "response" else http.aclose())
    assert not app.is_running
    await http.aclose()


async def test_the_app_ends_when_nobody_waits_for_its_response() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with client(slow) as http:
        asking = asyncio.create_task(http.get("/"))
        await begun.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert ended.is_set()


@pytest.mark.parametrize("app", [defect, silent])
async def test_a_defect_of_the_app_reaches_the_caller(app: object) -> None:
    async with client(app) as http:
        with pytest.raises(ZeroDivisionError):
            await http.get("/")
