"""The agents' folders follow the store, and are enough to get it back."""

import json
import os
import sqlite3
from pathlib import Path

import msgspec
import pytest

from retinue.agents.descriptor import CronDescriptor
from retinue.errors import StoreDamagedError
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.records import UnknownRecord
from retinue.stores.folders import mirror
from retinue.stores.folders.comparison import compare
from retinue.stores.folders.mirror import Mirror
from retinue.stores.folders.rebuild import needs_rebuild
from retinue.stores.port import Effects, NewDelivery, Offset, Receipt
from retinue.stores.sqlite.export_reader import SqliteWholeReader
from retinue.testing.store_samples import START, SampleRunner, at, chat, new_agent, post
from tests.unit.stores.home import Home
from tests.waiting import eventually

HOLOGRAM = b'{"kind":"hologram", "v":9, "seq":4, "at":"2026-11-16T08:00:02Z", "x":{"y":[1.50]}}'


async def conversation(home: Home, channel: str = "a") -> tuple[SampleRunner, Receipt]:
    """An agent that answered once and has one more message waiting."""
    store = home.store
    first = await store.admit(
        post(new_agent(chat(channel)), "hello", key=f"first {channel}"),
        offset=Offset(source="telegram", value="41"),
    )
    runner = await SampleRunner.claim(store, first.agent_id)
    await runner.take_turn(first, "hi")
    out = NewDelivery(key="d1", connector="web", channel="1", text="hi")
    record = UnknownRecord(seq=4, at=START, kind="hologram", raw=HOLOGRAM)
    await runner.commit(
        msgspec.structs.replace(
            runner.step([lambda seq: record]), effects=Effects(deliveries=(out,))
        )
    )
    second = await store.admit(post(first.agent_id, "and now?", key=f"second {channel}"))
    return runner, second


async def test_a_commit_reaches_the_folder_by_itself(home: Home) -> None:
    runner, waiting = await conversation(home)
    await all_mirrored(home)
    lines = home.lines(runner.id)
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4]
    assert lines[3] == HOLOGRAM
    descriptor = json.loads((home.folder(runner.id) / "descriptor.json").read_bytes())
    assert descriptor == {"type": "user", "connector": "web", "userId": "ada", "channelId": "a"}
    state = home.state(runner.id)
    assert (state["owner"], state["definition"], state["lifecycle"]) == (
        "local",
        "helper",
        "active",
    )
    assert state["lastSnippet"] == "hi"
    assert [held["item"]["id"] for held in state["inbox"]] == [waiting.item.id]
    assert await compare(home.store, home.data) == []


async def test_every_conversation_goes_on_without_the_database(home: Home) -> None:
    runner, waiting = await conversation(home)
    cursor = await home.store.cursor()
    before = await home.store.agent(LOCAL_OWNER, runner.id)
    again = await home.again()
    store = again.store
    assert again.report is not None
    assert (again.report.agents, again.report.problems) == (1, [])
    assert await store.agent(LOCAL_OWNER, runner.id) == before
    assert await store.find(LOCAL_OWNER, chat("a")) == before
    assert [item.id for item in await store.open_items(LOCAL_OWNER, runner.id)] == [waiting.item.id]
    assert (await store.record(LOCAL_OWNER, runner.id, 4)) == UnknownRecord(
        seq=4, at=at(0).replace(microsecond=0, second=2), kind="hologram", raw=HOLOGRAM
    )
    assert dict(await store.waking()) == {runner.id: "foreground"}
    assert [one.key for one in await store.due_deliveries(at(99), 9)] == ["d1"]
    assert await store.offset("telegram") == "41"
    repeat = await store.admit(post(runner.id, "hello", key="first a"))
    assert repeat.is_repeat
    assert (repeat.item.fate, repeat.item.body.text) == ("answered", "hello")
    assert (await store.admit(post(runner.id, "and now?", key="second a"))).is_repeat
    assert (await store.admit(post(runner.id, "third"))).item.seq == 3
    assert await store.changes(LOCAL_OWNER, after=cursor, agent_id=None, limit=9) is None
    resumed = await SampleRunner.claim(store, runner.id)
    await resumed.take_turn(
        Receipt(item=waiting.item, agent_id=runner.id, is_repeat=False, position=0)
    )
    await again.mirror.stop()
    assert len(again.lines(runner.id)) == 6
    assert await compare(store, home.data) == []
    await store.close()


