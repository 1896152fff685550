"""Which agents run now: the port, and the one for a single process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Literal, Protocol

from retinue.clock import Clock
from retinue.ids import AgentId

logger = logging.getLogger(__name__)

Priority = Literal["foreground", "background"]
Run = Callable[[AgentId], Awaitable[None]]


class Dispatch(Protocol):
    """Runs an agent soon after it was woken, one run at a time for each agent."""

    def begin(self, run: Run) -> None: ...

    def wake(self, agent_id: AgentId, priority: Priority) -> None: ...

    def wake_later(self, agent_id: AgentId, priority: Priority, seconds: float) -> None: ...

    async def end(self) -> None: ...


class LocalDispatch:
    """One task for each awake agent; people's work has a capacity of its own."""

    def __init__(self, *, foreground: int, background: int, clock: Clock) -> None:
        self._capacity: dict[Priority, asyncio.Semaphore] = {
            "foreground": asyncio.Semaphore(foreground),
            "background": asyncio.Semaphore(background),
        }
        self._clock = clock
        self._run: Run | None = None
        self._awake: dict[AgentId, bool] = {}  # True = woken again since its run began
        self._tasks: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.Task[None]] = set()

    def begin(self, run: Run) -> None:
        self._run = run

    def wake(self, agent_id: AgentId, priority: Priority) -> None:
        if self._run is None:
            return
        if agent_id in self._awake:
            self._awake[agent_id] = True
            return
        self._awake[agent_id] = False
        self._start(self._work(self._run, agent_id, priority), self._tasks)

    def wake_later(self, agent_id: AgentId, priority: Priority, seconds: float) -> None:
        if self._run is not None:
            self._start(self._wait(agent_id, priority, seconds), self._timers)

    async def end(self) -> None:
        """Wake nobody any more and wait for the runs that are going on."""
        self._run = None
        for timer in self._timers:
            timer.cancel()
        while pending := self._tasks | self._timers:
            await asyncio.wait(pending)

    def _start(self, work: Coroutine[None, None, None], tasks: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _wait(self, agent_id: AgentId, priority: Priority, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self.wake(agent_id, priority)

    async def _work(self, run: Run, agent_id: AgentId, priority: Priority) -> None:
        try:
            async with self._capacity[priority]:
                while self._run is not None:
                    self._awake[agent_id] = False
                    await run(agent_id)
                    if not self._awake[agent_id]:
                        break
        except Exception:
            logger.exception("an agent's run broke off", extra={"agent_id": agent_id})
        finally:
            del self._awake[agent_id]
