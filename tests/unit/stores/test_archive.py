"""Agents leave and come back as one file, and a hostile file brings nothing with it."""

import io
import os
import tarfile
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

from retinue.errors import ConflictError, NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, AgentId, new_agent_id
from retinue.stores.file_trees import LocalFileTrees
from retinue.stores.folders.archive import export_to, import_from
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_samples import STRANGER, SampleRunner, chat, new_agent, post


async def exported(data: Path, path: Path) -> AgentId:
    """Make a small agent, with a file, and write it to an archive."""
    store = SqliteStore(data)
    await store.open()
    receipt = await store.admit(post(new_agent(chat("a")), "hello", key="k"))
    runner = await SampleRunner.claim(store, receipt.agent_id)
    await runner.take_turn(receipt)
    await store.admit(post(receipt.agent_id, "next"))
    await LocalFileTrees(data).tree(runner.id).write("/notes/a.txt", b"remember")
    await export_to(path, store, data, [runner.id])
    await store.close()
    return runner.id


def archive_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for member, data in members:
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))


async def test_an_agent_comes_back_whole(tmp_path: Path) -> None:
    path = tmp_path / "agents.tar.gz"
    agent_id = await exported(tmp_path / "one", path)
    store = SqliteStore(tmp_path / "two")
    await store.open()
    assert await import_from(path, store, tmp_path / "two") == [agent_id]
    agent = await store.agent(LOCAL_OWNER, agent_id)
    assert (agent.queued, agent.state.last_snippet) == (1, "hi")
    assert len(await store.history(LOCAL_OWNER, agent_id, after=0, limit=9)) == 3
    assert (await store.admit(post(agent_id, "hello", key="k"))).is_repeat
    assert await LocalFileTrees(tmp_path / "two").tree(agent_id).read("/notes/a.txt") == b"remember"
    with pytest.raises(ConflictError, match=agent_id):
        await import_from(path, store, tmp_path / "two")
    await store.close()


async def test_an_import_can_be_for_another_owner(tmp_path: Path) -> None:
    path = tmp_path / "agents.tar.gz"
    agent_id = await exported(tmp_path / "one", path)
    store = SqliteStore(tmp_path / "two")
    await store.open()
    await import_from(path, store, tmp_path / "two", owner=STRANGER)
    assert (await store.agent(STRANGER, agent_id)).owner == STRANGER
    await store.close()


async def many_exported(data: Path, path: Path, *, count: int, file: bytes) -> Sequence[AgentId]:
    """Make agents of the channels 0, 1, ..., each with a file, and write them to an archive."""
    store = SqliteStore(data)
    await store.open()
    ids: list[AgentId] = []
    for number in range(count):
        receipt = await store.admit(post(new_agent(chat(str(number))), key=f"k{number}"))
        await LocalFileTrees(data).tree(receipt.agent_id).write("/a/b.bin", file)
        ids.append(receipt.agent_id)
    await export_to(path, store, data, ids)
    await store.close()
    return ids


@pytest.mark.parametrize("clash", ["identity", "key", "folder"])
async def test_a_clash_in_the_middle_of_an_archive_imports_nothing(
    tmp_path: Path, clash: str
) -> None:
    path = tmp_path / "agents.tar.gz"
    ids = await many_exported(tmp_path / "one", path, count=5, file=b"remember")
    two = tmp_path / "two"
    store = SqliteStore(two)
    await store.open()
    taken = new_agent(chat("3" if clash == "identity" else "other"))
    await store.admit(post(taken, key="k3" if clash == "key" else "other"))
    if clash == "folder":
        (two / "agents" / ids[3]).mkdir(parents=True)
        (two / "agents" / ids[3] / "state.json").write_text("{}")
    cursor = await store.cursor()
    before = sorted(two.rglob("*.*"))
    reason = {"key": "'k3' .* was also used", "folder": "move it away", "identity": "identity"}
    with pytest.raises(ConflictError, match=reason[clash]):
        await import_from(path, store, two)
    assert (await store.facts()).agents == 1
    assert await store.cursor() == cursor
    assert sorted(two.rglob("*.*")) == before
    await store.delete(LOCAL_OWNER, taken.id)
    if clash == "folder":
        (two / "agents" / ids[3] / "state.json").unlink()
    assert await import_from(path, store, two) == ids
    assert (await store.facts()).agents == 5
    await store.close()


async def test_an_import_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "agents.tar.gz"
    (agent_id,) = await many_exported(tmp_path / "one", path, count=1, file=b"remember")
    two = tmp_path / "two"
    store = SqliteStore(two)
    await store.open()
    tree = LocalFileTrees(two).tree(agent_id)
    await tree.write("/a/b.bin", b"half")
    await import_from(path, store, two)
    assert await tree.read("/a/b.bin") == b"remember"
    await store.close()


async def test_an_import_holds_one_file_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "agents.tar.gz"
    await many_exported(tmp_path / "one", path, count=20, file=bytes(1 << 20))
    store = SqliteStore(tmp_path / "two")
    await store.open()
    tracemalloc.start()
    try:
        await import_from(path, store, tmp_path / "two")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20
    await store.close()


async def test_exporting_an_unknown_agent_leaves_no_file(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    await store.open()
    path = tmp_path / "agents.tar.gz"
    with pytest.raises(NotFoundError):
        await export_to(path, store, tmp_path / "data", [new_agent_id()])
    await store.close()
    assert os.listdir(tmp_path) == ["data"]  # noqa: PTH208


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type = tarfile.SYMTYPE
    member.linkname = target
    return member


HOME = f"agents/{'a' * 24}"


@pytest.mark.parametrize(
    "member",
    [
        tarfile.TarInfo("../../etc/passwd"),
        tarfile.TarInfo("/etc/passwd"),
        tarfile.TarInfo(f"{HOME}/files/../../../escape"),
        tarfile.TarInfo(f"{HOME}/files/a\\b"),
        tarfile.TarInfo(f"{HOME}/other.json"),
        tarfile.TarInfo("agents/../x/state.json"),
        link(f"{HOME}/files/link", "/etc/passwd"),
        link(f"{HOME}/state.json", "/etc/passwd"),
    ],
    ids=lambda member: member.name,
)
async def test_a_hostile_archive_is_refused(tmp_path: Path, member: tarfile.TarInfo) -> None:
    path = tmp_path / "agents.tar.gz"
    archive_of(path, (member, b""))
    store = SqliteStore(tmp_path / "data")
    await store.open()
    with pytest.raises(UsageError):
        await import_from(path, store, tmp_path / "data")
    assert (await store.facts()).agents == 0
    assert not (tmp_path / "data" / "agents").exists()
    await store.close()


async def test_what_is_no_archive_is_told(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "data")
    await store.open()
    (tmp_path / "text").write_text("hello")
    with pytest.raises(UsageError, match="not a Retinue archive"):
        await import_from(tmp_path / "text", store, tmp_path / "data")
    with pytest.raises(NotFoundError):
        await import_from(tmp_path / "missing", store, tmp_path / "data")
    archive_of(tmp_path / "half", (tarfile.TarInfo(f"{HOME}/descriptor.json"), b"{}"))
    with pytest.raises(UsageError, match=r"has no history\.jsonl, state\.json"):
        await import_from(tmp_path / "half", store, tmp_path / "data")
    await store.close()
