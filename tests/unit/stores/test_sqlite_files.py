"""The data directory: one process, private files, a schema that is known, a disk with room."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from retinue.errors import BusyError, StoreDamagedError, StoreError, StoreFullError
from retinue.ids import LOCAL_OWNER
from retinue.stores.folders.rebuild import quarantine
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.fake_clock import FakeClock
from retinue.testing.store_samples import SampleRunner, new_agent, post
from tests.support.disks import file_size_limit

IS_ROOT = os.geteuid() == 0
HOLDER = """
import asyncio, sys
from pathlib import Path
from retinue.stores.sqlite.store import SqliteStore
async def main():
    store = SqliteStore(Path(sys.argv[1]))
    await store.open()
    print("open", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    if not IS_ROOT:
        pytest.skip("needs to mount a file system")
    mounted = tmp_path / "disk"
    mounted.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mounted)],
        check=False,
        capture_output=True,
    )
    if made.returncode != 0:
        pytest.skip("cannot mount a file system here")
    yield mounted
    run("umount", "-l", str(mounted))


def run(*command: str) -> None:
    subprocess.run(command, check=True)


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store open."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


async def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    await store.open()
    await store.create(new_agent())
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "data").iterdir()}
    await store.close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert "retinue.db" in modes


async def test_a_second_process_is_told_the_pid_of_the_first(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with pytest.raises(BusyError, match=str(holder.pid)):
        await SqliteStore(tmp_path).open()
    holder.kill()
    holder.wait()
    store = SqliteStore(tmp_path)
    await store.open()
    assert not store.was_clean
    await store.close()


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    await store.close()
    with sqlite3.connect(tmp_path / "retinue.db") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    with pytest.raises(StoreError, match="newer Retinue"):
        await SqliteStore(tmp_path).open()


@pytest.mark.parametrize(
    "damage", [b"not a database" * 99, b"SQLite format 3\x00" + b"\xff" * 4096]
)
async def test_a_damaged_database_is_told_with_the_way_out(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "retinue.db").write_bytes(damage)
    with pytest.raises(StoreDamagedError, match=r"retinue doctor.*serve --rebuild"):
        await SqliteStore(tmp_path).open()
    moved = quarantine(tmp_path)
    assert moved is not None
    assert moved.read_bytes() == damage
    store = SqliteStore(tmp_path)
    await store.open()
    await store.close()


async def test_a_foreign_database_is_not_taken_for_ours(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "retinue.db") as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(StoreDamagedError, match="not a Retinue store"):
        await SqliteStore(tmp_path).open()


async def test_a_full_disk_refuses_and_recovers(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    store = SqliteStore(small_disk / "data")
    await store.open()
    agent, _ = await store.create(new_agent())
    runner = await SampleRunner.claim(store, agent.id)
    first = await store.admit(post(agent.id, "before"))
    with pytest.raises(OSError, match="No space"):
        ballast.write_bytes(b"x" * 4 * 1024 * 1024)
    results = await asyncio.gather(
        *(store.admit(post(agent.id, "x" * 60_000)) for _ in range(60)), return_exceptions=True
    )
    refused = [one for one in results if isinstance(one, StoreFullError)]
    assert refused
    assert "free some space" in str(refused[0])
    with pytest.raises(StoreFullError):
        for _ in range(60):
            await runner.append("y" * 60_000)
    stored = {item.id for item in await store.open_items(LOCAL_OWNER, agent.id)}
    told = {one.item.id for one in results if not isinstance(one, BaseException)}
    assert stored == told | {first.item.id}
    ballast.unlink()
    after = await store.admit(post(agent.id, "after"))
    assert after.item.seq == len(stored) + 1
    await runner.append("goes on")
    await store.close()


async def test_a_write_that_fails_refuses_and_recovers(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    await store.open()
    agent, _ = await store.create(new_agent())
    await store.admit(post(agent.id, "before"))
    with file_size_limit((tmp_path / "retinue.db-wal").stat().st_size):
        with pytest.raises(StoreFullError, match="nothing was stored"):
            await store.admit(post(agent.id, "x" * 50_000))
        assert (await store.agent(LOCAL_OWNER, agent.id)).queued == 1
    await store.admit(post(agent.id, "after"))
    texts = [item.body.text for item in await store.open_items(LOCAL_OWNER, agent.id)]
    assert texts == ["before", "after"]
    await store.close()


async def test_a_refused_message_counts_for_a_while_though_something_small_has_room(
    tmp_path: Path,
) -> None:
    clock = FakeClock()
    store = SqliteStore(tmp_path, clock=clock)
    await store.open()
    agent, _ = await store.create(new_agent())
    await store.check()
    with file_size_limit(4096):
        with pytest.raises(StoreFullError):
            await store.check()
        with pytest.raises(StoreFullError):
            await store.admit(post(agent.id, "x" * 50_000))
    with pytest.raises(StoreFullError, match="free some space"):
        await store.check()
    clock.advance(5)
    await store.check()
    await store.close()


async def test_a_read_only_disk_is_told_at_the_start(small_disk: Path) -> None:
    store = SqliteStore(small_disk / "data")
    await store.open()
    await store.close()
    run("mount", "-o", "remount,ro", str(small_disk))
    with pytest.raises(StoreFullError, match="make it writable"):
        await SqliteStore(small_disk / "data").open()


async def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreFullError, match="make it writable"):
        await SqliteStore(tmp_path / "file" / "data").open()


async def test_an_old_cursor_starts_anew_when_the_feed_was_pruned(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, changes_kept=10)
    await store.open()
    agent, _ = await store.create(new_agent())
    for _ in range(30):
        await store.admit(post(agent.id))
    newest = await store.cursor()
    assert await store.changes(LOCAL_OWNER, after=1, agent_id=None, limit=99) is None
    kept = await store.changes(LOCAL_OWNER, after=newest - 10, agent_id=None, limit=99)
    assert kept is not None
    assert [change.cursor for change in kept] == list(range(newest - 9, newest + 1))
    await store.close()


async def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    with pytest.raises(StoreError, match="not open"):
        await store.cursor()
    with pytest.raises(StoreError, match="not open"):
        await store.admit(post(new_agent()))
