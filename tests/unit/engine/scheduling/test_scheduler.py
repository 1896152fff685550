"""Schedules fire at their times, once each, whatever happens in between."""

from datetime import timedelta

import pytest

from retinue.engine.scheduling.schedule_service import ScheduleChanges
from retinue.errors import NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, AgentId, ScheduleId
from retinue.models.scripted import Reply
from retinue.records import SystemRecord
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import HELPER
from tests.unit.engine.conftest import Start
from tests.unit.engine.scheduling.support import (
    HOUR,
    Silent,
    cron_agent,
    ended,
    make,
    pass_time,
    slots,
    statuses,
    system_texts,
    until,
)
from tests.unit.engine.support import Gate

DAILY = ScheduleId("daily")


async def test_a_schedule_runs_in_an_agent_of_its_own_at_its_time(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent("done").model, clock=clock)
    stored = await make(kit)
    assert stored.next_at == clock.now() + timedelta(hours=1)
    await pass_time(kit, clock)
    (slot,) = await ended(kit)
    assert (slot.status, slot.fate, slot.due_at) == ("fired", "answered", clock.now())
    agent = await cron_agent(kit)
    assert (agent.id, agent.state.name) == (slot.agent_id, "Daily")
    (told,) = [r for r in await kit.records(agent) if isinstance(r, SystemRecord)]
    assert told.origin == "daily"
    assert told.text == ("[schedule] Daily\nid: daily\ndue: 2026-01-01 13:00 (UTC)\n\nReport.")
    after = await kit.engine.schedules.get(LOCAL_OWNER, DAILY)
    assert after.next_at == clock.now() + timedelta(hours=1)


async def test_every_time_runs_once_in_the_same_agent(start: Start, clock: FakeClock) -> None:
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    await make(kit)
    for count in range(1, 4):
        await pass_time(kit, clock)
        await ended(kit, count)
    found = await slots(kit)
    assert [slot.status for slot in found] == ["fired"] * 3
    assert len({slot.agent_id for slot in found}) == 1
    assert len(silent.requests) == 3


async def test_what_happens_once_goes_to_its_chat_and_is_done(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent().model, clock=clock)
    chat = await kit.agent()
    await make(kit, "Tea", at="in 20 minutes", target=chat.id)
    await pass_time(kit, clock, "tea")
    await ended(kit, 1, "tea")
    assert "[schedule] Tea" in (await system_texts(kit, chat))[0]
    after = await kit.engine.schedules.get(LOCAL_OWNER, ScheduleId("tea"))
    assert after.next_at is None
    assert after.last is not None
    assert after.last.fate == "answered"


async def test_a_run_that_is_not_finished_makes_the_next_time_a_recorded_skip(
    start: Start, clock: FakeClock
) -> None:
    gate = Gate()
    kit = await start([Reply(text="late", midway=gate), "quick"], clock=clock)
    await make(kit)
    await pass_time(kit, clock)
    await gate.reached.wait()
    await pass_time(kit, clock)
    assert await statuses(kit) == ["fired", "skipped_overlap"]
    gate.opened.set()
    await ended(kit, 1)
    await pass_time(kit, clock)
    assert await statuses(kit) == ["fired", "skipped_overlap", "fired"]


async def test_what_happens_once_happens_although_a_run_of_it_is_not_finished(
    start: Start, clock: FakeClock
) -> None:
    """A skipped one-shot would never run: it has no next time."""
    gate = Gate()
    kit = await start([Reply(text="early", midway=gate), "in time"], clock=clock)
    await make(kit, "Tea", at="in 20 minutes")
    await kit.engine.schedules.run(LOCAL_OWNER, ScheduleId("tea"))
    await gate.reached.wait()
    await pass_time(kit, clock, "tea")
    gate.opened.set()
    await ended(kit, 2, "tea")
    assert await statuses(kit, "tea") == ["run_now", "fired"]


