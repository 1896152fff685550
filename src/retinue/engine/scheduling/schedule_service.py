"""Operations on schedules: create, change, pause, run, delete and list."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from retinue.agents.schedule import CatchUp, Schedule, Source, check, next_due
from retinue.agents.watch import Mark, Watch
from retinue.clock import Clock, UnknownZoneError, machine_zone
from retinue.engine.scheduling.schedule_messages import Posting, schedule_text
from retinue.engine.scheduling.watch_checks import Probe, Watching
from retinue.errors import ConflictError, NotFoundError, RefusedError, UsageError
from retinue.ids import AgentId, OwnerId, ScheduleId
from retinue.project.watcher import ProjectWatcher
from retinue.settings import Settings
from retinue.settings.tables import slug_of
from retinue.stores.port import Agent, Receipt, Store
from retinue.stores.schedule_port import Firing, ScheduleStore, Slot, StoredSchedule, mark_key
from retinue.text import clean_text
from retinue.times import moment_of

_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchedule:
    """A schedule to create."""

    title: str
    prompt: str
    cron: str | None = None
    at: str | None = None  # as entered by the user
    timezone: str | None = None
    catch_up: CatchUp = "skip"
    definition: str | None = None
    target: AgentId | None = None
    report_to: AgentId | None = None
    watch: Watch | None = None
    is_paused: bool = False
    source: Source = "http"
    made_by: AgentId | None = None
    key: str | None = None  # a repeated key returns the same schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleChanges:
    """Fields to change; UNSET leaves a field unchanged, None clears it."""

    title: str | UnsetType = UNSET
    prompt: str | UnsetType = UNSET
    cron: str | UnsetType = UNSET
    at: str | UnsetType = UNSET
    timezone: str | UnsetType = UNSET
    catch_up: CatchUp | UnsetType = UNSET
    definition: str | UnsetType | None = UNSET
    target: AgentId | UnsetType | None = UNSET
    report_to: AgentId | UnsetType | None = UNSET
    watch: Watch | UnsetType | None = UNSET
    is_paused: bool | UnsetType = UNSET

    @property
    def is_only_pausing(self) -> bool:
        rest = (self.title, self.prompt, self.cron, self.at, self.timezone)
        rest_too = (self.catch_up, self.definition, self.watch, self.target, self.report_to)
        return all(field is UNSET for field in (*rest, *rest_too))


class Schedules:
    """All schedules of a store; the scheduler fires them."""

    def __init__(
        self,
        *,
        store: Store,
        schedules: ScheduleStore,
        project: ProjectWatcher,
        settings: Settings,
        probe: Probe,
        clock: Clock,
    ) -> None:
        self.store = schedules
        self.posting = Posting(store=store, project=project, settings=settings)
        self.watching = Watching(probe)
        self.settings = settings
        self.project = project
        self._agents = store
        self._clock = clock

    @property
    def timezone(self) -> str:
        """The time zone of schedules that name none."""
        return self.settings.timezone or machine_zone()

    async def create(self, owner: OwnerId, new: NewSchedule) -> StoredSchedule:
        """Check and create a schedule; a repeat returns the first one."""
        names = _ids(new)
        if new.key is not None:
            for stored in await self.store.all(owner):
                if stored.schedule.id == names[0]:
                    return stored
        now = self._clock.now()
        schedule = self._schedule(owner, new, names[0], now)
        check(schedule)
        if schedule.at is not None and schedule.at <= now:
            raise UsageError(f"at: {new.at!r} is in the past", details={"field": "at"})
        await self._check_names(schedule)
        mark = await self._first_mark(schedule, now)
        next_at = None if schedule.is_paused else next_due(schedule, now)
        for name in names:
            schedule = replace(schedule, id=name)
            stored, is_new = await self.store.add(schedule, next_at)
            if is_new and mark is not None:
                await self.store.remember(owner, mark_key(name), mark)
            if is_new or new.key is not None:
                return stored
        raise ConflictError(f"too many schedules are called {new.title!r}: use another title")

    def _schedule(
        self, owner: OwnerId, new: NewSchedule, name: ScheduleId, now: datetime
    ) -> Schedule:
        timezone = new.timezone or self.timezone
        return Schedule(
            id=name,
            owner=owner,
            title=clean_text(new.title).strip(),
            prompt=clean_text(new.prompt),
            cron=new.cron,
            at=None if new.at is None else _moment(new.at, timezone, now),
            timezone=timezone,
            catch_up=new.catch_up,
            definition=new.definition,
            target=new.target,
            report_to=new.report_to,
            watch=new.watch,
            is_paused=new.is_paused,
            source=new.source,
            made_by=new.made_by,
            created_at=now,
        )

    async def _check_names(self, schedule: Schedule) -> None:
        name = await self.posting.check_definition(schedule.definition)
        if schedule.source != "tool":
            self.project.current.catalog.public(name)
        for agent_id in (schedule.target, schedule.report_to):
            if agent_id is not None:
                await self._agents.agent(schedule.owner, agent_id)

    async def maker_of(self, schedule: Schedule) -> tuple[str, Agent | None]:
        """The agent that created it and its current definition, else the schedule's definition."""
        if schedule.made_by is not None:
            with contextlib.suppress(NotFoundError):
                maker = await self._agents.agent(schedule.owner, schedule.made_by)
                return maker.definition, maker
        return await self.posting.check_definition(schedule.definition), None

    async def _first_mark(self, schedule: Schedule, now: datetime) -> Mark | None:
        if schedule.watch is None:
            return None
        return await self.watching.first_look(
            schedule.watch, owner=schedule.owner, agent_id=schedule.made_by, now=now
        )

    async def change(
        self, owner: OwnerId, schedule_id: ScheduleId, changes: ScheduleChanges
    ) -> StoredSchedule:
        """Change it completely or not at all."""
        for attempt in range(_TRIES):
            stored = await self.store.get(owner, schedule_id)
            if stored.schedule.source == "settings" and not changes.is_only_pausing:
                raise _is_set(schedule_id)
            try:
                return await self._changed(stored, changes)
            except ConflictError:
                if attempt == _TRIES - 1:
                    raise
        raise AssertionError  # the last try returned or raised

    async def _changed(self, stored: StoredSchedule, changes: ScheduleChanges) -> StoredSchedule:
        now = self._clock.now()
        before = stored.schedule
        after = _merged(before, changes, now)
        check(after)
        if after.at is not None and after.at != before.at and after.at <= now:
            raise UsageError(f"at: {changes.at!r} is in the past", details={"field": "at"})
        await self._check_names(after)
        mark = await self._first_mark(after, now) if after.watch != before.watch else None
        done = await self.store.replace(
            after, next_after_change(stored, after, now), revision=stored.revision
        )
        if mark is not None:
            await self.store.remember(after.owner, mark_key(after.id), mark)
        return done

    async def delete(self, owner: OwnerId, schedule_id: ScheduleId) -> None:
        """Delete a schedule; its agent and history are kept."""
        stored = await self.store.get(owner, schedule_id)
        if stored.schedule.source == "settings":
            raise _is_set(schedule_id)
        await self.store.remove(owner, schedule_id)

    async def run(
        self, owner: OwnerId, schedule_id: ScheduleId, *, key: str | None = None
    ) -> Receipt:
        """Run it now, regardless of its times; the next due time is unchanged."""
        stored = await self.store.get(owner, schedule_id)
        schedule = stored.schedule
        for attempt in range(_TRIES):
            now = self._clock.now()
            # Not one of its own due times, as that slot is still to come.
            due_at = now + timedelta(microseconds=attempt + (now == stored.next_at))
            text = schedule_text(schedule, now, now, "")
            run_key = f"run/{schedule_id}/{key or now.timestamp()}"
            firing = Firing(
                owner=owner,
                schedule_id=schedule_id,
                due_at=due_at,
                at=now,
                status="run_now",
                post=await self.posting.run(schedule, text, now=now, key=run_key),
            )
            receipt = await self.store.fire(firing)
            if receipt is not None:
                return receipt
        raise ConflictError(f"the schedule {schedule_id!r} is being run: try again")

    async def get(self, owner: OwnerId, schedule_id: ScheduleId) -> StoredSchedule:
        return await self.store.get(owner, schedule_id)

    async def all(self, owner: OwnerId) -> Sequence[StoredSchedule]:
        return await self.store.all(owner)

    async def runs(self, owner: OwnerId, schedule_id: ScheduleId, *, limit: int) -> Sequence[Slot]:
        await self.store.get(owner, schedule_id)
        return await self.store.slots(owner, schedule_id, limit)


