"""Sends events to clients through bounded queues, so that the engine never waits for them."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from msgspec.structs import replace

from retinue.events import DeltaEvent, Event, ToolEvent

QUEUE_EVENTS = 256
MERGED_CHARS = 256 * 1024
IDLE_SECONDS = 15

Send = Callable[[Event], Awaitable[None]]


def merged(earlier: Event, later: Event) -> Event | None:
    """Merge two consecutive events of the same live output; None if they differ."""
    match earlier, later:
        case DeltaEvent(), DeltaEvent() if (
            earlier.agent_id,
            earlier.step,
            earlier.part,
            earlier.kind,
        ) == (later.agent_id, later.step, later.part, later.kind) and len(
            earlier.text
        ) < MERGED_CHARS:
            return replace(earlier, text=earlier.text + later.text)
        case ToolEvent(state="progress"), ToolEvent(state="progress") if earlier.call == later.call:
            return later
        case _:
            return None


class Backlog:
    """The events that one client has not received yet. When full, `put` waits."""

    def __init__(self, size: int = QUEUE_EVENTS) -> None:
        self._size = size
        self._events: deque[Event] = deque()
        self._changed = asyncio.Event()
        self._is_ended = False

    def __len__(self) -> int:
        return len(self._events)

    async def put(self, event: Event) -> None:
        last = self._events[-1] if self._events else None
        whole = merged(last, event) if last is not None else None
        if whole is not None:
            self._events[-1] = whole
            return
        while len(self._events) >= self._size:
            self._changed.clear()
            await self._changed.wait()
        self._events.append(event)
        self._changed.set()

    async def wait(self) -> None:
        """Wait until there is an event, or there will be no more."""
        while not self._events and not self._is_ended:
            self._changed.clear()
            await self._changed.wait()

    async def take(self) -> Event | None:
        """Return the oldest event, or None when there will be no more."""
        await self.wait()
        if not self._events:
            return None
        event = self._events.popleft()
        self._changed.set()
        return event

    def end(self) -> None:
        self._is_ended = True
        self._changed.set()


async def pump(
    events: AsyncIterator[Event],
    send: Send,
    *,
    on_idle: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send a stream's events one by one, merging live output while the client is slow.

    Ends with the stream. Errors of the stream (`LaggedError`) and of sending are raised.
    """
    backlog = Backlog()

    async def fill() -> None:
        try:
            async for event in events:
                await backlog.put(event)
        finally:
            backlog.end()

    filling = asyncio.create_task(fill())
    try:
        while True:
            if on_idle is not None and not backlog:
                try:
                    async with asyncio.timeout(IDLE_SECONDS):
                        await backlog.wait()
                except TimeoutError:
                    await on_idle()
                    continue
            event = await backlog.take()
            if event is None:
                break
            await send(event)
        filling.result()
    finally:
        await cancelled(filling)
        if isinstance(events, AsyncGenerator):
            await events.aclose()


async def cancelled(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError, Exception):
            await task


class LiveClients:
    """All long-lived connections, so that a shutdown or a logout can end them."""

    def __init__(self) -> None:
        self._clients: dict[asyncio.Event, str] = {}
        self._is_closing = False
        self._is_empty = asyncio.Event()

    @property
    def is_closing(self) -> bool:
        return self._is_closing

    @property
    def count(self) -> int:
        return len(self._clients)

    def join(self, session: str = "") -> asyncio.Event:
        """Register a client; the returned event is set when it must disconnect."""
        leave = asyncio.Event()
        if self._is_closing:
            leave.set()
        self._clients[leave] = session
        return leave

    def left(self, leave: asyncio.Event) -> None:
        self._clients.pop(leave, None)
        if not self._clients:
            self._is_empty.set()

    def end_session(self, session: str) -> None:
        for leave, whose in self._clients.items():
            if session and whose == session:
                leave.set()

    async def close(self, *, within_seconds: float = 3) -> None:
        """Ask all clients to disconnect, and wait for them briefly."""
        self._is_closing = True
        for leave in self._clients:
            leave.set()
        if self._clients:
            self._is_empty.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._is_empty.wait(), within_seconds)
