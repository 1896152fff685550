"""The `shell` tool."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retinue.agents.permission import NETWORK
from retinue.tools.function_tool import FunctionTool, tool
from retinue.tools.grants import granted
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.sandbox import Ran, Sandbox, SandboxExtras, SandboxLimits

if TYPE_CHECKING:
    from retinue.settings.tables import ShellSettings

_GRACE_SECONDS = 10


Equip = Callable[[ToolContext], AbstractAsyncContextManager[SandboxExtras]]
"""Provides an agent's own sandbox extras for the duration of one command."""


def shell_tool(
    settings: "ShellSettings", private: Path, equip: Equip | None = None
) -> FunctionTool[..., Any]:
    """Create the tool with these limits; no grant gives access to `private`."""
    sandbox = Sandbox(SandboxLimits(seconds=settings.time_limit_seconds))

    @tool(
        effect="once",
        capabilities=["shell.run"],
        timeout_seconds=settings.time_limit_seconds + _GRACE_SECONDS,
    )
    async def shell(ctx: ToolContext, command: str) -> ToolOutput:
        """Run a command with bash, in a sandbox with your file tree and the system's programs.

        It starts in /work, which is your file tree: /work/notes/a.md is the file /notes/a.md. Files
        written elsewhere and processes left running are removed afterwards. The network needs the
        grant @network; with it, the command can reach whatever this machine can reach. Granted
        paths (@read, @write) are at their real locations.

        Args:
            command: The bash command; may have several lines.
        """
        folder = Path(str(ctx.files.real_path("/")))
        has_network = NETWORK in ctx.grants
        places = await asyncio.to_thread(granted, ctx.grants, private)
        async with equip(ctx) if equip is not None else nullcontext(SandboxExtras()) as extras:
            ran = await sandbox.run(
                command,
                folder,
                has_network=has_network,
                binds=[*places.binds, *extras.binds],
                hidden=places.hidden,
                variables=extras.variables,
            )
        text = _report(ran)
        if places.missing:
            text += f"\n[granted, but not found: {', '.join(places.missing)}]"
        return ToolOutput(text=text, is_error=ran.exit_code != 0)

    return shell


def _report(ran: Ran) -> str:
    output = ran.output.rstrip("\n") or "(no output)"
    if ran.stopped is not None:
        return f"{output}\n[stopped: {ran.stopped}]"
    return output if ran.exit_code == 0 else f"{output}\n[exit code {ran.exit_code}]"