@pytest.mark.parametrize("is_delivered", [True, False])
async def test_a_reply_that_left_or_was_given_up_is_not_sent_again_after_a_rebuild(
    home: Home, is_delivered: bool
) -> None:
    await conversation(home)
    await home.mirror.stop()
    home.mirror = Mirror(home.store)
    await home.mirror.start()
    (reply,) = await home.store.due_deliveries(at(99), 9)
    if is_delivered:
        await home.store.delivered(reply.id)
    else:
        await home.store.delivery_failed(reply.id, error="blocked", retry_at=None)
    again = await home.again()
    assert list(await again.store.due_deliveries(at(99), 9)) == []
    await again.close()


async def test_a_history_ahead_of_its_state_doubles_no_message(home: Home) -> None:
    """A kill between the two writes of a round, and then the database is lost as well."""
    receipt = await home.store.admit(post(new_agent(chat("a")), "hello"))
    agent_id = receipt.agent_id
    await home.mirror.stop()
    state = home.folder(agent_id) / "state.json"
    before = state.read_bytes()
    late = Mirror(home.store)
    await late.start()
    await (await SampleRunner.claim(home.store, agent_id)).take_turn(receipt)
    await late.stop()
    state.write_bytes(before)
    again = await home.again()
    (item,) = await again.store.open_items(LOCAL_OWNER, agent_id)
    assert (item.id, item.fate) == (receipt.item.id, "queued")
    records = await again.store.history(LOCAL_OWNER, agent_id, after=0, limit=10)
    assert [type(record).__name__ for record in records] == ["StartRecord"]
    await again.close()


@pytest.mark.parametrize("cut", range(1, 60, 7))
async def test_a_torn_last_line_costs_only_itself(home: Home, cut: int) -> None:
    runner, _ = await conversation(home)
    await home.close()
    history = home.folder(runner.id) / "history.jsonl"
    whole = history.read_bytes()
    history.write_bytes(whole[:-cut])
    torn = whole[:-cut].splitlines()[3]

    reopened = Home(home.data)
    await reopened.open()
    await reopened.store.admit(post(runner.id, "wake the mirror"))
    await reopened.close()
    assert history.read_bytes() == whole
    kept = (home.folder(runner.id) / "history.jsonl.torn").read_bytes()
    assert kept == torn + b"\n"


async def test_a_torn_last_line_is_cut_off_when_rebuilding(home: Home) -> None:
    runner, _ = await conversation(home)
    await home.close()
    history = home.folder(runner.id) / "history.jsonl"
    history.write_bytes(history.read_bytes()[:-5])
    again = await home.again()
    records = await again.store.history(LOCAL_OWNER, runner.id, after=0, limit=9)
    assert [record.seq for record in records] == [1, 2, 3]
    await again.close()


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("state.json", b""),
        ("state.json", b'{"id": "half'),
        ("descriptor.json", b'{"type":"hologram"}'),
        ("history.jsonl", b'{"kind":"start","seq":1}\nrubbish\n{"kind":"user","seq":3}\n'),
        ("history.jsonl", b'{"kind":"start","seq":1}\n{"kind":"user","seq":3}\n'),
    ],
)
async def test_an_unreadable_folder_is_named_and_its_place_kept(
    home: Home, file: str, content: bytes
) -> None:
    bad, _ = await conversation(home, "bad")
    good, _ = await conversation(home, "good")
    await home.close()
    (home.folder(bad.id) / file).write_bytes(content)
    again = await home.again()
    assert again.report is not None
    assert again.report.agents == 1
    assert f"{bad.id}/{file}" in again.report.problems[0]
    assert bad.id in (await again.store.facts()).problems[0]
    assert (await again.store.agent(LOCAL_OWNER, good.id)).id == good.id
    with pytest.raises(StoreDamagedError, match="set aside"):
        await again.store.admit(post(bad.id))
    if file != "descriptor.json":
        with pytest.raises(StoreDamagedError, match="set aside"):
            await again.store.create(new_agent(chat("bad")))
    await again.close()
    assert (home.folder(bad.id) / file).read_bytes() == content


