"""The store contract for schedules; run it for every store."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime

import msgspec
import pytest

from retinue.agents.descriptor import CronDescriptor
from retinue.agents.schedule import Schedule
from retinue.agents.watch import Mark
from retinue.errors import ConflictError, NotFoundError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId, ScheduleId
from retinue.stores.port import Post, Store
from retinue.stores.schedule_port import (
    HEARTBEAT,
    Firing,
    KeptSchedules,
    ScheduleStore,
    SlotStatus,
    StoredSchedule,
)
from retinue.testing.store_samples import START, STRANGER, SampleRunner, at, new_agent, post

DAILY = ScheduleId("daily")
replace = msgspec.structs.replace

Stores = tuple[Store, ScheduleStore]


def a_schedule(schedule_id: str = DAILY, owner: OwnerId = LOCAL_OWNER) -> Schedule:
    return Schedule(
        id=ScheduleId(schedule_id),
        owner=owner,
        title="Daily",
        prompt="Report.",
        cron="0 8 * * *",
        timezone="UTC",
        created_at=START,
    )


def a_run(schedule: Schedule, text: str = "Report.") -> Post:
    cron_agent = new_agent(CronDescriptor(id=schedule.id), owner=schedule.owner)
    return post(cron_agent, text, owner=schedule.owner, kind="system")


def a_firing(
    stored: StoredSchedule,
    due_at: datetime,
    *,
    status: SlotStatus | None = "fired",
    run: Post | None = None,
    next_at: datetime | None = None,
) -> Firing:
    schedule = stored.schedule
    return Firing(
        owner=schedule.owner,
        schedule_id=schedule.id,
        due_at=due_at,
        at=due_at,
        status=status,
        revision=stored.revision,
        next_at=next_at,
        post=run,
    )


class ScheduleStoreContract:
    """Override `stores` with a fixture that opens an empty store."""

    @pytest.fixture
    async def stores(self) -> AsyncIterator[Stores]:
        raise NotImplementedError
        yield

    async def test_a_schedule_is_stored_once_and_a_repeat_finds_the_first(
        self, stores: Stores
    ) -> None:
        _, schedules = stores
        first, is_new = await schedules.add(a_schedule(), at(10))
        assert is_new
        changed = replace(a_schedule(), title="Another")
        again, is_new = await schedules.add(changed, at(20))
        assert not is_new
        assert again == first
        assert list(await schedules.all(LOCAL_OWNER)) == [first]

    async def test_owners_do_not_see_each_others_schedules(self, stores: Stores) -> None:
        _, schedules = stores
        await schedules.add(a_schedule(), at(10))
        assert list(await schedules.all(STRANGER)) == []
        with pytest.raises(NotFoundError):
            await schedules.get(STRANGER, DAILY)
        with pytest.raises(NotFoundError):
            await schedules.remove(STRANGER, DAILY)
        assert await schedules.get(LOCAL_OWNER, DAILY)

    async def test_a_change_needs_the_revision_that_was_read(self, stores: Stores) -> None:
        _, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        paused = replace(stored.schedule, is_paused=True)
        changed = await schedules.replace(paused, None, revision=stored.revision)
        assert (changed.schedule, changed.next_at) == (paused, None)
        with pytest.raises(ConflictError):
            await schedules.replace(stored.schedule, at(10), revision=stored.revision)
        with pytest.raises(NotFoundError):
            await schedules.replace(a_schedule("other"), at(10), revision=1)
        assert await schedules.get(LOCAL_OWNER, DAILY) == changed

    async def test_what_is_due_comes_in_order_and_what_is_paused_does_not(
        self, stores: Stores
    ) -> None:
        _, schedules = stores
        await schedules.add(a_schedule("late"), at(20))
        await schedules.add(a_schedule("early"), at(10))
        await schedules.add(a_schedule("stranger's", STRANGER), at(15))
        await schedules.add(a_schedule("paused"), None)
        assert await schedules.earliest(at(0)) == at(10)
        assert await schedules.earliest(at(10)) == at(15)
        assert await schedules.earliest(at(20)) is None
        due = await schedules.due(at(15), 10)
        assert [stored.schedule.id for stored in due] == ["early", "stranger's"]
        assert [s.schedule.id for s in await schedules.due(at(99), 1)] == ["early"]

    async def test_firing_takes_the_slot_posts_the_item_and_moves_on(self, stores: Stores) -> None:
        store, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        run = a_run(stored.schedule)
        receipt = await schedules.fire(a_firing(stored, at(10), run=run, next_at=at(20)))
        assert receipt is not None
        agent = await store.find(LOCAL_OWNER, CronDescriptor(id=DAILY))
        assert agent is not None
        assert agent.id == receipt.agent_id
        after = await schedules.get(LOCAL_OWNER, DAILY)
        assert (after.next_at, after.is_running) == (at(20), True)
        (slot,) = await schedules.slots(LOCAL_OWNER, DAILY, 10)
        assert slot == after.last
        assert (slot.status, slot.due_at, slot.item_id) == ("fired", at(10), receipt.item.id)
        assert (slot.agent_id, slot.fate) == (agent.id, "queued")

    async def test_the_same_slot_fired_by_many_posts_one_item(self, stores: Stores) -> None:
        store, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        firings = [
            a_firing(stored, at(10), run=a_run(stored.schedule, f"try {n}"), next_at=at(20))
            for n in range(20)
        ]
        receipts = await asyncio.gather(*(schedules.fire(firing) for firing in firings))
        assert sum(receipt is not None for receipt in receipts) == 1
        assert await schedules.fire(firings[0]) is None
        agent = await store.find(LOCAL_OWNER, CronDescriptor(id=DAILY))
        assert agent is not None
        assert len(await store.open_items(LOCAL_OWNER, agent.id)) == 1

    async def test_a_slot_that_was_taken_before_moves_the_schedule_on(self, stores: Stores) -> None:
        """A clock that is set back must neither repeat nor block a run."""
        _, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        await schedules.fire(a_firing(stored, at(10), status="skipped_overlap", next_at=at(20)))
        back = await schedules.replace(stored.schedule, at(10), revision=stored.revision)
        run = a_run(stored.schedule)
        assert await schedules.fire(a_firing(back, at(10), run=run, next_at=at(20))) is None
        assert (await schedules.get(LOCAL_OWNER, DAILY)).next_at == at(20)

    async def test_a_schedule_that_changed_or_went_meanwhile_does_not_fire(
        self, stores: Stores
    ) -> None:
        store, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        await schedules.replace(stored.schedule, at(30), revision=stored.revision)
        firing = a_firing(stored, at(10), run=a_run(stored.schedule), next_at=at(20))
        assert await schedules.fire(firing) is None
        assert (await schedules.get(LOCAL_OWNER, DAILY)).next_at == at(30)
        await schedules.remove(LOCAL_OWNER, DAILY)
        assert await schedules.fire(firing) is None
        assert await store.find(LOCAL_OWNER, CronDescriptor(id=DAILY)) is None

    async def test_a_firing_whose_target_is_gone_changes_nothing(self, stores: Stores) -> None:
        _, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        lost = post(AgentId("a" * 24), kind="system")
        with pytest.raises(NotFoundError):
            await schedules.fire(a_firing(stored, at(10), run=lost, next_at=at(20)))
        assert await schedules.get(LOCAL_OWNER, DAILY) == stored
        assert list(await schedules.slots(LOCAL_OWNER, DAILY, 10)) == []

    async def test_a_slot_shows_the_fate_of_its_item(self, stores: Stores) -> None:
        store, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        receipt = await schedules.fire(a_firing(stored, at(10), run=a_run(stored.schedule)))
        assert receipt is not None
        runner = await SampleRunner.claim(store, receipt.agent_id)
        await runner.decide(receipt.item.id, "failed", "no model")
        after = await schedules.get(LOCAL_OWNER, DAILY)
        assert not after.is_running
        assert after.last is not None
        assert (after.last.fate, after.last.fate_reason) == ("failed", "no model")
        await store.delete(LOCAL_OWNER, receipt.agent_id)
        (slot,) = await schedules.slots(LOCAL_OWNER, DAILY, 10)
        assert (slot.item_id, slot.agent_id, slot.fate) == (receipt.item.id, None, None)

    async def test_removing_forgets_slots_and_mark(self, stores: Stores) -> None:
        _, schedules = stores
        stored, _ = await schedules.add(a_schedule(), at(10))
        await schedules.fire(a_firing(stored, at(10), status="skipped_missed", next_at=at(20)))
        await schedules.remember(LOCAL_OWNER, f"schedule/{DAILY}", Mark(since=START))
        await schedules.remember(LOCAL_OWNER, "heartbeat/tidy", Mark(since=START))
        await schedules.remove(LOCAL_OWNER, DAILY)
        assert list(await schedules.slots(LOCAL_OWNER, DAILY, 10)) == []
        assert list(await schedules.marks(LOCAL_OWNER)) == ["heartbeat/tidy"]

    async def test_marks_are_written_with_the_firing_that_carries_them(
        self, stores: Stores
    ) -> None:
        _, schedules = stores
        mark = Mark(since=START, ran_at=at(5), woke_at=at(5), digest="d", seen="text")
        batch = a_run(a_schedule("batch"))
        firing = Firing(
            owner=LOCAL_OWNER,
            schedule_id=HEARTBEAT,
            due_at=at(5),
            at=at(5),
            status="fired",
            post=batch,
            marks={"heartbeat/tidy": mark},
        )
        receipt = await schedules.fire(firing)
        assert receipt is not None
        marks = await schedules.marks(LOCAL_OWNER)
        assert marks == {"heartbeat/tidy": replace(mark, item=receipt.item.id)}
        assert await schedules.is_running(LOCAL_OWNER, HEARTBEAT)
        other = replace(firing, marks={"heartbeat/tidy": replace(mark, seen="other")})
        assert await schedules.fire(other) is None
        assert await schedules.marks(LOCAL_OWNER) == marks
        await schedules.forget(LOCAL_OWNER, "heartbeat/tidy")
        assert await schedules.marks(LOCAL_OWNER) == {}

    async def test_listeners_hear_whose_schedules_changed(self, stores: Stores) -> None:
        _, schedules = stores
        heard: list[OwnerId] = []
        undo = schedules.listen(heard.append)
        await schedules.add(a_schedule(), at(10))
        await schedules.add(a_schedule(owner=STRANGER), at(10))
        assert heard == [LOCAL_OWNER, STRANGER]
        undo()
        await schedules.remove(LOCAL_OWNER, DAILY)
        assert heard == [LOCAL_OWNER, STRANGER]

    async def test_restoring_leaves_what_is_there(self, stores: Stores) -> None:
        _, schedules = stores
        here, _ = await schedules.add(a_schedule(), at(10))
        other = StoredSchedule(schedule=a_schedule("other"), next_at=at(40), revision=3)
        old = replace(here, schedule=replace(here.schedule, title="Old"))
        await schedules.restore(
            KeptSchedules(
                schedules=[old, other], marks={LOCAL_OWNER: {"heartbeat/x": Mark(since=START)}}
            )
        )
        assert list(await schedules.all(LOCAL_OWNER)) == [here, other]
        assert list(await schedules.marks(LOCAL_OWNER)) == ["heartbeat/x"]
