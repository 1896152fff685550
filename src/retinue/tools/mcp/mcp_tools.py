"""The tools of all configured MCP servers."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from retinue.clock import Clock
from retinue.problems import LoadProblem
from retinue.tools.mcp.mcp_server import McpServer
from retinue.tools.mcp.mcp_target import target_of
from retinue.tools.port import Tool, ToolServer

if TYPE_CHECKING:
    from retinue.settings.tables import McpSettings

_FIRST_WAIT_SECONDS = 3.0
_FILE = "retinue.toml"


class McpToolbox:
    """Implements `Toolbox`; `close` ends the connections and the processes."""

    def __init__(
        self,
        servers: Mapping[str, "McpSettings"],
        *,
        clock: Clock,
        project_dir: Path,
        first_wait_seconds: float = _FIRST_WAIT_SECONDS,
    ) -> None:
        self._servers = [
            McpServer(
                name,
                partial(target_of, settings, project_dir),
                clock=clock,
                changed=self._forget,
            )
            for name, settings in servers.items()
            if settings.enabled
        ]
        self._off = [name for name, settings in servers.items() if not settings.enabled]
        self._first_wait_seconds = first_wait_seconds
        self._first_wait: asyncio.Task[None] | None = None
        self._tools: Mapping[str, Tool] | None = None
        self._clashes: Sequence[LoadProblem] = ()
        self.on_change: Callable[[], None] = lambda: None  # called when a server's tools changed

    def start(self) -> None:
        """Start connecting in the background."""
        if self._first_wait is None and self._servers:
            for server in self._servers:
                server.start()
            self._first_wait = asyncio.create_task(self._wait_once())

    async def tools(self) -> Mapping[str, Tool]:
        """Return the known tools; right after the start, wait briefly for the first servers.

        Otherwise a turn that resumes after a restart would not find the tools that it was using.
        """
        self.start()
        if self._first_wait is not None and not self._first_wait.done():
            await asyncio.wait({self._first_wait})
        if self._tools is None:
            self._tools = self._combined()
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        told = [
            _problem(server.name, message)
            for server in self._servers
            for message in server.problems()
        ]
        return [*told, *self._clashes]

    def servers(self) -> Sequence[ToolServer]:
        """Return every server of the settings, including disabled ones."""
        used = [
            ToolServer(
                name=server.name,
                state=server.state,
                tools=len(server.tools),
                problems=list(server.problems()),
            )
            for server in self._servers
        ]
        return [*used, *(ToolServer(name=name, state="off", tools=0) for name in self._off)]

    async def close(self) -> None:
        if self._first_wait is not None:
            self._first_wait.cancel()
        await asyncio.gather(*(server.close() for server in self._servers))

    async def _wait_once(self) -> None:
        answers = [asyncio.create_task(server.tried.wait()) for server in self._servers]
        try:
            await asyncio.wait(answers, timeout=self._first_wait_seconds)
        finally:
            for answer in answers:
                answer.cancel()

    def _combined(self) -> Mapping[str, Tool]:
        tools: dict[str, Tool] = {}
        clashes: list[LoadProblem] = []
        for server in self._servers:
            for tool in server.tools.values():
                other = tools.setdefault(tool.name, tool)
                if other is not tool:
                    message = f"skipped: {other.source} already has a tool {tool.name!r}"
                    clashes.append(_problem(server.name, message))
        self._clashes = clashes
        return tools

    def _forget(self) -> None:
        self._tools = None
        self.on_change()


def _problem(server: str, message: str) -> LoadProblem:
    return LoadProblem(file=_FILE, field=f"mcp.{server}", message=message)
