"""HTTP requests and the event stream: to a server, or to the ASGI app in this process."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2
import msgspec
from msgspec import Struct

from retinue.errors import (
    ArgumentsError,
    BusyError,
    ConflictError,
    ContextTooLongError,
    FencedError,
    ModelError,
    NotFoundError,
    OperationError,
    RefusedError,
    RetinueError,
    StoreDamagedError,
    StoreError,
    StoreFullError,
    TerminatedError,
    UnknownModelError,
    UsageError,
)
from retinue.events import Event, HelloEvent, ResyncEvent
from retinue.server.wire import ErrorAnswer, ErrorDetail, EventsQuery

if TYPE_CHECKING:
    from starlette.types import ASGIApp

T = TypeVar("T")

_TIMEOUT_SECONDS = 30.0
_SILENCE_SECONDS = 60.0
_RECONNECT_SECONDS = 30.0
_PAUSE_SECONDS = 0.5
_IN_PROCESS_URL = "http://localhost"
_ERRORS: Mapping[str, type[RetinueError]] = {
    kind.code: kind
    for kind in (
        ArgumentsError,
        BusyError,
        ConflictError,
        ContextTooLongError,
        FencedError,
        ModelError,
        NotFoundError,
        OperationError,
        RefusedError,
        StoreDamagedError,
        StoreError,
        StoreFullError,
        TerminatedError,
        UnknownModelError,
        UsageError,
    )
}


class ServerError(RetinueError):
    """A server error without a class of its own here; it keeps its code."""

    def __init__(self, error: ErrorDetail, details: Mapping[str, object]) -> None:
        super().__init__(error.message, details=details)
        self.code = error.code


class UnreachableError(BusyError):
    """The server does not respond; it is unknown whether the request took effect."""


class Channel:
    """Sends requests and decodes responses. Every failure is a `RetinueError`."""

    def __init__(self, url: str, token: str, transport: httpx2.AsyncBaseTransport | None) -> None:
        # The server runs on this machine: a proxy from the environment must not see the token.
        self.url = url.rstrip("/")
        self._http = httpx2.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT_SECONDS,
            trust_env=False,
            transport=transport,
        )

    @classmethod
    def to_server(cls, url: str, token: str) -> "Channel":
        return cls(url, token, None)

    @classmethod
    def in_process(cls, app: "ASGIApp", token: str) -> "Channel":
        from retinue.cli.asgi_transport import StreamingASGITransport

        return cls(_IN_PROCESS_URL, token, StreamingASGITransport(app))

    async def close(self) -> None:
        await self._http.aclose()

    async def get(
        self, path: str, shape: type[T], query: Struct | None = None, *, extra_seconds: float = 0
    ) -> T:
        response = await self.request("GET", path, query=query, extra_seconds=extra_seconds)
        return msgspec.json.decode(response.content, type=shape)

    async def send(
        self,
        method: str,
        path: str,
        shape: type[T],
        body: Struct | None = None,
        *,
        extra_seconds: float = 0,
    ) -> T:
        response = await self.request(method, path, body=body, extra_seconds=extra_seconds)
        return msgspec.json.decode(response.content, type=shape)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Struct | None = None,
        body: Struct | bytes | None = None,
        allowed: int | None = None,
        extra_seconds: float = 0,
    ) -> httpx2.Response:
        """Send one request; raises on an error status unless it is `allowed`."""
        headers: dict[str, str] = {}
        if isinstance(body, Struct):
            body = msgspec.json.encode(body)
            headers["Content-Type"] = "application/json"
        try:
            response = await self._http.request(
                method,
                path,
                params=_parameters(query),
                content=body,
                headers=headers,
                timeout=_TIMEOUT_SECONDS + extra_seconds,
            )
        except httpx2.TransportError as error:
            raise self._unreachable() from error
        if response.is_error and response.status_code != allowed:
            raise _error(response.status_code, response.content)
        return response

    async def events(self, agent_id: str, after: int | None) -> AsyncIterator[Event]:
        """Follow the event stream; after a lost connection it continues from its cursor."""
        loop = asyncio.get_running_loop()
        cursor = after
        lost_at: float | None = None
        is_begun = False
        while True:
            try:
                async for event in self._stream(EventsQuery(agent=agent_id, after=cursor)):
                    lost_at = None
                    if isinstance(event, HelloEvent):
                        cursor = event.cursor
                        if is_begun:
                            continue
                        is_begun = True
                    yield event
                    cursor = max(cursor or 0, getattr(event, "cursor", 0))
                    if isinstance(event, ResyncEvent):
                        cursor = event.cursor
            except httpx2.TransportError:
                pass
            now = loop.time()
            lost_at = now if lost_at is None else lost_at
            if now - lost_at > _RECONNECT_SECONDS:
                raise self._unreachable()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _stream(self, query: EventsQuery) -> AsyncIterator[Event]:
        timeout = httpx2.Timeout(_TIMEOUT_SECONDS, read=_SILENCE_SECONDS)
        async with self._http.stream(
            "GET", "/api/events", params=_parameters(query), timeout=timeout
        ) as response:
            if response.is_error:
                raise _error(response.status_code, await response.aread())
            decoder = msgspec.json.Decoder(Event)
            async for line in response.aiter_lines():
                if line.startswith("data:"):
                    yield decoder.decode(line[5:])

    def _unreachable(self) -> UnreachableError:
        return UnreachableError(
            f"the server at {self.url} does not respond. It may be stopping: try again soon"
        )


def _parameters(query: Struct | None) -> dict[str, Any]:
    given: dict[str, Any] = {} if query is None else msgspec.to_builtins(query)
    return {name: value for name, value in given.items() if value is not None}


def _error(status: int, body: bytes) -> RetinueError:
    """Return the error that the engine raised, with its class where known."""
    try:
        error = msgspec.json.decode(body, type=ErrorAnswer).error
    except msgspec.DecodeError:
        return RetinueError(f"unexpected response from the server (status {status})")
    details = error.details if isinstance(error.details, dict) else {}
    kind = _ERRORS.get(error.code)
    if kind is None:
        return ServerError(error, details)
    return kind(error.message, details=details)
