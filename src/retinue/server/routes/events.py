"""The event stream over WebSocket and server-sent events."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec
from starlette.responses import Response
from starlette.routing import WebSocketRoute
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect

from retinue.engine.feed.event_feed import LaggedError
from retinue.errors import RetinueError
from retinue.events import Event, encode_event
from retinue.ids import AgentId, OwnerId
from retinue.server.endpoints import (
    PRINCIPAL,
    AnyEndpoint,
    Endpoint,
    RouteCall,
    RouteServices,
    known_agent_id,
)
from retinue.server.error_responses import error_response
from retinue.server.event_clients import cancelled, pump
from retinue.server.guard import Principal, unauthorized
from retinue.server.panel_wire import PushedInventory, inventory_of
from retinue.server.request_decoder import decode_json, decode_query
from retinue.server.wire import EventsQuery, Nothing, Subscribe

logger = logging.getLogger(__name__)

GONE = 0
GOING_AWAY = 1001
NOT_UNDERSTOOD = 1008
DEFECT = 1011
TRY_AGAIN = 1013
_REASON_BYTES = 120
_GOODBYE_SECONDS = 1
_CURSOR_DIGITS = 16


async def _watched_agent(
    services: RouteServices, owner: OwnerId, agent: str | None
) -> AgentId | None:
    """Check that an agent id belongs to the owner."""
    if agent is None:
        return None
    agent_id = known_agent_id(agent)
    await services.engine.store.agent(owner, agent_id)
    return agent_id


# ---------------------------------------------------------------- WebSocket


class _Socket:
    """One WebSocket client; a new subscription replaces the previous one."""

    def __init__(self, socket: WebSocket, services: RouteServices, principal: Principal) -> None:
        self._socket = socket
        self._services = services
        self._principal = principal
        self._ending = asyncio.get_running_loop().create_future()
        self._pumping: asyncio.Task[None] | None = None

    async def run(self, first: AsyncIterator[Event] | None) -> None:
        """Serve the client until it disconnects, or the stream or the server ends."""
        live = self._services.live
        leave = live.join(self._principal.session)
        await self._socket.accept()
        if first is not None:
            self._pumping = asyncio.create_task(self._pump(first))
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._leave(leave))]
        try:
            code, reason = await self._ending
        finally:
            self._services.engine.windows.leave(self._principal.owner, self)
            await cancelled(*tasks, *([self._pumping] if self._pumping else []))
        try:
            await self._close(code, reason)
        finally:
            live.left(leave)

    def _end(self, code: int, reason: str = "") -> None:
        if not self._ending.done():
            self._ending.set_result((code, reason))

    async def _leave(self, leave: asyncio.Event) -> None:
        await leave.wait()
        self._end(GOING_AWAY, "the server is stopping, or this browser logged out")

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                self._end(GONE)
                return
            try:
                await self._take((message.get("text") or "").encode())
            except RetinueError as error:
                self._end(NOT_UNDERSTOOD, error.message)
                return

    async def _take(self, data: bytes) -> None:
        if b'"panel_inventory"' in data and _kind(data) == "panel_inventory":
            pushed = decode_json(data, PushedInventory)
            windows, owner = self._services.engine.windows, self._principal.owner
            windows.show(owner, pushed.window_id, inventory_of(pushed), holder=self)
        else:
            await self._subscribe(data)

    async def _subscribe(self, data: bytes) -> None:
        wanted = decode_json(data, Subscribe)
        owner = self._principal.owner
        agent_id = await _watched_agent(self._services, owner, wanted.agent)
        if self._pumping is not None:
            await cancelled(self._pumping)
        events = self._services.engine.subscribe(owner, after=wanted.after, agent_id=agent_id)
        self._pumping = asyncio.create_task(self._pump(events))

    async def _pump(self, events: AsyncIterator[Event]) -> None:
        try:
            await pump(events, self._send)
        except (LaggedError, TimeoutError):
            self._end(TRY_AGAIN, "too slow; subscribe again from the last cursor")
        except WebSocketDisconnect:
            self._end(GONE)
        except Exception:
            logger.exception("a subscription failed")
            self._end(DEFECT)
        else:
            self._end(GOING_AWAY, "the engine is stopping")

    async def _send(self, event: Event) -> None:
        async with asyncio.timeout(self._services.options.send_timeout_seconds):
            await self._socket.send_text(encode_event(event).decode())

    async def _close(self, code: int, reason: str) -> None:
        if code == GONE:
            return
        short = reason.encode()[:_REASON_BYTES].decode("utf-8", "ignore")
        # A stuck client does not receive the close frame either.
        with suppress(TimeoutError, RuntimeError, WebSocketDisconnect):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._socket.close(code, short)


class _Kind(msgspec.Struct):
    type: str = ""


def _kind(data: bytes) -> str:
    """Return a message's type; an unreadable message is refused when it is decoded."""
    try:
        return msgspec.json.decode(data, type=_Kind).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


