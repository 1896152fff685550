"""A process that dies at any point of the store loses nothing that it was told is stored."""

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from retinue.agents.descriptor import CronDescriptor
from retinue.ids import LOCAL_OWNER, AgentId, ItemId
from retinue.stores.folders.comparison import compare
from retinue.stores.folders.mirror import Mirror
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_samples import at, chat

CHILD = Path(__file__).with_name("crash_child.py")

# Every point that the child passes, with the visits that differ from each other.
POINTS = [
    *(f"create:{place}:1" for place in ("before", "written", "after")),
    *(f"claim:{place}:1" for place in ("before", "written", "after")),
    *(f"admit:{place}:{visit}" for place in ("before", "written", "after") for visit in (1, 3)),
    *(f"commit:{place}:{visit}" for place in ("before", "written", "after") for visit in (1, 3)),
    *(f"delivery:{place}:1" for place in ("before", "written", "after")),
    *(f"delete:{place}:1" for place in ("before", "written", "after")),
    *(f"mirror:{place}:1" for place in ("before", "written", "after")),
]


def run_child(data: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHILD), str(data)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


@pytest.mark.crash
def test_the_points_are_all_there_are(tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = run_child(tmp_path / "data", RETINUE_FAILPOINTS_LOG=str(log))
    assert done.returncode == 0, done.stderr
    reached = set(log.read_text().split())
    assert reached == {point.rpartition(":")[0] for point in POINTS}


@pytest.mark.crash
@pytest.mark.parametrize("point", POINTS)
async def test_what_was_acknowledged_survives(tmp_path: Path, point: str) -> None:
    data = tmp_path / "data"
    died = run_child(data, RETINUE_FAILPOINTS=point)
    assert died.returncode == -signal.SIGKILL, died.stderr
    acknowledged = [line.split() for line in died.stdout.splitlines()]

    with sqlite3.connect(data / "retinue.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = SqliteStore(data)
    await store.open()
    try:
        assert not store.was_clean
        for kind, value, *_ in acknowledged:
            if kind == "create":
                assert (await store.agent(LOCAL_OWNER, AgentId(value))).id == value
            elif kind == "admit":
                assert (await store.item(LOCAL_OWNER, ItemId(value)))[0].id == value
        await check_commits(store, [kind for kind, *_ in acknowledged])
        await check_folders(store)
    finally:
        await store.close()


async def check_commits(store: SqliteStore, acknowledged: list[str]) -> None:
    """Each commit is there whole or not at all, and every acknowledged one is there."""
    agent = await store.find(LOCAL_OWNER, chat("a"))
    other = await store.find(LOCAL_OWNER, CronDescriptor(id="nightly"))
    if agent is None or other is None:
        assert "commit" not in acknowledged or "delivered" in acknowledged
        return
    history = await store.history(LOCAL_OWNER, agent.id, after=0, limit=99)
    commits = len(history) - 1
    assert [record.seq for record in history] == list(range(1, commits + 2))
    assert acknowledged.count("commit") <= commits <= acknowledged.count("commit") + 1
    assert len(await store.open_items(LOCAL_OWNER, other.id)) == commits
    assert agent.state.name == (str(commits - 1) if commits else None)
    due = await store.due_deliveries(at(99), 9)
    assert bool(due) == (commits > 0)
    admitted = acknowledged.count("admit")
    assert admitted - commits <= agent.queued <= admitted - commits + 1


async def check_folders(store: SqliteStore) -> None:
    mirror = Mirror(store)
    await mirror.start()
    await mirror.stop()
    assert await compare(store, store.data_dir) == []
