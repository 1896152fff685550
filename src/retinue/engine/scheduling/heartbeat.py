"""The heartbeat: sends all due tasks in one message to the heartbeat agent.

The agent keeps its context between batches, so it knows what it has already reported. When the
context exceeds a limit, the agent is reset before the next batch.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from msgspec.structs import replace

from retinue.agents.descriptor import HeartbeatDescriptor
from retinue.agents.watch import Mark
from retinue.clock import Clock
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.engine.scheduling.schedule_messages import watched_text
from retinue.engine.scheduling.schedule_service import Schedules
from retinue.errors import NotFoundError, RetinueError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.project.heartbeat_files import HeartbeatTask, TaskProblem
from retinue.stores.port import Agent, Receipt, Store
from retinue.stores.schedule_port import HEARTBEAT, Firing

logger = logging.getLogger(__name__)

OWNER = LOCAL_OWNER
"""The heartbeat belongs to the operator, as its files do."""

_AGAIN = timedelta(seconds=30)  # the delay after a batch that could not start


class ResetAgent(Protocol):
    """Resets an agent through the engine."""

    async def __call__(self, owner: OwnerId, agent_id: AgentId, *, reason: str) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskState:
    """A task with its stored mark."""

    task: HeartbeatTask
    mark: Mark | None

    @property
    def due_at(self) -> datetime | None:
        """Its last run plus its interval; a new task is due at once. None = not seen yet."""
        if self.mark is None:
            return None
        if self.mark.ran_at is None:
            return self.mark.since
        return self.mark.ran_at + self.task.every


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A task in a batch."""

    task: HeartbeatTask
    mark: Mark
    difference: str = ""


