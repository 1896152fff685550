"""What stands beside the agents survives the loss of the database, and travels with archives."""

import json
from pathlib import Path

import pytest
from msgspec import structs

from retinue.agents.watch import Mark
from retinue.errors import ConflictError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.stores.folders.archive import export_to, import_from
from retinue.stores.folders.comparison import compare
from retinue.testing.store_samples import START, at
from retinue.testing.store_schedule_contract import DAILY, a_firing, a_run, a_schedule
from tests.unit.stores.home import Home


def file_of(home: Home) -> Path:
    return home.data / "schedules.json"


async def test_schedules_slots_and_marks_come_back_without_the_database(home: Home) -> None:
    schedules = home.store.schedules
    stored, _ = await schedules.add(a_schedule(), at(10))
    await schedules.add(a_schedule("paused"), None)
    run = a_run(stored.schedule)
    await schedules.fire(a_firing(stored, at(10), run=run, next_at=at(20)))
    await schedules.remember(LOCAL_OWNER, "heartbeat/tidy", Mark(since=START, ran_at=at(3)))
    before = await schedules.all(LOCAL_OWNER)
    slots = await schedules.slots(LOCAL_OWNER, DAILY, 10)
    marks = await schedules.marks(LOCAL_OWNER)

    store = (await home.again()).store
    assert home.report is not None
    assert list(home.report.problems) == []
    assert await store.schedules.all(LOCAL_OWNER) == before
    assert await store.schedules.slots(LOCAL_OWNER, DAILY, 10) == slots
    assert await store.schedules.marks(LOCAL_OWNER) == marks
    back = await store.schedules.get(LOCAL_OWNER, DAILY)
    assert await store.schedules.fire(a_firing(back, at(10), run=run, next_at=at(20))) is None


async def test_the_sealed_values_of_accounts_come_back_too(home: Home) -> None:
    await home.store.variables.put(LOCAL_OWNER, "KEY", "v1.sealed")
    await home.store.variables.put(LOCAL_OWNER, "GONE", "v1.sealed")
    await home.store.variables.remove(LOCAL_OWNER, "GONE")
    store = (await home.again()).store
    assert home.report is not None and not home.report.problems
    assert await store.variables.all() == {LOCAL_OWNER: {"KEY": "v1.sealed"}}


async def test_schedules_alone_are_reason_enough_to_rebuild(home: Home) -> None:
    await home.store.schedules.add(a_schedule(), at(10))
    store = (await home.again()).store
    assert home.report is not None
    assert home.report.agents == 0
    assert (await store.schedules.get(LOCAL_OWNER, DAILY)).next_at == at(10)


async def test_a_removed_schedule_leaves_the_file(home: Home) -> None:
    await home.store.schedules.add(a_schedule(), at(10))
    await home.store.schedules.remove(LOCAL_OWNER, DAILY)
    await home.close()
    assert not file_of(home).exists() or json.loads(file_of(home).read_bytes())["schedules"] == []
    await home.open()


async def test_what_changed_while_nobody_followed_is_caught_up_at_the_start(home: Home) -> None:
    await home.mirror.stop()
    await home.store.schedules.add(a_schedule(), at(10))
    assert not file_of(home).exists()
    await home.store.close()
    await home.open()
    await home.close()
    assert [s["schedule"]["id"] for s in json.loads(file_of(home).read_bytes())["schedules"]] == [
        DAILY
    ]
    await home.open()


async def test_a_file_that_cannot_be_read_is_told_and_kept(home: Home) -> None:
    await home.store.schedules.add(a_schedule(), at(10))
    await home.close()
    file_of(home).write_text('{"schedules": [{"torn', encoding="utf-8")
    for path in home.data.glob("retinue.db*"):
        path.unlink()
    await home.open()
    assert home.report is not None
    assert "schedules.json.aside" in home.report.problems[0]
    assert (home.data / "schedules.json.aside").read_text("utf-8").endswith("torn")


async def test_the_comparison_names_the_file_that_differs(home: Home) -> None:
    await home.store.schedules.add(a_schedule(), at(10))
    await home.mirror.stop()
    assert list(await compare(home.store, home.data)) == []
    file_of(home).unlink()
    (difference,) = await compare(home.store, home.data)
    assert "schedules.json differs" in difference


async def test_an_archive_of_everything_carries_the_schedules(home: Home, tmp_path: Path) -> None:
    schedules = home.store.schedules
    stored, _ = await schedules.add(a_schedule(), at(10))
    fired = await schedules.fire(a_firing(stored, at(10), run=a_run(stored.schedule)))
    assert fired is not None
    archive = tmp_path / "all.tar.gz"
    await export_to(archive, home.store, home.data, [fired.agent_id])

    other = Home(tmp_path / "other")
    ada = OwnerId("ada")
    store = await other.open()
    try:
        await import_from(archive, store, other.data, owner=ada)
        (loaded,) = await store.schedules.all(ada)
        assert loaded.schedule == a_schedule(owner=ada)
        assert [s.item_id for s in await store.schedules.slots(ada, DAILY, 9)] == [fired.item.id]
        await store.delete(ada, fired.agent_id)
        changed = structs.replace(loaded.schedule, title="Mine")
        await store.schedules.replace(changed, None, revision=loaded.revision)
        with pytest.raises(ConflictError, match="daily"):
            await import_from(archive, store, other.data, owner=ada)
    finally:
        await other.close()
