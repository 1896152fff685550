"""Decides which agents run now: the port, and the implementation for one process."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Literal, Protocol

from retinue.agents.descriptor import Descriptor
from retinue.clock import Clock
from retinue.ids import AgentId

logger = logging.getLogger(__name__)

Priority = Literal["foreground", "background"]
Run = Callable[[AgentId], Awaitable[None]]


class Described(Protocol):
    """An agent, in memory or as stored."""

    @property
    def descriptor(self) -> Descriptor: ...


def priority_of(agent: Described) -> Priority:
    return "foreground" if agent.descriptor.is_foreground else "background"


class Dispatch(Protocol):
    """Runs agents that were woken, one run at a time per agent."""

    def begin(self, run: Run) -> None: ...

    def is_free(self, agent_id: AgentId, priority: Priority) -> bool:
        """Whether the agent is idle and would run at once if woken."""
        ...

    def wake(self, agent_id: AgentId, priority: Priority) -> None: ...

    def wake_later(self, agent_id: AgentId, priority: Priority, seconds: float) -> None: ...

    async def end(self) -> None: ...


class _Lane:
    """A pool of work with limited concurrency; further agents wait in a queue."""

    def __init__(self, free: int) -> None:
        self.free = free
        self.waiting: deque[AgentId] = deque()


class LocalDispatch:
    """One task per running agent; foreground and background have separate capacities."""

    def __init__(self, *, foreground: int, background: int, clock: Clock) -> None:
        self._lanes: dict[Priority, _Lane] = {
            "foreground": _Lane(foreground),
            "background": _Lane(background),
        }
        self._clock = clock
        self._run: Run | None = None
        self._awake: dict[AgentId, bool] = {}  # True = woken again during its run
        self._tasks: dict[AgentId, asyncio.Task[None]] = {}
        self._timers: dict[AgentId, tuple[float, asyncio.Task[None]]] = {}

    def begin(self, run: Run) -> None:
        self._run = run

    def is_free(self, agent_id: AgentId, priority: Priority) -> bool:
        is_at_rest = self._run is not None and agent_id not in self._awake
        return is_at_rest and self._lanes[priority].free > 0

    def wake(self, agent_id: AgentId, priority: Priority) -> None:
        if self._run is None:
            return
        if agent_id in self._awake:
            self._awake[agent_id] = True
            return
        self._awake[agent_id] = False
        lane = self._lanes[priority]
        if lane.free:
            lane.free -= 1
            self._start(self._run, agent_id, lane)
        else:
            lane.waiting.append(agent_id)

    def wake_later(self, agent_id: AgentId, priority: Priority, seconds: float) -> None:
        """Keep one timer per agent, the earliest; a woken agent sets its next timer itself."""
        if self._run is None:
            return
        due = self._clock.monotonic() + seconds
        known = self._timers.get(agent_id)
        if known is not None:
            if known[0] <= due:
                return
            known[1].cancel()
        timer = asyncio.create_task(self._wait(agent_id, priority, seconds))
        self._timers[agent_id] = (due, timer)

    async def end(self) -> None:
        """Wake no more agents, and wait for current runs to end."""
        self._run = None
        timers = [timer for _, timer in self._timers.values()]
        for timer in timers:
            timer.cancel()
        while pending := [t for t in (*self._tasks.values(), *timers) if not t.done()]:
            await asyncio.wait(pending)

    async def _wait(self, agent_id: AgentId, priority: Priority, seconds: float) -> None:
        await self._clock.sleep(seconds)
        del self._timers[agent_id]
        self.wake(agent_id, priority)

    def _start(self, run: Run, agent_id: AgentId, lane: _Lane) -> None:
        self._tasks[agent_id] = asyncio.create_task(self._work(run, agent_id, lane))

    async def _work(self, run: Run, agent_id: AgentId, lane: _Lane) -> None:
        try:
            while self._run is not None:
                self._awake[agent_id] = False
                await run(agent_id)
                if not self._awake[agent_id]:
                    break
        except Exception:
            logger.exception("an agent's run failed", extra={"agent_id": agent_id})
        finally:
            del self._awake[agent_id], self._tasks[agent_id]
            if lane.waiting and self._run is not None:
                self._start(self._run, lane.waiting.popleft(), lane)
            else:
                lane.free += 1
