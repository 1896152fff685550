"""Schedules from retinue.toml are taken over at each start."""

from pathlib import Path

import pytest

from retinue.engine.scheduling.schedule_service import ScheduleChanges
from retinue.errors import RefusedError, UsageError
from retinue.ids import LOCAL_OWNER, ScheduleId
from retinue.settings import load_settings
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.scheduling.support import (
    Silent,
    cron_agent,
    ended,
    make,
    pass_time,
    statuses,
    system_texts,
)

REPORT = """
timezone = "Europe/Berlin"
[[cron]]
title = "Report"
schedule = "0 8 * * MON-FRI"
prompt = "Write the report."
"""


async def start_with(start: Start, directory: Path, text: str, clock: FakeClock) -> Kit:
    (directory / "retinue.toml").write_text(text, encoding="utf-8")
    return await start(Silent().model, clock=clock)


async def restart_with(kit: Kit, text: str) -> None:
    (kit.stage.directory / "retinue.toml").write_text(text, encoding="utf-8")
    await kit.restart()


async def ids(kit: Kit) -> list[str]:
    return [stored.schedule.id for stored in await kit.engine.schedules.all(LOCAL_OWNER)]


async def test_entries_come_and_go_with_the_file_and_others_stay(
    start: Start, clock: FakeClock, tmp_path: Path
) -> None:
    kit = await start_with(start, tmp_path, REPORT, clock)
    await make(kit, "Mine")
    (report,) = [s for s in await kit.engine.schedules.all(LOCAL_OWNER) if s.schedule.id != "mine"]
    assert (report.schedule.source, report.schedule.timezone) == ("settings", "Europe/Berlin")
    assert f"{report.next_at:%a %H:%M}" == "Fri 07:00"
    await restart_with(kit, "")
    assert await ids(kit) == ["mine"]


async def test_an_unchanged_entry_keeps_its_time_and_history_and_a_changed_one_counts_anew(
    start: Start, clock: FakeClock, tmp_path: Path
) -> None:
    hourly = REPORT.replace("0 8 * * MON-FRI", "0 * * * *")
    kit = await start_with(start, tmp_path, hourly, clock)
    await pass_time(kit, clock, "report")
    await ended(kit, 1, "report")
    before = await kit.engine.schedules.get(LOCAL_OWNER, ScheduleId("report"))
    await kit.restart()
    assert await kit.engine.schedules.get(LOCAL_OWNER, ScheduleId("report")) == before
    await restart_with(kit, hourly.replace("0 * * * *", "30 * * * *"))
    after = await kit.engine.schedules.get(LOCAL_OWNER, ScheduleId("report"))
    assert f"{after.next_at:%H:%M}" == "13:30"
    assert await statuses(kit, "report") == ["fired"]


async def test_an_entry_can_be_paused_and_run_but_not_changed_elsewhere(
    start: Start, clock: FakeClock, tmp_path: Path
) -> None:
    kit = await start_with(start, tmp_path, REPORT, clock)
    schedules, report = kit.engine.schedules, ScheduleId("report")
    with pytest.raises(RefusedError, match=r"defined in retinue\.toml"):
        await schedules.change(LOCAL_OWNER, report, ScheduleChanges(title="Other"))
    with pytest.raises(RefusedError, match=r"defined in retinue\.toml"):
        await schedules.delete(LOCAL_OWNER, report)
    await schedules.change(LOCAL_OWNER, report, ScheduleChanges(is_paused=True))
    await kit.restart()
    assert (await kit.engine.schedules.get(LOCAL_OWNER, report)).next_at is None


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('schedule = "0 0 30 2 *"', "cron[0].schedule: '0 0 30 2 *' never runs"),
        ('schedule = "61 * * * *"', "cron[0].schedule: invalid minute: '61'"),
        ('schedule = "0 8 * * *"\ntimezone = "Europe/Berlim"', "did you mean Europe/Berlin"),
        ('schedule = "0 8 * * *"\ncatchUp = "always"', "cron[0].catchUp: expected one of"),
        ('schedule = "0 8 * * *"\nwatch = {}', "cron[0].watch: set exactly one of"),
        ('schedule = "0 8 * * *"\nid = "Not OK"', "such as 'not-ok'"),
        ("", "cron[0].schedule: is required"),
    ],
)
def test_a_wrong_entry_names_the_file_and_the_field(
    tmp_path: Path, entry: str, complaint: str
) -> None:
    text = f'[[cron]]\ntitle = "Report"\nprompt = "Write it."\n{entry}\n'
    (tmp_path / "retinue.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        load_settings(tmp_path, {})
    assert complaint in raised.value.message
    assert "retinue.toml" in raised.value.message


def test_two_entries_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "retinue.toml").write_text(REPORT + REPORT.split("\n", 2)[2], encoding="utf-8")
    with pytest.raises(UsageError, match="'report' is used twice"):
        load_settings(tmp_path, {})


HOURLY = REPORT.replace("0 8 * * MON-FRI", "0 * * * *") + 'catchUp = "once"\n'


async def test_an_entry_does_not_take_the_place_of_a_schedule_that_was_made_elsewhere(
    start: Start, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    kit = await start(Silent().model, clock=clock)
    mine = await make(kit, "Report", prompt="Mine.")
    await restart_with(kit, REPORT)
    assert list(await kit.engine.schedules.all(LOCAL_OWNER)) == [mine]
    assert "cron 'report' is ignored" in caplog.text


async def test_an_entry_reworded_while_the_server_was_down_still_makes_up_for_its_time(
    start: Start, clock: FakeClock, tmp_path: Path
) -> None:
    kit = await start_with(start, tmp_path, HOURLY, clock)
    await kit.engine.stop()
    await kit.store.close()
    clock.advance(5 * 3600)
    (tmp_path / "retinue.toml").write_text(HOURLY.replace("Write", "Rewrite"), encoding="utf-8")
    await kit.open()
    await ended(kit, 1, "report")
    (text,) = await system_texts(kit, await cron_agent(kit, "report"))
    assert "Rewrite the report." in text


async def test_an_entry_that_a_person_paused_stays_paused_when_it_is_reworded(
    start: Start, clock: FakeClock, tmp_path: Path
) -> None:
    kit = await start_with(start, tmp_path, HOURLY, clock)
    report = ScheduleId("report")
    await kit.engine.schedules.change(LOCAL_OWNER, report, ScheduleChanges(is_paused=True))
    await restart_with(kit, HOURLY.replace("Write", "Rewrite"))
    stored = await kit.engine.schedules.get(LOCAL_OWNER, report)
    assert (stored.schedule.prompt, stored.schedule.is_paused) == ("Rewrite the report.", True)
    assert stored.next_at is None
