"""A configured MCP server and its tools, kept connected by one task."""

import asyncio
import contextlib
import importlib
import logging
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from retinue.clock import Clock
from retinue.errors import RetinueError, UsageError
from retinue.installation import missing_extra
from retinue.tools.json_schema import validator
from retinue.tools.mcp.mcp_target import Target, without_secrets
from retinue.tools.port import Tool, ToolContext, ToolOutput
from retinue.tools.threads import in_thread

if TYPE_CHECKING:
    from retinue.tools.mcp.mcp_client import Conversation

logger = logging.getLogger(__name__)

_CONNECT_SECONDS = 60.0
_LIST_SECONDS = 20.0
_REFRESH_SECONDS = 300.0
_CALL_WAIT_SECONDS = 10.0
_SHORT_LIFE_SECONDS = 30.0
_LONGEST_PAUSE_SECONDS = 60.0
_CLOSE_SECONDS = 10.0


class ServerLostError(RetinueError):
    """The server is not connected."""

    code = "mcp_disconnected"


class McpServer:
    """Connects, lists tools and reconnects in the background; listing tools never waits."""

    def __init__(
        self,
        name: str,
        target: Callable[[], Target],
        *,
        clock: Clock,
        changed: Callable[[], None],
    ) -> None:
        self.name = name
        self.tools: Mapping[str, Tool] = {}
        self.tried = asyncio.Event()  # set after the first attempt, successful or not
        self._find_target = target
        self._clock = clock
        self._tell = changed
        self._conversation: Conversation | None = None
        self._connected = asyncio.Event()
        self._ended = asyncio.Event()
        self._doubted = asyncio.Event()
        self._problem: str | None = None
        self._bad_tools: Sequence[str] = ()
        self._scope: Any = None
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> Literal["connected", "connecting", "lost"]:
        if self._conversation is not None:
            return "connected"
        return "connecting" if self._problem is None else "lost"

    def problems(self) -> Sequence[str]:
        return [*([] if self._problem is None else [self._problem]), *self._bad_tools]

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep_connected(), name=f"mcp {self.name}")

    async def close(self) -> None:
        """End the connection, and the process with it."""
        if self._task is None:
            return
        # Cancel the scope, because cancelling the task would interrupt killing the process.
        if self._scope is not None:
            self._scope.cancel()
        else:
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=_CLOSE_SECONDS)

    async def _keep_connected(self) -> None:
        if missing := missing_extra("mcp", used_for="MCP servers"):
            logger.warning("mcp server not used", extra={"server": self.name, "reason": missing})
            self._lose(missing)
            return
        try:
            sdk = await in_thread(_load, name="import mcp")
            with sdk.anyio.CancelScope() as self._scope:
                await self._connect_for_ever(sdk)
        except Exception as error:
            logger.exception("mcp server given up", extra={"server": self.name})
            self._lose(f"gave up: {type(error).__name__}: {error}")
        finally:
            self._conversation = None
            self.tried.set()

    async def _connect_for_ever(self, sdk: Any) -> None:
        pause = 1.0
        while True:
            began = self._clock.monotonic()
            said: deque[str] = deque(maxlen=5)
            target: Target | None = None
            try:
                target = await asyncio.to_thread(self._find_target)
                await self._connect_once(sdk, target, said)
                reason = "the connection ended"
            except Exception as error:  # noqa: BLE001  (reconnect after any error of the SDK)
                reason = sdk.reason_of(error)
            if said:
                reason = f"{reason} ({said[-1]})"
            self._lose(without_secrets(reason, target) if target is not None else reason)
            lived = self._clock.monotonic() - began
            pause = 1.0 if lived > _SHORT_LIFE_SECONDS else pause
            logger.warning("mcp server lost", extra={"server": self.name, "reason": self._problem})
            await self._clock.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _connect_once(self, sdk: Any, target: Target, said: "deque[str]") -> None:
        self._ended.clear()
        self._doubted.clear()
        deadline = sdk.anyio.current_time() + _CONNECT_SECONDS
        with sdk.anyio.CancelScope(deadline=deadline) as connecting:
            async with sdk.converse(target, self._ended, said) as conversation:
                await self._list(conversation)
                connecting.deadline = math.inf
                self._conversation = conversation
                self._connected.set()
                try:
                    await self._follow(sdk, conversation)
                finally:
                    self._conversation = None
                    self._connected.clear()
        if connecting.cancelled_caught:
            raise TimeoutError(f"no response within {_CONNECT_SECONDS:g} seconds")

    async def _follow(self, sdk: Any, conversation: "Conversation") -> None:
        """List tools after changes, after failed calls and at intervals, until the server ends."""
        while not self._ended.is_set():
            await _first_of(
                self._ended, self._doubted, conversation.changed, seconds=_REFRESH_SECONDS
            )
            if self._ended.is_set():
                return
            self._doubted.clear()
            conversation.changed.clear()
            with sdk.anyio.fail_after(_LIST_SECONDS):
                await self._list(conversation)

    async def _list(self, conversation: "Conversation") -> None:
        conversion = importlib.import_module("retinue.tools.mcp.conversion")
        tools: dict[str, Tool] = {}
        bad: list[str] = []
        for listed in await conversation.list():
            name: str = conversion.tool_name(self.name, listed.name)
            try:
                if name in tools:
                    raise UsageError(f"another tool of this server has the name {name!r}")
                tools[name] = self._tool(conversion, name, listed)
            except UsageError as error:
                bad.append(f"tool {listed.name!r} was skipped: {error.message}")
        self._problem, self._bad_tools = None, bad
        if not _same(self.tools, tools):
            self.tools = tools
            self._tell()
        self.tried.set()

    def _tool(self, conversion: Any, name: str, listed: Any) -> Tool:
        async def invoke(ctx: ToolContext, arguments: Mapping[str, Any]) -> ToolOutput:
            conversation = await self._current()
            try:
                result = await conversation.call(ctx, listed.name, arguments)
            except Exception as error:
                # Maybe only this call failed: the connection's task checks, and may reconnect.
                self._doubted.set()
                raise _failure(self.name, error) from error
            return await conversion.output(ctx, result, tool_name=name)

        return Tool(
            name=name,
            description=conversion.description_of(listed),
            parameters=listed.input_schema,
            invoke=invoke,
            validate=validator(name, listed.input_schema),
            effect=conversion.effect_of(listed),
            capabilities=(f"mcp.{self.name}",),
            source=f"mcp:{self.name}",
        )

    async def _current(self) -> "Conversation":
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CALL_WAIT_SECONDS):
                await self._connected.wait()
        if self._conversation is None:
            reason = self._problem or "it has not responded yet"
            raise ServerLostError(f"MCP server {self.name!r} is not connected: {reason}")
        return self._conversation

    def _lose(self, reason: str) -> None:
        """Record a lost connection; the tools are removed after a second failure in a row."""
        if self._problem is not None and self.tools:
            self.tools = {}
            self._tell()
        self._problem = reason
        self.tried.set()


def _failure(server: str, error: Exception) -> ServerLostError:
    sdk = _load()
    doubt = "" if sdk.is_answer(error) else "; it is unknown whether the call took effect"
    return ServerLostError(f"MCP server {server!r}: {sdk.reason_of(error)}{doubt}")


def _load() -> Any:
    return importlib.import_module("retinue.tools.mcp.mcp_client")


async def _first_of(*events: asyncio.Event, seconds: float) -> None:
    waiting = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()


def _same(old: Mapping[str, Tool], new: Mapping[str, Tool]) -> bool:
    def visible(tools: Mapping[str, Tool]) -> object:
        return [(t.name, t.description, t.parameters, t.effect) for t in tools.values()]

    return visible(old) == visible(new)
