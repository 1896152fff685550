"""Lists, notes and views survive the loss of the database, and travel with archives."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from retinue.agents.artifact import Artifact, ArtifactId, Note, View
from retinue.errors import ConflictError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.stores.artifact_port import Put, Removal, Search
from retinue.stores.folders.archive import export_to, import_from
from retinue.stores.folders.artifact_layout import file_of, owner_folder, owners_of
from retinue.stores.folders.comparison import compare
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_artifact_contract import (
    GROCERIES,
    a_change,
    a_list,
    a_note,
    add,
    an_item,
    order,
    put,
)
from retinue.testing.store_samples import START
from tests.unit.stores.home import Home
from tests.waiting import eventually

ODD = OwnerId("../web:ada@example.com")
TEXT = "---\nnot front matter\n---\n\r\n# Heading \u2028\n\ttabs: 'and' \"quotes\"\n\n"


async def everything(store: SqliteStore, owner: OwnerId = LOCAL_OWNER) -> list[Artifact]:
    kinds = ("list", "item", "note", "view")
    return [one.artifact for kind in kinds for one in await store.artifacts.all(owner, kind)]


async def filled(store: SqliteStore) -> None:
    await put(store.artifacts, a_list(name='Groceries: "all" of them'))
    await add(store.artifacts, "i1", "i2", "i3")
    await put(store.artifacts, a_note("n1", "Plan: yes # no", TEXT))
    view = View(id=ArtifactId("v1"), name="V", query="milk", created_at=START, updated_at=START)
    await put(store.artifacts, view)
    await put(store.artifacts, a_note("n1", "Theirs"), owner=ODD)


async def test_everything_comes_back_without_the_database(home: Home) -> None:
    await filled(home.store)
    call = a_change(Put(artifact=an_item("i4"), list_id=GROCERIES, position=0), key="a call")
    await home.store.artifacts.apply(call)
    before = await everything(home.store)
    store = (await home.again()).store
    assert home.report is not None and home.report.problems == []
    assert await everything(store) == before
    assert [one.id for one in await everything(store, ODD)] == ["n1"]
    assert await order(store.artifacts) == ["i4", "i1", "i2", "i3"]
    assert (await store.artifacts.apply(replace(call, id="another"))).is_repeat
    found = await store.artifacts.search(Search(owner=LOCAL_OWNER, words=["heading"]))
    assert [one.artifact.id for one in found] == ["n1"]
    last = await store.artifacts.last_undoable(LOCAL_OWNER, "lists")
    assert last is not None and last.key == "a call"
    await add(store.artifacts, "i5")
    store = (await home.again()).store
    assert await order(store.artifacts) == ["i4", "i1", "i2", "i3", "i5"]


async def test_files_follow_changes_and_removals_by_themselves(home: Home) -> None:
    await filled(home.store)
    folder = owner_folder(home.data, LOCAL_OWNER)
    note = folder / "notes" / "n1.md"
    await eventually(lambda: note.exists() and note.read_bytes().endswith(TEXT.encode()))
    await put(home.store.artifacts, a_note("n1", "Plan", "short"), version=1)
    await eventually(lambda: note.read_text().endswith("---\nshort"))
    await home.store.artifacts.apply(a_change(removals=[Removal(id=GROCERIES, version=1)]))
    await eventually(lambda: not (folder / "lists" / "groceries.json").exists())
    assert sorted(path.name for path in (home.data / "artifacts").iterdir() if path.is_dir()) == [
        "%2E%2E%2Fweb%3Aada%40example%2Ecom",
        "local",
    ]
    assert ODD in owners_of(home.data)


async def test_what_changed_while_nobody_followed_is_caught_up(home: Home) -> None:
    await filled(home.store)
    await home.close()
    store = SqliteStore(home.data)
    await store.open()
    await add(store.artifacts, "late")
    await store.close()
    store = await home.open()
    path = owner_folder(home.data, LOCAL_OWNER) / "lists" / "groceries.json"
    await eventually(lambda: b'"late"' in path.read_bytes())
    assert await compare(store, home.data) == []


async def test_doctor_tells_of_files_that_differ(home: Home) -> None:
    await filled(home.store)
    await home.mirror.stop()
    assert await compare(home.store, home.data) == []
    folder = owner_folder(home.data, LOCAL_OWNER)
    (folder / "notes" / "n1.md").write_text("no front matter")
    view = folder / "views" / "v1.json"
    view.write_bytes(view.read_bytes().replace(b"milk", b"oats"))
    told = "\n".join(await compare(home.store, home.data))
    assert "n1.md cannot be read" in told
    assert "v1 differs from the store" in told


async def test_a_damaged_file_costs_only_itself_and_is_kept(home: Home) -> None:
    await filled(home.store)
    await home.close()
    folder = owner_folder(home.data, LOCAL_OWNER)
    (folder / "lists" / "groceries.json").write_text("{")
    with (folder / "changes.jsonl").open("ab") as file:
        file.write(b'{"torn')
    await home.open()
    store = (await home.again()).store
    assert home.report is not None
    (problem,) = home.report.problems
    assert "groceries.json" in problem and "kept as" in problem
    assert [one.id for one in await everything(store)] == ["n1", "v1"]
    assert (folder / "lists" / "groceries.json.aside").read_text() == "{"


@pytest.mark.parametrize(
    "content",
    [
        "---\njust words\n---\ntext",
        "---\n- a\n- list\n---\ntext",
        "---\n---\ntext",
        "---\nkind: note\nid: n1\ntitle: x\nversion: [1]\n---\n",
        "---\nkind: note\nid: n1\ntitle: x\nversion: 99999999999999999999\n---\n",
        "---\nkind: note\nid: n1\ntitle: x\ncreatedAt: 2026-11-16T10:00:00\n"
        "updatedAt: 2026-11-16T10:00:00\n---\n",
        "---\n" + "{a: " * 3_000 + "\n---\n",
    ],
)
async def test_front_matter_that_somebody_broke_costs_only_its_note(
    home: Home, content: str
) -> None:
    await filled(home.store)
    await home.close()
    note = owner_folder(home.data, LOCAL_OWNER) / "notes" / "n1.md"
    note.write_text(content)
    await home.open()
    store = (await home.again()).store
    assert home.report is not None
    (problem,) = home.report.problems
    assert "n1.md cannot be read" in problem
    assert note.with_name("n1.md.aside").read_text() == content
    assert [one.id for one in await everything(store)] == ["groceries", "i1", "i2", "i3", "v1"]


async def test_a_note_that_was_edited_by_hand_comes_back_as_it_was_written(home: Home) -> None:
    await put(home.store.artifacts, a_note("n1", "Plan", "short"))
    await home.close()
    note = owner_folder(home.data, LOCAL_OWNER) / "notes" / "n1.md"
    note.write_text(note.read_text().replace("title: Plan", "title: 2026") + "\nand more")
    await home.open()
    store = (await home.again()).store
    (found,) = await everything(store)
    assert isinstance(found, Note)
    assert (found.title, found.content) == ("2026", "short\nand more")


async def test_of_two_files_that_claim_one_name_or_id_none_is_lost(home: Home) -> None:
    await filled(home.store)
    await put(home.store.artifacts, a_note("n2", "Other", "mine"))
    await home.close()
    folder = owner_folder(home.data, LOCAL_OWNER)
    note, groceries = folder / "notes" / "n2.md", folder / "lists" / "groceries.json"
    note.write_text(note.read_text().replace("title: Other", "title: 'plan: YES # no'"))
    copied = groceries.read_text().replace('"groceries"', '"later"').replace("Groceries", "Later")
    (folder / "lists" / "later.json").write_text(copied)
    await home.open()
    store = (await home.again()).store
    assert home.report is not None
    told = "\n".join(home.report.problems)
    assert "n2.md cannot be read (n1.md has the same id or name" in told
    assert "later.json cannot be read (groceries.json has the same id or name" in told
    assert "mine" in (folder / "notes" / "n2.md.aside").read_text()
    assert (folder / "lists" / "later.json.aside").read_text() == copied
    assert await order(store.artifacts) == ["i1", "i2", "i3"]


async def test_what_was_kept_aside_once_stays_when_it_happens_again(home: Home) -> None:
    folder = owner_folder(home.data, LOCAL_OWNER) / "notes"
    for content in ("first", "second"):
        await put(home.store.artifacts, a_note("n1", content))
        await home.close()
        (folder / "n1.md").write_text(content)
        await home.open()
        await home.again()
    assert (folder / "n1.md.aside").read_text() == "first"
    assert (folder / "n1.md.aside2").read_text() == "second"


async def test_a_change_that_says_nothing_is_left_out_of_the_log(home: Home) -> None:
    await filled(home.store)
    await home.close()
    log = owner_folder(home.data, LOCAL_OWNER) / "changes.jsonl"
    line = msgspec.json.decode(log.read_bytes().splitlines()[-1])
    empty: list[list[dict[str, Any]]] = [[], [{}]]
    for edits in empty:
        with log.open("ab") as file:
            file.write(msgspec.json.encode(line | {"id": f"h{len(edits)}", "edits": edits}) + b"\n")
    await home.open()
    store = (await home.again()).store
    assert home.report is not None and home.report.problems == []
    assert len(await everything(store)) == 6


async def test_an_archive_with_a_name_that_is_taken_is_refused_as_a_whole(
    home: Home, tmp_path: Path
) -> None:
    await filled(home.store)
    archive = tmp_path / "all.tar.gz"
    await export_to(archive, home.store, home.data, [])
    other = Home(tmp_path / "other")
    store = await other.open()
    try:
        await put(store.artifacts, a_note("mine", "Plan: yes # no", "another"))
        with pytest.raises(ConflictError, match="Plan: yes # no"):
            await import_from(archive, store, other.data, owner=None)
        assert [one.id for one in await everything(store)] == ["mine"]
    finally:
        await other.close()


async def test_items_of_an_archive_find_their_place_among_those_that_are_there(
    home: Home, tmp_path: Path
) -> None:
    await put(home.store.artifacts, a_list())
    await add(home.store.artifacts, "i1", "i2")
    archive = tmp_path / "all.tar.gz"
    await export_to(archive, home.store, home.data, [])
    other = Home(tmp_path / "other")
    store = await other.open()
    try:
        await put(store.artifacts, a_list())
        await add(store.artifacts, "mine", "too")
        await import_from(archive, store, other.data, owner=None)
        items = await store.artifacts.items(LOCAL_OWNER, GROCERIES)
        assert [one.position for one in items] == [0, 1, 2, 3]
        assert {one.artifact.id for one in items} == {"i1", "i2", "mine", "too"}
    finally:
        await other.close()


async def test_an_archive_carries_everything_to_another_owner(home: Home, tmp_path: Path) -> None:
    await filled(home.store)
    await home.store.artifacts.apply(a_change(removals=[Removal(id=ArtifactId("i2"), version=1)]))
    archive = tmp_path / "all.tar.gz"
    await export_to(archive, home.store, home.data, [])
    other = Home(tmp_path / "other")
    store = await other.open()
    try:
        await import_from(archive, store, other.data, owner=None)
        assert await everything(store) == await everything(home.store)
        assert await order(store.artifacts) == ["i1", "i3"]
        await import_from(archive, store, other.data, owner=None)
        await put(store.artifacts, a_note("n1", "Mine now"), version=1)
        with pytest.raises(ConflictError, match="n1"):
            await import_from(archive, store, other.data, owner=None)
    finally:
        await other.close()


async def test_a_long_log_is_cut_down(home: Home) -> None:
    await put(home.store.artifacts, a_note("n1", "One"))
    for start in range(1, 601, 100):
        changes = [
            a_change(Put(artifact=a_note("n1", f"{n}"), version=n))
            for n in range(start, start + 100)
        ]
        await asyncio.gather(*(home.store.artifacts.apply(change) for change in changes))
    await home.mirror.stop()
    lines = (owner_folder(home.data, LOCAL_OWNER) / "changes.jsonl").read_bytes().splitlines()
    assert 200 <= len(lines) <= 400
    newest = msgspec.json.decode(lines[-1])
    assert newest["edits"][0]["after"]["version"] == 601


def test_an_id_that_is_no_file_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="is not a valid file name"):
        file_of(tmp_path, "note", "../escape")
