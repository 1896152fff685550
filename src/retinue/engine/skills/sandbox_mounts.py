"""The sandbox mounts for an agent's skills: their folders, the API socket, and a token."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from retinue.engine.calls.plugin_calls import Caller
from retinue.engine.collaboration.services import call_of
from retinue.engine.skills.sandbox_tokens import SandboxTokens
from retinue.engine.skills.skill_catalog import skill_commands, skill_instructions
from retinue.plugins.skill_client import SOCKET_VARIABLE, TOKEN_VARIABLE
from retinue.plugins.skill_folders import CLIENT, PLACE, python_binds
from retinue.tools.port import ToolContext
from retinue.tools.sandbox import Bind, SandboxExtras

SOCKET = "skills.sock"
_DOOR_PLACE = "/run/retinue"

OpenDoor = Callable[[], Awaitable[Path]]
"""Returns the folder of the socket that command lines connect to; opens it if needed."""


class SandboxMounts:
    """Adds mounts to the sandboxes of agents that are offered skills."""

    def __init__(self, folder: Path, passes: SandboxTokens, *, seconds: float) -> None:
        self._folder = folder  # of the plugins' skills
        self.passes = passes
        self._seconds = seconds  # the time limit of a command
        self._open: OpenDoor | None = None

    def open_with(self, open_door: OpenDoor) -> None:
        self._open = open_door

    @asynccontextmanager
    async def equip(self, ctx: ToolContext) -> AsyncGenerator[SandboxExtras]:
        """The mounts for the duration of one command."""
        call = call_of(ctx)
        definition, tools = call.config.definition, call.config.scoped
        snapshot = call.config.snapshot
        read = [
            Bind(source=skill.folder, place=f"{PLACE}/{skill.name}")
            for skill in skill_instructions(snapshot, definition, tools)
        ]
        commands = skill_commands(snapshot, definition, tools)
        if self._open is None or not commands:
            yield SandboxExtras(binds=read)
            return
        door = await self._open()
        caller = Caller(
            owner=call.owner, agent_id=call.agent_id, side=call.turn.side, is_skill=True
        )
        token = self.passes.issue(caller, self._seconds)
        binds = [Bind(source=one.folder, place=f"{PLACE}/{one.id}") for one in commands]
        try:
            yield SandboxExtras(
                binds=[*read, *binds, *self._client(), Bind(source=door, place=_DOOR_PLACE)],
                variables={SOCKET_VARIABLE: f"{_DOOR_PLACE}/{SOCKET}", TOKEN_VARIABLE: token},
            )
        finally:
            self.passes.revoke(token)

    def _client(self) -> Sequence[Bind]:
        shared = Bind(source=self._folder / CLIENT, place=f"{PLACE}/{CLIENT}")
        return [shared, *(Bind(source=one, place=str(one)) for one in python_binds())]
