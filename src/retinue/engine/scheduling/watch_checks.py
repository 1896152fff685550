"""Looking at what is watched, without a model: only a difference wakes anybody."""

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
    """Looks at the world outside; the tools' layer implements it."""

    async def look(self, watch: Watch, *, owner: OwnerId, agent_id: AgentId | None) -> str:
        """Give what is there now, as text. Raises a `RetinueError` that says what is wrong.

        `agent_id` is the agent that asked for it, whose files and grants count; None: the owner.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """What a look found, and what to remember of it."""

    mark: Mark
    difference: str = ""  # empty: nothing to wake anybody for
    problem: str = ""


class Watching:
    """Looks, a few at a time, and compares with the last time."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def first_look(
        self, watch: Watch, *, owner: OwnerId, agent_id: AgentId | None, now: datetime
    ) -> Mark:
        """Make the mark of a new watch; what cannot be seen now is an error for whoever asks."""
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
