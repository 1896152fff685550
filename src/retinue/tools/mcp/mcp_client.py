"""A connection to one MCP server, using the SDK.

Importing the SDK takes most of a second, so this module is imported in a thread, on first use.
"""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, TextIO, cast

import anyio
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from retinue import __version__
from retinue.tools.mcp.mcp_target import Process, Target
from retinue.tools.port import ToolContext

_MOST_PAGES = 50
_KEY = "retinue/idempotencyKey"


class Conversation:
    """A connected client; opened and closed by one task, used by any."""

    def __init__(self, client: Client, changed: asyncio.Event) -> None:
        self._client = client
        self.changed = changed

    async def list(self) -> Sequence[types.Tool]:
        """List all tools, page by page."""
        found: list[types.Tool] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def call(
        self, ctx: ToolContext, name: str, arguments: Mapping[str, Any]
    ) -> types.CallToolResult:
        async def show(progress: float, total: float | None, message: str | None) -> None:
            share = f"{progress:g} of {total:g}" if total is not None else f"{progress:g}"
            ctx.progress(message or share)

        meta = cast("types.RequestParamsMeta", {_KEY: ctx.idempotency_key})
        return await self._client.call_tool(
            name, dict(arguments), progress_callback=show, meta=meta
        )

    async def listen(self) -> None:
        """Listen for changes of the tool list forever, if the protocol has a stream for them."""
        if self._client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            with contextlib.suppress(Exception):
                async with self._client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self.changed.set()
        await anyio.sleep_forever()


@contextlib.asynccontextmanager
async def converse(
    target: Target, ended: asyncio.Event, said: "deque[str]"
) -> AsyncGenerator[Conversation]:
    """Connect; `ended` is set when the server ends, `said` receives its last error lines."""
    changed = asyncio.Event()

    async def hear(message: object) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            changed.set()

    async with contextlib.AsyncExitStack() as stack:
        transport = _process(target, said) if isinstance(target, Process) else _endpoint(target)
        client = Client(
            cast("Any", _Watched(transport, ended)),
            message_handler=cast("Any", hear),
            client_info=types.Implementation(name="retinue", version=__version__),
            cache=None,
        )
        await stack.enter_async_context(client)
        conversation = Conversation(client, changed)
        news = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(news.cancel_scope.cancel)
        news.start_soon(conversation.listen)
        yield conversation


def reason_of(error: BaseException) -> str:
    """Return the reason of an error, taken out of exception groups."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, MCPError):
        return error.message
    if isinstance(error, FileNotFoundError):
        return f"program {error.filename!r} not found"
    return str(error) or type(error).__name__


def is_answer(error: BaseException) -> bool:
    """Whether the error came from the server; otherwise it is unknown what the server did."""
    lost = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT)
    return isinstance(error, MCPError) and error.code not in lost


@contextlib.asynccontextmanager
async def _endpoint(target: Any) -> AsyncGenerator[Any]:
    async with (
        create_mcp_http_client(headers=dict(target.headers)) as http,
        streamable_http_client(target.url, http_client=http) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def _process(target: Process, said: "deque[str]") -> AsyncGenerator[Any]:
    parameters = StdioServerParameters(
        command=target.command,
        args=list(target.args),
        env=dict(target.env),
        cwd=target.cwd,
        encoding_error_handler="replace",
    )
    async with _complaints(said) as errors, stdio_client(parameters, errlog=errors) as streams:
        errors.close()
        yield streams


@contextlib.asynccontextmanager
async def _complaints(said: "deque[str]") -> AsyncGenerator[TextIO]:
    """Yield a file for the process's stderr; the last lines are kept."""
    loop = asyncio.get_running_loop()
    reading_end, writing_end = os.pipe()
    with (
        os.fdopen(reading_end, "rb", 0) as reader,
        os.fdopen(writing_end, "w", encoding="utf-8") as writer,
    ):
        transport, _ = await loop.connect_read_pipe(lambda: _Lines(said), reader)
        try:
            yield writer
        finally:
            transport.close()


class _Lines(asyncio.Protocol):
    def __init__(self, said: "deque[str]") -> None:
        self._said = said

    def data_received(self, data: bytes) -> None:
        lines = data.decode(errors="replace").splitlines()
        self._said.extend(line.strip()[:500] for line in lines if line.strip())


class _Watched:
    """A transport that reports the end of its message stream, which the client does not."""

    def __init__(self, inner: Any, ended: asyncio.Event) -> None:
        self._inner = inner
        self._ended = ended

    async def __aenter__(self) -> Any:
        read, write = await self._inner.__aenter__()
        return _WatchedStream(read, self._ended.set), write

    async def __aexit__(self, *details: Any) -> Any:
        return await self._inner.__aexit__(*details)


class _WatchedStream:
    def __init__(self, inner: Any, tell: Callable[[], None]) -> None:
        self._inner = inner
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __aiter__(self) -> "_WatchedStream":
        return self

    async def __anext__(self) -> Any:
        try:
            return await self._inner.__anext__()
        except StopAsyncIteration:
            self._tell()
            raise

    async def receive(self) -> Any:
        try:
            return await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._tell()
            raise

    async def __aenter__(self) -> "_WatchedStream":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *details: Any) -> Any:
        return await self._inner.__aexit__(*details)