async def _first_subscription(
    socket: WebSocket, services: RouteServices, principal: Principal
) -> AsyncIterator[Event] | None:
    """Subscribe by the query string, as with server-sent events; without one, to nothing."""
    asked: bytes = socket.scope["query_string"]
    if not asked:
        return None
    query = decode_query(asked, EventsQuery)
    agent_id = await _watched_agent(services, principal.owner, query.agent)
    return services.engine.subscribe(principal.owner, after=query.after, agent_id=agent_id)


def socket_route(services: RouteServices) -> WebSocketRoute:
    async def connect(socket: WebSocket) -> None:
        principal: Principal | None = socket.scope[PRINCIPAL]
        if principal is None:
            raise unauthorized()
        try:
            first = await _first_subscription(socket, services, principal)
        except RetinueError as error:
            await socket.send_denial_response(error_response(error))
            return
        await _Socket(socket, services, principal).run(first)

    return WebSocketRoute("/api/ws", connect)


# ---------------------------------------------------------------- server-sent events


class _Stream(Response):
    """A response that streams until the client, the engine or the server ends it."""

    media_type = "text/event-stream"

    def __init__(self, services: RouteServices, session: str, events: AsyncIterator[Event]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._services = services
        self._session = session
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until something ends it; browsers reconnect after an unfinished response."""
        timeout = self._services.options.send_timeout_seconds

        async def write(data: bytes, *, more: bool = True) -> None:
            async with asyncio.timeout(timeout):
                await send({"type": "http.response.body", "body": data, "more_body": more})

        async def write_event(event: Event) -> None:
            await write(_sse(event))

        async def write_ping() -> None:
            await write(b": ping\n\n")

        async def gone() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        live = self._services.live
        leave = live.join(self._session)
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        tasks = {
            asyncio.create_task(pump(self._events, write_event, on_idle=write_ping)),
            asyncio.create_task(gone()),
            asyncio.create_task(leave.wait()),
        }
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancelled(*tasks)
            live.left(leave)
        with suppress(TimeoutError):
            await write(b"", more=False)


def _sse(event: Event) -> bytes:
    cursor: int | None = getattr(event, "cursor", None)
    head = b"" if cursor is None else b"id: %d\n" % cursor
    return head + b"data: " + encode_event(event) + b"\n\n"


async def stream(call: RouteCall[EventsQuery, Nothing]) -> Response:
    agent_id = await _watched_agent(call.services, call.owner, call.query.agent)
    events = call.engine.subscribe(call.owner, after=_after(call), agent_id=agent_id)
    principal = call.principal
    return _Stream(call.services, principal.session if principal else "", events)


def _after(call: RouteCall[EventsQuery, Nothing]) -> int | None:
    """Return the cursor: the browser's `Last-Event-ID` overrides the URL it reconnects to."""
    seen = call.request.headers.get("last-event-id", "")
    if seen.isdecimal() and len(seen) < _CURSOR_DIGITS:
        return int(seen)
    return call.query.after


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/events",
        summary="Follow events as server-sent events, from a cursor",
        run=stream,
        query=EventsQuery,
        body=Nothing,
        answer="text/event-stream",
        refuses=(404,),
        takes_head=False,
    )
]
