"""How every message ended is known after a rebuild, however long ago that was."""

from dataclasses import replace
from pathlib import Path

import msgspec

from retinue.agents.inbox import Item
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.stores.folders.archive import export_to, import_from
from retinue.stores.folders.comparison import compare
from retinue.stores.folders.layout import move_fates
from retinue.stores.folders.mirror import Mirror
from retinue.stores.port import Receipt
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_samples import SampleRunner, chat, new_agent, post
from tests.unit.stores.home import Home

MANY = 30


async def talk(home: Home, count: int, agent_id: AgentId | None = None) -> list[Receipt]:
    """Messages that are answered, except every fifth, which fails; every third has a key.

    The mirror writes now and then, as it does when people take their time.
    """
    store = home.store
    receipts: list[Receipt] = []
    for number in range(count):
        to = agent_id or new_agent(chat("a"))
        key = f"key {number}" if number % 3 == 0 else None
        receipt = await store.admit(post(to, f"message {number}", key=key))
        agent_id = receipt.agent_id
        runner = await SampleRunner.claim(store, agent_id)
        if number % 5 == 4:
            await runner.decide(receipt.item.id, "failed", f"reason {number}")
        else:
            await runner.take_turn(receipt, f"answer {number}")
        receipts.append(receipt)
        if number % 6 == 5:
            await written(home)
    await written(home)
    return receipts


async def written(home: Home) -> None:
    await home.mirror.stop()
    home.mirror = Mirror(home.store)
    await home.mirror.start()


async def items_of(store: SqliteStore, receipts: list[Receipt]) -> list[Item]:
    return [(await store.item(LOCAL_OWNER, receipt.item.id))[0] for receipt in receipts]


def seen(item: Item) -> tuple[object, ...]:
    """What a sender can ask about; the text of what was never recorded is gone."""
    return (
        *(item.id, item.seq, item.kind, item.fate, item.reason, item.reply_seq),
        *(item.admitted_at, item.ended_at, item.silent),
    )


async def test_every_fate_is_known_after_a_rebuild(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    receipts = await talk(home, MANY)
    agent_id = receipts[0].agent_id
    before = await items_of(home.store, receipts)
    assert await compare(home.store, home.data) == []
    again = await home.again()
    after = await items_of(again.store, receipts)
    assert [seen(item) for item in after] == [seen(item) for item in before]
    assert after[0].body.text == "message 0"
    assert (await again.store.admit(post(agent_id, "message 0", key="key 0"))).is_repeat
    assert (await again.store.admit(post(agent_id, "next"))).item.seq == MANY + 1
    once_more = await again.again()
    assert [seen(item) for item in await items_of(once_more.store, receipts)] == [
        seen(item) for item in before
    ]
    await once_more.close()


async def test_fates_of_long_ago_are_written_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    receipts = await talk(home, MANY)
    folder = home.folder(receipts[0].agent_id)
    lines = (folder / "fates.jsonl").read_bytes().splitlines()
    assert len(lines) + len(home.state(receipts[0].agent_id)["ended"]) == MANY
    assert len(lines) > MANY / 2
    await home.close()


async def test_fates_are_spelled_as_the_store_has_them(tmp_path: Path) -> None:
    """Also moments of whole seconds, of which there are two spellings."""
    home = Home(tmp_path / "data")
    await home.open()
    (receipt,) = await talk(home, 1)
    reader = home.store.whole_reader()
    stored = reader.read(receipt.agent_id, after=0)
    reader.close()
    assert stored is not None
    (ended,) = msgspec.json.decode(stored.ended)
    many = [
        {**ended, "seq": seq, "endedAt": f"2026-01-01T00:00:{seq:02}.000000Z"}
        for seq in range(1, 10)
    ]
    _, lines = move_fates(
        replace(stored, ended=msgspec.json.encode(many), inbox=b"[]", last_item=9)
    )
    assert [msgspec.json.decode(line) for line in lines.splitlines()] == many
    await home.close()


async def test_a_message_that_waits_holds_back_the_fates_of_later_ones(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    waiting = await home.store.admit(post(new_agent(chat("a")), "may I?"))
    receipts = await talk(home, MANY, waiting.agent_id)
    assert not (home.folder(waiting.agent_id) / "fates.jsonl").exists()
    before = await items_of(home.store, receipts)
    again = await home.again()
    after = await items_of(again.store, receipts)
    assert [seen(item) for item in after] == [seen(item) for item in before]
    await (await SampleRunner.claim(again.store, waiting.agent_id)).take_turn(waiting)
    once_more = await again.again()
    (first,) = await items_of(once_more.store, [waiting])
    assert first.fate == "answered"
    assert (once_more.folder(waiting.agent_id) / "fates.jsonl").exists()
    await once_more.close()


async def test_fates_ahead_of_the_state_end_no_message_that_is_open_again(tmp_path: Path) -> None:
    """A kill between the two writes of a round, and then the database is lost as well."""
    home = Home(tmp_path / "data")
    await home.open()
    receipts = await talk(home, 5)
    agent_id = receipts[0].agent_id
    waiting = [await home.store.admit(post(agent_id, f"more {number}")) for number in range(5)]
    await home.mirror.stop()
    state = home.folder(agent_id) / "state.json"
    before = state.read_bytes()
    home.mirror = Mirror(home.store)
    await home.mirror.start()
    runner = await SampleRunner.claim(home.store, agent_id)
    for receipt in waiting:
        await runner.take_turn(receipt)
    await home.close()
    assert (home.folder(agent_id) / "fates.jsonl").exists()
    state.write_bytes(before)
    again = await home.again()
    assert [item.id for item in await again.store.open_items(LOCAL_OWNER, agent_id)] == [
        receipt.item.id for receipt in waiting
    ]
    runner = await SampleRunner.claim(again.store, agent_id)
    for receipt in waiting:
        await runner.decide(receipt.item.id, "cancelled", "reset")
    last = await again.again()
    assert {item.fate for item in await items_of(last.store, waiting)} == {"cancelled"}
    assert await compare(last.store, last.data) == []
    await last.close()


async def test_folders_of_the_version_before_are_written_anew(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    receipts = await talk(home, 9)
    agent_id = receipts[0].agent_id
    await home.close()
    (home.folder(agent_id) / "fates.jsonl").unlink()
    mirror = home.data / "mirror.json"
    mirror.write_bytes(mirror.read_bytes().replace(b'"v":2', b'"v":1'))
    reopened = Home(home.data)
    await reopened.open()
    again = await reopened.again()
    assert len(await items_of(again.store, receipts)) == 9
    await again.close()


async def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    receipts = await talk(home, 9)
    await home.close()
    fates = home.folder(receipts[0].agent_id) / "fates.jsonl"
    fates.write_bytes(b"rubbish\n" + fates.read_bytes())
    again = await home.again()
    assert again.report is not None
    assert "fates.jsonl cannot be read (line 1 is not a fate" in again.report.problems[0]
    await again.close()


async def test_an_archive_takes_every_fate_along(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    receipts = await talk(home, MANY)
    path = tmp_path / "agents.tar.gz"
    await export_to(path, home.store, home.data, [receipts[0].agent_id])
    before = [seen(item) for item in await items_of(home.store, receipts)]
    await home.close()
    other = Home(tmp_path / "other")
    await other.open()
    await import_from(path, other.store, other.data)
    assert [seen(item) for item in await items_of(other.store, receipts)] == before
    await other.close()