async def test_a_terminated_agent_and_its_successor_both_come_back(home: Home) -> None:
    daily = CronDescriptor(id="daily")
    first, _ = await home.store.create(new_agent(daily))
    runner = await SampleRunner.claim(home.store, first.id)
    await runner.commit(msgspec.structs.replace(runner.step(), lifecycle="terminated"))
    second = await home.store.admit(post(new_agent(daily), "report"))
    rebuilt = await home.again()
    try:
        assert rebuilt.report is not None
        assert (rebuilt.report.agents, list(rebuilt.report.problems)) == (2, [])
        assert (await rebuilt.store.agent(LOCAL_OWNER, first.id)).lifecycle == "terminated"
        found = await rebuilt.store.find(LOCAL_OWNER, daily)
        assert found is not None
        assert found.id == second.agent_id
    finally:
        await rebuilt.close()


async def test_an_empty_database_file_is_a_lost_database(home: Home) -> None:
    runner, _ = await conversation(home)
    await home.close()
    home.lose_database()
    (home.data / "retinue.db").touch()
    again = Home(home.data)
    await again.open()
    assert again.report is not None
    assert again.report.agents == 1
    assert (await again.store.agent(LOCAL_OWNER, runner.id)).queued == 1
    await again.close()


async def test_a_rebuild_that_was_cut_off_is_begun_again(home: Home) -> None:
    runner, _ = await conversation(home)
    await home.close()
    (home.data / "rebuilding").touch()
    assert needs_rebuild(home.data)
    again = Home(home.data)
    await again.open()
    assert again.report is not None
    assert again.report.agents == 1
    assert (await again.store.agent(LOCAL_OWNER, runner.id)).queued == 1
    await again.close()
    assert not needs_rebuild(home.data)


async def test_a_deleted_agent_takes_its_folder_along(home: Home) -> None:
    runner, _ = await conversation(home)
    await all_mirrored(home)
    assert home.folder(runner.id).exists()
    await home.store.delete(LOCAL_OWNER, runner.id)
    await home.mirror.stop()
    assert not home.folder(runner.id).exists()