class Heartbeat:
    """Runs the tasks in the files when they are due and their watches have changed."""

    def __init__(
        self,
        schedules: Schedules,
        store: Store,
        clock: Clock,
        reset: ResetAgent,
    ) -> None:
        settings = schedules.settings.heartbeat
        self._schedules = schedules
        self._store = store
        self._settings = settings
        self._clock = clock
        self._reset = reset
        self._beating: asyncio.Task[None] | None = None
        self._not_before: datetime | None = None
        self.on_end: Callable[[], None] = lambda: None  # called after a batch has started or failed
        self.problem = ""  # why the last batch could not start

    @property
    def is_enabled(self) -> bool:
        return self._settings.enabled

    @property
    def problems(self) -> Sequence[TaskProblem]:
        return self._schedules.project.current.heartbeat.problems

    async def agent(self) -> Agent | None:
        return await fetch(self._store, OWNER, "heartbeat")

    async def states(self) -> Sequence[TaskState]:
        """All tasks, with what is remembered of them."""
        marks = await self._schedules.store.marks(OWNER)
        tasks = self._schedules.project.current.heartbeat.tasks
        return [TaskState(task=task, mark=marks.get(_key(task))) for task in tasks]

    async def beat(self, now: datetime) -> datetime | None:
        """Start what is due, without waiting; returns the next due time."""
        if not self.is_enabled:
            return None
        states = [await self._known(state, now) for state in await self.states()]
        times = [state.due_at for state in states if state.due_at is not None]
        due = [state for state in states if state.due_at is not None and state.due_at <= now]
        if due and self._beating is None:
            if self._not_before is None or self._not_before <= now:
                self._beating = asyncio.create_task(self._beat_soon(due))
            else:
                times.append(self._not_before)
        return min((time for time in times if time > now), default=None)

    async def run_now(self, names: Sequence[str] = ()) -> Receipt | None:
        """Run these tasks, or all of them, whatever their times say; None while a batch runs."""
        await self._schedules.project.look()
        now = self._clock.now()
        states = [await self._known(state, now) for state in await self.states()]
        unknown = sorted(set(names) - {state.task.id for state in states})
        if unknown:
            raise NotFoundError(f"there is no heartbeat task {unknown[0]!r}")
        chosen = [state for state in states if not names or state.task.id in names]
        if not chosen:
            raise NotFoundError("there is no heartbeat task: add one in heartbeat/")
        if self._beating is not None or await self._is_running():
            return None
        looked = [await self._looked(state, now) for state in chosen]
        return await self._post([entry for entry, _ in looked], {}, due_at=now, now=now)

    async def stop(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)

    async def _known(self, state: TaskState, now: datetime) -> TaskState:
        """Store when a task was first seen, so that its due time is fixed."""
        if state.mark is not None:
            return state
        mark = Mark(since=now)
        await self._schedules.store.remember(OWNER, _key(state.task), mark)
        return TaskState(task=state.task, mark=mark)

    async def _is_running(self) -> bool:
        return await self._schedules.store.is_running(OWNER, HEARTBEAT)

    async def _beat_soon(self, due: Sequence[TaskState]) -> None:
        try:
            await self._beat(due)
            self.problem = ""
        except RetinueError as error:
            logger.error("the heartbeat is delayed: %s", error)
            self._wait(error.message)
        except Exception:
            logger.exception("the heartbeat failed")
            self._wait("internal error; see the log for details")
        finally:
            self._beating = None
            self.on_end()

    def _wait(self, problem: str) -> None:
        self.problem = problem
        self._not_before = self._clock.now() + _AGAIN

    async def _beat(self, due: Sequence[TaskState]) -> None:
        now = self._clock.now()
        if await self._is_running():
            self._not_before = now + _AGAIN
            return
        looked = await asyncio.gather(*(self._looked(state, now) for state in due))
        waking = [entry for entry, wakes in looked if wakes]
        quiet = {_key(entry.task): entry.mark for entry, wakes in looked if not wakes}
        for entry, _ in looked:
            if entry.mark.problem and not entry.mark.is_told:
                quiet[_key(entry.task)] = await self._tell(entry, now)
        if waking:
            due_at = min(state.due_at or now for state in due)
            await self._post(waking, quiet, due_at=due_at, now=now)
            return
        for key, mark in quiet.items():
            await self._schedules.store.remember(OWNER, key, mark)

    async def _looked(self, state: TaskState, now: datetime) -> tuple[_Entry, bool]:
        """The task with its new mark, and whether it must run."""
        task, mark = state.task, state.mark or Mark(since=now)
        if task.watch is None:
            return _Entry(task=task, mark=replace(mark, ran_at=now)), True
        looked = await self._schedules.watching.look(
            task.watch, mark, owner=OWNER, agent_id=None, now=now
        )
        entry = _Entry(task=task, mark=looked.mark, difference=looked.difference)
        return entry, bool(looked.difference)

    async def _tell(self, entry: _Entry, now: datetime) -> Mark:
        """Report a failed watch once; the mark is stored with the notice."""
        text = (
            f"[heartbeat] {entry.task.title}\nid: {entry.task.id}\n\nThe watch of this heartbeat "
            f"task failed: {entry.mark.problem}. Tell the user once. You will be notified again "
            "only after it has worked in between."
        )
        notice = await self._schedules.posting.notice(
            OWNER, text, to=None, sender=HEARTBEAT, now=now
        )
        mark = replace(entry.mark, is_told=notice is not None)
        firing = Firing(
            owner=OWNER,
            schedule_id=HEARTBEAT,
            due_at=now,
            at=now,
            status=None,
            notice=notice,
            marks={_key(entry.task): mark},
        )
        await self._schedules.store.fire(firing)
        return mark

    async def _post(
        self,
        entries: Sequence[_Entry],
        quiet: Mapping[str, Mark],
        *,
        due_at: datetime,
        now: datetime,
    ) -> Receipt | None:
        await self._make_room()
        posting = self._schedules.posting
        definition = await posting.check_definition(self._settings.definition)
        to = posting.new_agent(OWNER, HeartbeatDescriptor(), definition, name="Heartbeat", now=now)
        key = f"heartbeat/{due_at.timestamp():.6f}"
        marks = {
            _key(entry.task): replace(entry.mark, ran_at=now, woke_at=now) for entry in entries
        }
        firing = Firing(
            owner=OWNER,
            schedule_id=HEARTBEAT,
            due_at=due_at,
            at=now,
            status="fired",
            reason=", ".join(entry.task.id for entry in entries),
            difference=_differences(entries),
            post=posting.batch(OWNER, to, batch_text(entries), now=now, key=key),
            marks={**quiet, **marks},
        )
        return await self._schedules.store.fire(firing)

    async def _make_room(self) -> None:
        agent = await self.agent()
        tokens = None if agent is None else agent.state.tokens
        if agent is None or tokens is None:
            return
        if max(tokens.reported, tokens.estimated) > self._settings.context_limit:
            await self._reset(OWNER, agent.id, reason="the heartbeat's context was full")


def _differences(entries: Sequence[_Entry]) -> str:
    """The changes that the watches of a batch detected, by task id."""
    seen = [entry for entry in entries if entry.difference]
    return "\n\n".join(f"{entry.task.id}:\n{entry.difference}" for entry in seen)


def batch_text(entries: Sequence[_Entry]) -> str:
    """A single task as written; several under headings, sorted by title."""
    if len(entries) == 1:
        return _body(entries[0])
    lines = [
        "# Heartbeat run",
        "",
        f"{len(entries)} tasks are due. Do each of them, and group your report by task.",
    ]
    for number, entry in enumerate(entries, 1):
        lines += ["", f"## {number}. {entry.task.title}", f"id: {entry.task.id}", "", _body(entry)]
    return "\n".join(lines)


def _body(entry: _Entry) -> str:
    if entry.task.watch is None or not entry.difference:
        return entry.task.prompt
    return f"{entry.task.prompt}\n\n{watched_text(entry.task.watch, entry.difference)}"


def _key(task: HeartbeatTask) -> str:
    return f"heartbeat/{task.id}"
