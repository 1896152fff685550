"""A watch costs no model until what it looks at has changed."""

import pytest

from retinue.agents.watch import Watch
from retinue.errors import NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, ScheduleId
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import SeenThings
from tests.unit.engine.conftest import Start
from tests.unit.engine.scheduling.support import (
    Silent,
    cron_agent,
    ended,
    make,
    pass_time,
    slots,
    statuses,
    system_texts,
)

NOTES = Watch(file="notes.md")


def things(**seen: str) -> SeenThings:
    probe = SeenThings()
    probe.seen.update({f"file {name}.md": text for name, text in seen.items()})
    return probe


async def test_nothing_changed_wakes_nobody_and_a_change_wakes_with_the_difference(
    start: Start, clock: FakeClock
) -> None:
    silent, probe = Silent(), things(notes="milk\neggs")
    kit = await start(silent.model, clock=clock, probe=probe)
    await make(kit, watch=NOTES)
    for _ in range(3):
        await pass_time(kit, clock)
    assert (await statuses(kit), silent.requests) == ([], [])
    probe.seen["file notes.md"] = "milk\nbread"
    await pass_time(kit, clock)
    await ended(kit)
    (text,) = await system_texts(kit, await cron_agent(kit))
    difference = "--- before\n+++ now\n@@ -1,2 +1,2 @@\n milk\n-eggs\n+bread"
    assert text.endswith(f"Report.\n\nWhat changed in file notes.md:\n\n{difference}")
    (run,) = await slots(kit)
    assert run.difference == difference
    await pass_time(kit, clock)
    assert len(silent.requests) == 1


async def test_what_was_seen_last_survives_a_restart(start: Start, clock: FakeClock) -> None:
    silent, probe = Silent(), things(notes="old")
    kit = await start(silent.model, clock=clock, probe=probe)
    await make(kit, watch=NOTES)
    await kit.crash()
    probe.seen["file notes.md"] = "new"
    await pass_time(kit, clock)
    await ended(kit)
    assert len(silent.requests) == 1


async def test_a_failing_watch_is_recorded_and_told_once_until_it_works_again(
    start: Start, clock: FakeClock
) -> None:
    silent, probe = Silent(), things(notes="old")
    kit = await start(silent.model, clock=clock, probe=probe)
    chat = await kit.agent()
    await kit.ask(chat, "hello")
    await make(kit, watch=NOTES)
    del probe.seen["file notes.md"]
    await pass_time(kit, clock)
    await pass_time(kit, clock)
    assert await statuses(kit) == ["failed", "failed"]
    marks = await kit.engine.schedules.store.marks(LOCAL_OWNER)
    assert marks["schedule/daily"].problem == "there is no file notes.md"
    probe.seen["file notes.md"] = "old"
    await pass_time(kit, clock)
    assert (await kit.engine.schedules.store.marks(LOCAL_OWNER))["schedule/daily"].problem == ""
    del probe.seen["file notes.md"]
    await pass_time(kit, clock)
    told = [text for text in await system_texts(kit, chat) if "watch on file notes.md" in text]
    assert len(told) == 2


@pytest.mark.parametrize(
    ("watch", "complaint"),
    [
        (Watch(file="missing.md"), "there is no file missing.md"),
        (Watch(), "set exactly one of"),
        (Watch(file="notes.md", url="https://example.org"), "set exactly one of"),
    ],
)
async def test_a_watch_that_sees_nothing_is_refused_and_creates_nothing(
    start: Start, clock: FakeClock, watch: Watch, complaint: str
) -> None:
    kit = await start(Silent().model, clock=clock, probe=things(notes="x"))
    with pytest.raises((UsageError, NotFoundError), match=complaint):
        await make(kit, watch=watch)
    assert list(await kit.engine.schedules.all(LOCAL_OWNER)) == []
    assert await kit.engine.schedules.store.marks(LOCAL_OWNER) == {}


async def test_a_watch_on_what_happens_once_is_refused(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock, probe=things(notes="x"))
    with pytest.raises(UsageError, match="requires a recurring schedule"):
        await make(kit, at="in 5 minutes", watch=NOTES)


async def test_a_deleted_schedule_takes_what_it_saw_along(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock, probe=things(notes="x"))
    await make(kit, watch=NOTES)
    await kit.engine.schedules.delete(LOCAL_OWNER, ScheduleId("daily"))
    assert await kit.engine.schedules.store.marks(LOCAL_OWNER) == {}