@pytest.mark.parametrize(
    ("catch_up", "expected"), [("skip", ["skipped_missed"]), ("once", ["fired"])]
)
async def test_times_that_passed_while_it_was_down_are_skipped_or_made_up_for_once(
    start: Start, clock: FakeClock, catch_up: str, expected: list[str]
) -> None:
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    await make(kit, catch_up=catch_up)
    clock.jump(5 * HOUR + 300)
    await kit.restart()

    async def moved_on() -> bool:
        stored = await kit.engine.schedules.get(LOCAL_OWNER, DAILY)
        return stored.next_at is not None and stored.next_at > clock.now()

    await until(kit, moved_on)
    assert await statuses(kit) == expected
    (slot,) = await slots(kit)
    assert f"{slot.due_at:%H:%M}" == "17:00"
    if catch_up == "once":
        await ended(kit)
        (text,) = await system_texts(kit, await cron_agent(kit))
        assert "late: it is now 2026-01-01 17:05" in text


async def test_a_restart_within_a_minute_is_no_reason_to_skip(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent().model, clock=clock)
    await make(kit, catch_up="skip")
    clock.jump(HOUR + 30)
    await kit.crash()
    await ended(kit)
    assert await statuses(kit) == ["fired"]


async def test_what_happens_once_is_made_up_for_however_late(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent().model, clock=clock)
    await make(kit, "Tea", at="in 20 minutes")
    clock.jump(400 * 24 * HOUR)
    await kit.restart()
    (slot,) = await ended(kit, 1, "tea")
    assert slot.status == "fired"


async def test_a_clock_that_is_set_forward_is_noticed(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock)
    await make(kit)
    await clock.someone_sleeps(HOUR)
    clock.jump(HOUR + 5)
    clock.advance(await clock.someone_sleeps())
    await ended(kit)
    assert await statuses(kit) == ["fired"]


async def test_a_clock_that_is_set_back_repeats_nothing(start: Start, clock: FakeClock) -> None:
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    await make(kit)
    await pass_time(kit, clock)
    await ended(kit)
    clock.jump(-1800)
    schedules = kit.engine.schedules
    await schedules.change(LOCAL_OWNER, DAILY, ScheduleChanges(is_paused=True))
    stored = await schedules.change(LOCAL_OWNER, DAILY, ScheduleChanges(is_paused=False))
    assert stored.next_at == clock.now() + timedelta(minutes=30)
    await pass_time(kit, clock)
    await pass_time(kit, clock)
    await ended(kit, 2)
    assert len(silent.requests) == 2


async def test_what_is_paused_does_not_run_and_goes_on_when_resumed(
    start: Start, clock: FakeClock
) -> None:
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    await make(kit)
    paused = await kit.engine.schedules.change(LOCAL_OWNER, DAILY, ScheduleChanges(is_paused=True))
    assert paused.next_at is None
    clock.advance(3 * HOUR + 60)
    resumed = await kit.engine.schedules.change(
        LOCAL_OWNER, DAILY, ScheduleChanges(is_paused=False)
    )
    assert resumed.next_at == clock.now() + timedelta(minutes=59)
    assert await statuses(kit) == []
    await pass_time(kit, clock)
    await ended(kit)
    assert len(silent.requests) == 1


async def test_running_now_leaves_the_next_time_as_it_is(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock)
    before = await make(kit)
    receipt = await kit.engine.schedules.run(LOCAL_OWNER, DAILY, key="k")
    again = await kit.engine.schedules.run(LOCAL_OWNER, DAILY, key="k")
    assert again.item.id == receipt.item.id
    assert (await kit.outcome(receipt)).item.fate == "answered"
    after = await kit.engine.schedules.get(LOCAL_OWNER, DAILY)
    assert after.next_at == before.next_at
    assert set(await statuses(kit)) == {"run_now"}


async def test_a_change_of_times_counts_from_now(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock)
    await make(kit)
    changed = await kit.engine.schedules.change(
        LOCAL_OWNER, DAILY, ScheduleChanges(cron="*/10 * * * *", title="Often")
    )
    assert changed.next_at == clock.now() + timedelta(minutes=10)
    assert changed.schedule.title == "Often"
    await pass_time(kit, clock)
    await ended(kit)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"cron": "0 0 30 2 *"}, "never runs"),
        ({"timezone": "Mars/Olympus"}, "is not an IANA time zone"),
        ({"at": "2020-01-01T00:00"}, "is in the past"),
        ({"at": "someday"}, "at: "),
        ({"definition": "nobody"}, "nobody"),
        ({"target": AgentId("a" * 24)}, "there is no agent"),
    ],
)
async def test_bad_input_is_refused_and_creates_nothing(
    start: Start, clock: FakeClock, fields: dict[str, str], complaint: str
) -> None:
    kit = await start(Silent().model, clock=clock)
    with pytest.raises((UsageError, NotFoundError), match=complaint):
        await make(kit, **fields)
    assert list(await kit.engine.schedules.all(LOCAL_OWNER)) == []


