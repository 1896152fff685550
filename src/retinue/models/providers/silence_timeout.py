"""Timeouts for model responses, measured on the wire.

They count bytes, not events: a provider that reasons for minutes sends keep-alive bytes without
events, one that hangs sends nothing.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextvars import ContextVar
from typing import TypeVar

import httpx2

from retinue.errors import ModelTimeoutError
from retinue.models.providers.connection import Timeouts

T = TypeVar("T")

_current: ContextVar["Listener | None"] = ContextVar("_current", default=None)


class Listener:
    """One model call; every byte of the response extends its deadline."""

    def __init__(self, timeouts: Timeouts, name: str) -> None:
        self._timeouts = timeouts
        self._name = name
        self._deadline = asyncio.get_running_loop().time() + timeouts.first_event
        self._has_heard = False
        self._timeout: asyncio.Timeout | None = None
        self._responses: list[httpx2.Response] = []

    def heard(self) -> None:
        self._has_heard = True
        self._deadline = asyncio.get_running_loop().time() + self._timeouts.idle
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(self._deadline)

    async def guard(self, step: Awaitable[T]) -> T:
        """Await one step of the call. Raises `ModelTimeoutError` if no data arrives in time."""
        if self._has_heard:
            # The reader may have been busy for longer than the timeout.
            self._deadline = asyncio.get_running_loop().time() + self._timeouts.idle
        token = _current.set(self)
        try:
            async with asyncio.timeout_at(self._deadline) as self._timeout:
                return await step
        except TimeoutError as error:
            if self._timeout is None or not self._timeout.expired():
                raise
            raise ModelTimeoutError(self._complaint()) from error
        finally:
            self._timeout = None
            _current.reset(token)

    async def hang_up(self) -> None:
        """Close the connection if the response is incomplete; not every vendor library does."""
        for response in self._responses:
            await response.aclose()

    def follow(self, response: httpx2.Response) -> None:
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _HeardStream(response.stream, self)
            self._responses.append(response)

    def _complaint(self) -> str:
        if self._has_heard:
            return f"{self._name} sent no data for {self._timeouts.idle:g} s during its response"
        return f"{self._name} did not respond within {self._timeouts.first_event:g} s"


class _HeardStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, listener: Listener) -> None:
        self._stream = stream
        self._listener = listener

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._listener.heard()
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def listen(response: httpx2.Response) -> None:
    """Attach the current call to its response; a hook of the HTTP client."""
    listener = _current.get()
    if listener is not None:
        listener.follow(response)
