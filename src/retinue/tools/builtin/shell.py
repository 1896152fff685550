"""The tool that runs commands."""

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
"""Gives what the sandbox of one agent has beside the others', for the time of one command."""


def shell_tool(
    settings: "ShellSettings", private: Path, equip: Equip | None = None
) -> FunctionTool[..., Any]:
    """Make the tool with these limits; no grant shows what is in `private`."""
    sandbox = Sandbox(SandboxLimits(seconds=settings.time_limit_seconds))

    @tool(
        effect="once",
        capabilities=["shell.run"],
        timeout_seconds=settings.time_limit_seconds + _GRACE_SECONDS,
    )
    async def shell(ctx: ToolContext, command: str) -> ToolOutput:
        """Run a command with bash, in a sandbox with your file tree and the system's programs.

        It starts in /work, which is your file tree: /work/notes/a.md is the file /notes/a.md. What
        it writes elsewhere is gone afterwards, and so is every process that it leaves running.
        There is no network without the grant @network; with it, the command reaches whatever this
        machine reaches. Places that you were granted (@read, @write) are where they really are.

        Args:
            command: What bash is to run; several lines are fine.
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
            text += f"\n[granted, but not to be found: {', '.join(places.missing)}]"
        return ToolOutput(text=text, is_error=ran.exit_code != 0)

    return shell


def _report(ran: Ran) -> str:
    output = ran.output.rstrip("\n") or "(no output)"
    if ran.stopped is not None:
        return f"{output}\n[stopped: {ran.stopped}]"
    return output if ran.exit_code == 0 else f"{output}\n[exit code {ran.exit_code}]"