async def test_a_bad_change_leaves_the_schedule_as_it_was(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock)
    before = await make(kit)
    for change in (
        ScheduleChanges(cron="0 0 30 2 *"),
        ScheduleChanges(timezone="Nowhere"),
        ScheduleChanges(at="2020-01-01T00:00"),
        ScheduleChanges(title=""),
    ):
        with pytest.raises(UsageError):
            await kit.engine.schedules.change(LOCAL_OWNER, DAILY, change)
    assert await kit.engine.schedules.get(LOCAL_OWNER, DAILY) == before


async def test_titles_may_repeat_and_ids_do_not(start: Start, clock: FakeClock) -> None:
    kit = await start(Silent().model, clock=clock)
    names = [(await make(kit, "Zürich, täglich!")).schedule.id for _ in range(3)]
    assert names == ["zurich-taglich", "zurich-taglich-2", "zurich-taglich-3"]


async def test_the_final_text_is_reported_to_who_asked_for_it(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent("all is well").model, clock=clock)
    chat = await kit.agent()
    await make(kit, report_to=chat.id)
    await pass_time(kit, clock)
    await ended(kit)
    assert await system_texts(kit, chat) == ["all is well"]


async def test_a_run_that_fails_is_told_to_the_last_chat_once(
    start: Start, clock: FakeClock
) -> None:
    mute = HELPER.replace("helper", "mute") + 'model = "gone"\n'
    definitions = {"helper.toml": HELPER, "mute.toml": mute}
    kit = await start(Silent().model, clock=clock, definitions=definitions)
    chat = await kit.agent()
    await kit.ask(chat, "hello")
    await make(kit, definition="mute")
    await pass_time(kit, clock)
    (slot,) = await ended(kit)
    assert slot.fate == "failed"
    (text,) = await system_texts(kit, chat)
    assert "failed" in text


async def test_a_schedule_that_cannot_be_posted_is_recorded_and_told_once(
    start: Start, clock: FakeClock
) -> None:
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    chat = await kit.agent()
    await kit.ask(chat, "hello")
    await make(kit, definition="helper")
    kit.stage.directory.joinpath("agents/helper.toml").unlink()
    await kit.engine.project.look()
    for _ in range(3):
        await pass_time(kit, clock)
    assert await statuses(kit) == ["failed"] * 3
    told = [text for text in await system_texts(kit, chat) if "could not run" in text]
    assert len(told) == 1


async def test_a_definition_counts_as_soon_as_its_file_is_there(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent().model, clock=clock)
    kit.stage.directory.joinpath("agents/clerk.toml").write_text(HELPER.replace("helper", "clerk"))
    await make(kit, definition="clerk")
    await pass_time(kit, clock)
    await ended(kit)
    assert (await cron_agent(kit)).definition == "clerk"


async def test_a_reminder_whose_chat_is_gone_reaches_the_last_one(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent().model, clock=clock)
    gone, other = await kit.agent(), await kit.agent()
    await kit.ask(other, "hello")
    await make(kit, "Tea", at="in 5 minutes", target=gone.id)
    await kit.engine.delete(LOCAL_OWNER, gone.id)
    await pass_time(kit, clock, "tea")
    (slot,) = await ended(kit, 1, "tea")
    assert slot.agent_id == other.id


async def test_a_deleted_schedule_fires_no_more(start: Start, clock: FakeClock) -> None:
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    await make(kit)
    await clock.someone_sleeps(HOUR)
    await kit.engine.schedules.delete(LOCAL_OWNER, DAILY)
    clock.advance(2 * HOUR)
    await make(kit, "Other")
    assert list(await slots(kit)) == []
    assert silent.requests == []


async def test_a_schedule_goes_on_with_a_new_agent_after_its_own_was_terminated(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(Silent().model, clock=clock)
    await make(kit)
    await pass_time(kit, clock)
    await ended(kit)
    first = await cron_agent(kit)
    await kit.engine.terminate(LOCAL_OWNER, first.id)
    await pass_time(kit, clock)
    await ended(kit, 2)
    assert await statuses(kit) == ["fired", "fired"]
    assert (await cron_agent(kit)).id != first.id