def _ids(new: NewSchedule) -> list[ScheduleId]:
    """The ids to try: a readable one, and numbered ones if it is taken."""
    slug = slug_of(new.title)
    if new.key is not None:
        digest = blake2b(new.key.encode(), digest_size=4).hexdigest()
        return [ScheduleId(f"{slug}-{digest}")]
    return [ScheduleId(slug), *(ScheduleId(f"{slug}-{number}") for number in range(2, 100))]


def _moment(text: str, timezone: str, now: datetime) -> datetime:
    try:
        return moment_of(text, timezone, now)
    except UsageError as error:
        raise UsageError(f"at: {error.message}", details={"field": "at"}) from None
    except UnknownZoneError as error:
        raise UsageError(f"timezone: {error}", details={"field": "timezone"}) from None


def _merged(before: Schedule, changes: ScheduleChanges, now: datetime) -> Schedule:
    timezone = before.timezone if changes.timezone is UNSET else changes.timezone
    fields: dict[str, object] = {
        "title": changes.title,
        "prompt": changes.prompt,
        "timezone": changes.timezone,
        "catch_up": changes.catch_up,
        "definition": changes.definition,
        "target": changes.target,
        "report_to": changes.report_to,
        "watch": changes.watch,
        "is_paused": changes.is_paused,
    }
    given = {name: value for name, value in fields.items() if value is not UNSET}
    if changes.cron is not UNSET:
        given |= {"cron": changes.cron, "at": None}
    if changes.at is not UNSET:
        given |= {"at": _moment(changes.at, timezone, now)}
        given |= {} if changes.cron is not UNSET else {"cron": None}
    return replace(before, **given)


def next_after_change(stored: StoredSchedule, after: Schedule, now: datetime) -> datetime | None:
    """The next due time of a changed schedule: recomputed only if its times changed."""
    before = stored.schedule
    if after.is_paused:
        return None
    is_same_time = (before.cron, before.at, before.timezone) == (
        after.cron,
        after.at,
        after.timezone,
    )
    if is_same_time and not before.is_paused:
        return stored.next_at
    return next_due(after, now)  # the slot of a one-time schedule that has run is taken


def _is_set(schedule_id: ScheduleId) -> RefusedError:
    return RefusedError(
        f"the schedule {schedule_id!r} is defined in retinue.toml: change it there "
        "(you can pause, resume and run it here)"
    )