def deep_folder(folder: Path, depth: int) -> None:
    """Make what `mkdir d; cd d` in a loop makes: deeper than a path can say."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


async def test_a_deleted_agent_s_folder_goes_however_deep_it_is(home: Home) -> None:
    runner, _ = await conversation(home)
    await all_mirrored(home)
    files = home.folder(runner.id) / "files"
    deep_folder(files, 3_000)
    (files / "locked").mkdir(mode=0o000)
    outside = home.data / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    (files / "link").symlink_to(outside)
    await home.store.delete(LOCAL_OWNER, runner.id)
    await home.mirror.stop()
    assert home.mirror.problem == ""
    assert not home.folder(runner.id).exists()
    assert (outside / "kept").exists()


async def test_changes_without_a_mirror_are_caught_up(home: Home) -> None:
    runner, _ = await conversation(home)
    gone, _ = await conversation(home, "gone")
    await home.mirror.stop()
    await runner.append("while nobody followed")
    await home.store.delete(LOCAL_OWNER, gone.id)
    late = Mirror(home.store)
    await late.start()
    await late.stop()
    assert len(home.lines(runner.id)) == 5
    assert not home.folder(gone.id).exists()
    assert await compare(home.store, home.data) == []


async def test_a_stop_waits_for_no_long_round_and_the_next_start_goes_on(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.mirror.stop()
    runner, _ = await conversation(home)
    with monkeypatch.context() as patched:
        patched.setattr(mirror, "_LAST_SECONDS", -1.0)
        hurried = Mirror(home.store)
        await hurried.stop()  # so that its first round is the last one
        await hurried.start()
        await hurried.stop()
    assert not home.folder(runner.id).exists()
    home.mirror = Mirror(home.store)
    await home.mirror.start()
    await home.mirror.stop()
    assert len(home.lines(runner.id)) == 4


async def test_an_agent_that_was_deleted_and_imported_again_keeps_its_files(home: Home) -> None:
    runner, _ = await conversation(home)
    await home.mirror.stop()
    reader = home.store.whole_reader()
    stored = reader.read(runner.id, after=0)
    reader.close()
    assert stored is not None
    await home.store.delete(LOCAL_OWNER, runner.id)
    await home.store.restore(stored)
    file = home.folder(runner.id) / "files" / "kept.txt"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("kept")
    home.mirror = Mirror(home.store)
    await home.mirror.start()
    await home.mirror.stop()
    assert file.read_text() == "kept"


async def test_a_history_that_is_not_the_stores_is_put_aside(home: Home) -> None:
    runner, _ = await conversation(home)
    await home.mirror.stop()
    history = home.folder(runner.id) / "history.jsonl"
    history.write_bytes(b'{"kind":"user","seq":77}\n')
    await runner.append("next")
    late = Mirror(home.store)
    await late.start()
    await late.stop()
    assert len(home.lines(runner.id)) == 5
    assert list(home.folder(runner.id).glob("history.jsonl.aside-*"))


async def test_a_mirror_that_cannot_write_says_so_and_recovers(home: Home) -> None:
    await home.mirror.stop()
    agents = home.data / "agents"
    agents.write_text("in the way")
    late = Mirror(home.store)
    await late.start()
    receipt = await home.store.admit(post(new_agent(chat("b"))))
    await eventually(lambda: "behind" in late.problem)
    agents.unlink()
    await eventually(lambda: not late.problem)
    await late.stop()
    assert len(home.lines(receipt.agent_id)) == 1


async def test_a_mirror_outlives_whatever_goes_wrong_in_a_round(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(reader: SqliteWholeReader) -> int:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(SqliteWholeReader, "cursor", broken)
    receipt = await home.store.admit(post(new_agent(chat("b"))))
    await eventually(lambda: "disk I/O error" in home.mirror.problem)
    monkeypatch.undo()
    await eventually(lambda: not home.mirror.problem)
    assert len(home.lines(receipt.agent_id)) == 1


async def test_a_round_of_many_counts_as_durable_only_after_the_next_sync(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    await home.mirror.stop()
    for channel in "bcd":
        await home.store.admit(post(new_agent(chat(channel))))
    synced: list[str] = []
    monkeypatch.setattr(mirror, "_FEW", 1)
    monkeypatch.setattr(mirror, "_CHUNK", 2)
    monkeypatch.setattr(mirror, "sync_file_system", synced.append)
    late = Mirror(home.store)
    await late.start()
    await late.stop()
    assert len(synced) == 2  # before the two are put in their places, and again before the third
    file = mirror.read_mirror_file(home.data)
    assert file is not None
    assert file.cursor == await home.store.cursor()


@pytest.mark.parametrize("stops", [True, False])
async def test_a_round_of_many_is_not_written_again_at_the_next_start(
    home: Home, monkeypatch: pytest.MonkeyPatch, stops: bool
) -> None:
    await home.mirror.stop()
    for channel in "bcd":
        await home.store.admit(post(new_agent(chat(channel))))
    monkeypatch.setattr(mirror, "_FEW", 1)
    late = Mirror(home.store)
    await late.start()
    if stops:
        await late.stop()
    else:
        await all_mirrored(home)
    assert mirrored_up_to(home) == await home.store.cursor()
    await late.stop()


def mirrored_up_to(home: Home) -> int:
    file = mirror.read_mirror_file(home.data)
    return 0 if file is None else file.cursor


async def all_mirrored(home: Home) -> None:
    """Wait until the folders hold what the store holds."""
    cursor = await home.store.cursor()
    await eventually(lambda: mirrored_up_to(home) == cursor)


async def test_comparing_names_what_differs(home: Home) -> None:
    runner, _ = await conversation(home)
    await home.mirror.stop()
    state = home.folder(runner.id) / "state.json"
    state.write_bytes(state.read_bytes().replace(b'"helper"', b'"other"'))
    stray = home.folder(AgentId("a" * 24))
    stray.mkdir()
    differences = await compare(home.store, home.data)
    assert differences == [
        f"{home.folder(runner.id)}: definition differs from the store",
        f"{stray} is not in the store",
    ]
