"""An HTTP transport that calls an ASGI app in this process and streams its response.

`httpx2.ASGITransport` collects the whole response before it returns, so an event stream would
never begin. This one yields each part as the app sends it.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from starlette.types import ASGIApp, Message, Scope

_ADDRESS = ("127.0.0.1", 0)


class StreamingASGITransport(httpx2.AsyncBaseTransport):
    """Runs each request as a task of the running loop; the app's exceptions reach the caller."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._exchanges: set[_Exchange] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        exchange = _Exchange(self._app, _scope(request), await request.aread())
        self._exchanges = {one for one in self._exchanges if one.is_open} | {exchange}
        try:
            start = await exchange.next_message()
            if start is None:
                await exchange.result()
                raise RuntimeError("the app returned without a response")
        except BaseException:
            await exchange.aclose()
            raise
        return httpx2.Response(start["status"], headers=start.get("headers", []), stream=exchange)

    async def aclose(self) -> None:
        for exchange in self._exchanges:
            await exchange.aclose()


class _Exchange(httpx2.AsyncByteStream):
    """One request and its response; also the stream of the response's body."""

    def __init__(self, app: ASGIApp, scope: Scope, body: bytes) -> None:
        self._body: bytes | None = body
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()
        self._closed = asyncio.Event()
        self._task = asyncio.create_task(self._run(app, scope))

    @property
    def is_open(self) -> bool:
        return not self._task.done()

    async def _run(self, app: ASGIApp, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self._messages.put_nowait(None)

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._closed.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        """Wait until the message is read, so that a slow reader slows the app down."""
        self._messages.put_nowait(message)
        await self._messages.join()

    async def next_message(self) -> Message | None:
        """Return the app's next message, or None once the app has returned."""
        message = await self._messages.get()
        self._messages.task_done()
        return message

    async def result(self) -> None:
        """Raise the app's exception, if any."""
        await self._task

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (message := await self.next_message()) is not None:
            if body := message.get("body"):
                yield body
        await self.result()

    async def aclose(self) -> None:
        self._closed.set()
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # already raised to the reader, if there was one


def _scope(request: httpx2.Request) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "headers": [(name.lower(), value) for name, value in request.headers.raw],
        "scheme": request.url.scheme,
        "path": request.url.path,
        "raw_path": request.url.raw_path.split(b"?")[0],
        "query_string": request.url.query,
        "server": (request.url.host, request.url.port),
        "client": _ADDRESS,
        "root_path": "",
    }
