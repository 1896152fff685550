"""Checks watches without a model; only a change wakes an agent."""

import asyncio
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from retinue.agents.watch import Mark, Watch, difference, digest_of, kept
from retinue.errors import RetinueError, UsageError
from retinue.ids import AgentId, OwnerId

_AT_ONCE = 4


class Probe(Protocol):
    """Reads the watched source; implemented by the tools."""

    async def look(self, watch: Watch, *, owner: OwnerId, agent_id: AgentId | None) -> str:
        """The current content, as text. Raises a `RetinueError` with the reason.

        `agent_id` is the agent whose files and grants apply; None is the owner.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """The result of a check, and the mark to store."""

    mark: Mark
    difference: str = ""  # empty = no change
    problem: str = ""


class Watching:
    """Runs a few checks at a time and compares with the previous content."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def first_look(
        self, watch: Watch, *, owner: OwnerId, agent_id: AgentId | None, now: datetime
    ) -> Mark:
        """Create the mark of a new watch. Raises `UsageError` if the source cannot be read."""
        try:
            text = await self._probe.look(watch, owner=owner, agent_id=agent_id)
        except RetinueError as error:
            raise UsageError(f"watch: {error.message}", details={"field": "watch"}) from error
        return Mark(since=now, ran_at=now, digest=digest_of(text), seen=kept(text))

    async def look(
        self,
        watch: Watch,
        mark: Mark,
        *,
        owner: OwnerId,
        agent_id: AgentId | None,
        now: datetime,
    ) -> Looked:
        try:
            async with self._room:
                text = await self._probe.look(watch, owner=owner, agent_id=agent_id)
        except RetinueError as error:
            return Looked(
                mark=replace(mark, ran_at=now, problem=error.message),
                problem=error.message,
            )
        found = difference(mark, text)
        seen = replace(
            mark,
            ran_at=now,
            digest=digest_of(text),
            seen=kept(text),
            problem="",
            is_told=False,
        )
        return Looked(mark=seen, difference=found or "")
