"""The store contract for lists, notes and views; run it for every store."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from retinue.agents.artifact import Artifact, ArtifactId, ItemList, ListItem, Note, View
from retinue.errors import ConflictError, NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId, new_id
from retinue.stores.artifact_port import (
    CHANGES_KEPT,
    LARGEST_LIST,
    Area,
    ArtifactStore,
    Changed,
    KeptArtifacts,
    Narrowing,
    NewChange,
    Put,
    Removal,
    Search,
    StoredArtifact,
)
from retinue.stores.port import NOBODY, Store
from retinue.testing.store_samples import START, STRANGER, Heard

GROCERIES = ArtifactId("groceries")


def a_list(artifact_id: str = GROCERIES, name: str = "Groceries") -> ItemList:
    return ItemList(id=ArtifactId(artifact_id), name=name, created_at=START, updated_at=START)


def an_item(artifact_id: str, title: str = "", notes: str = "") -> ListItem:
    return ListItem(
        id=ArtifactId(artifact_id),
        title=title or artifact_id,
        notes=notes,
        created_at=START,
        updated_at=START,
    )


def a_note(artifact_id: str, title: str, content: str = "") -> Note:
    return Note(
        id=ArtifactId(artifact_id),
        title=title,
        content=content,
        created_at=START,
        updated_at=START,
    )


def a_change(
    *puts: Put,
    removals: Sequence[Removal] = (),
    owner: OwnerId = LOCAL_OWNER,
    key: str | None = None,
    action: str = "test",
    area: Area = "lists",
) -> NewChange:
    return NewChange(
        id=new_id("h"),
        owner=owner,
        at=START,
        area=area,
        action=action,
        key=key,
        puts=puts,
        removals=removals,
    )


async def put(
    store: ArtifactStore,
    artifact: Artifact,
    *,
    owner: OwnerId = LOCAL_OWNER,
    version: int = 0,
    list_id: ArtifactId | None = None,
    position: int | None = None,
) -> StoredArtifact:
    one = Put(artifact=artifact, version=version, list_id=list_id, position=position)
    changed = await store.apply(a_change(one, owner=owner))
    assert changed.change.main.after is not None
    return changed.change.main.after


async def add(store: ArtifactStore, *ids: str, list_id: ArtifactId = GROCERIES) -> None:
    for one in ids:
        await put(store, an_item(one), list_id=list_id)


async def order(store: ArtifactStore, list_id: ArtifactId = GROCERIES) -> list[str]:
    items = await store.items(LOCAL_OWNER, list_id)
    assert [one.position for one in items] == list(range(len(items)))
    return [one.artifact.id for one in items]


class ArtifactStoreContract:
    """Subclasses provide the fixture."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        raise NotImplementedError
        yield

    @pytest.fixture
    async def artifacts(self, store: Store) -> ArtifactStore:
        await put(store.artifacts, a_list())
        return store.artifacts

    async def test_an_artifact_is_its_owners_alone(self, artifacts: ArtifactStore) -> None:
        mine = await put(artifacts, a_note("n1", "Mine", "a secret"))
        assert await artifacts.get(LOCAL_OWNER, ArtifactId("n1")) == mine
        assert await artifacts.get(STRANGER, ArtifactId("n1")) is None
        assert await artifacts.named(STRANGER, "note", "mine") == []
        assert await artifacts.all(STRANGER, "note") == []
        assert await artifacts.items(STRANGER, GROCERIES) == []
        assert await artifacts.search(Search(owner=STRANGER, words=["secret"])) == []
        assert await artifacts.changes(STRANGER) == []
        with pytest.raises(ConflictError):
            await artifacts.apply(
                a_change(removals=[Removal(id=ArtifactId("n1"), version=1)], owner=STRANGER)
            )
        with pytest.raises(NotFoundError):
            await put(artifacts, an_item("i1"), owner=STRANGER, list_id=GROCERIES)
        theirs = await put(artifacts, a_note("n1", "Mine", "of another"), owner=STRANGER)
        assert await artifacts.get(LOCAL_OWNER, ArtifactId("n1")) == mine
        assert await artifacts.get(STRANGER, ArtifactId("n1")) == theirs

    async def test_a_change_needs_the_version_that_it_was_made_for(
        self, artifacts: ArtifactStore
    ) -> None:
        first = await put(artifacts, a_note("n1", "One"))
        second = await put(artifacts, a_note("n1", "Two"), version=first.version)
        assert (first.version, second.version) == (1, 2)
        for version in (0, 1, 3):
            with pytest.raises(ConflictError):
                await put(artifacts, a_note("n1", "Three"), version=version)
        assert await artifacts.get(LOCAL_OWNER, ArtifactId("n1")) == second

    async def test_of_many_who_change_one_thing_at_once_one_wins(
        self, artifacts: ArtifactStore
    ) -> None:
        await put(artifacts, a_note("n1", "One"))
        outcomes = await asyncio.gather(
            *(put(artifacts, a_note("n1", f"Mine {n}"), version=1) for n in range(20)),
            return_exceptions=True,
        )
        assert sum(isinstance(one, StoredArtifact) for one in outcomes) == 1
        assert sum(isinstance(one, ConflictError) for one in outcomes) == 19

    async def test_the_same_key_gives_the_first_change_again(
        self, artifacts: ArtifactStore
    ) -> None:
        def again() -> NewChange:
            new = an_item(new_id("i"), "Milk")
            return a_change(Put(artifact=new, list_id=GROCERIES), key="call-1")

        outcomes: list[Changed] = await asyncio.gather(
            *(artifacts.apply(again()) for _ in range(5))
        )
        outcomes.append(await artifacts.apply(again()))
        assert [one.is_repeat for one in outcomes].count(False) == 1
        assert len({one.change.id for one in outcomes}) == 1
        assert len(await artifacts.items(LOCAL_OWNER, GROCERIES)) == 1
        found = await artifacts.repeated(LOCAL_OWNER, "call-1")
        assert found is not None and found.id == outcomes[0].change.id
        assert await artifacts.repeated(STRANGER, "call-1") is None
        with pytest.raises(ConflictError):
            await artifacts.apply(replace(again(), action="another"))

    async def test_a_refused_change_changes_nothing(self, artifacts: ArtifactStore) -> None:
        good = Put(artifact=a_note("n1", "One"))
        for bad, error in (
            (Put(artifact=a_note("n2", "Two"), version=4), ConflictError),
            (Put(artifact=an_item("i1"), list_id=ArtifactId("nowhere")), NotFoundError),
            (Put(artifact=an_item("i1")), NotFoundError),
        ):
            with pytest.raises(error):
                await artifacts.apply(a_change(good, bad, key="again"))
        with pytest.raises(UsageError):
            await artifacts.apply(a_change())
        with pytest.raises(UsageError):
            await put(artifacts, a_note("n1", "half \ud800 a character"))
        assert await artifacts.all(LOCAL_OWNER, "note") == []
        assert len(await artifacts.changes(LOCAL_OWNER)) == 1

    async def test_names_are_unique_without_case_for_each_kind(
        self, artifacts: ArtifactStore
    ) -> None:
        note = await put(artifacts, a_note("n1", "Café"))
        with pytest.raises(ConflictError):
            await put(artifacts, a_note("n2", "CAFE"))
        await put(artifacts, a_list("cafe", "Café"))
        assert await artifacts.named(LOCAL_OWNER, "note", "cafÉ") == [note]
        await put(artifacts, a_note("n1", "Tea room"), version=1)
        await put(artifacts, a_note("n2", "Café"))

    async def test_positions_stay_dense_whatever_happens(self, artifacts: ArtifactStore) -> None:
        await add(artifacts, "a", "b", "c")
        await put(artifacts, an_item("first"), list_id=GROCERIES, position=0)
        await put(artifacts, an_item("far"), list_id=GROCERIES, position=99)
        assert await order(artifacts) == ["first", "a", "b", "c", "far"]
        await put(artifacts, an_item("far"), version=1, list_id=GROCERIES, position=1)
        await put(artifacts, an_item("a", "Renamed"), version=1, list_id=GROCERIES)
        assert await order(artifacts) == ["first", "far", "a", "b", "c"]
        await artifacts.apply(a_change(removals=[Removal(id=ArtifactId("far"), version=2)]))
        assert await order(artifacts) == ["first", "a", "b", "c"]

    async def test_positions_stay_dense_when_many_changes_share_a_transaction(
        self, artifacts: ArtifactStore
    ) -> None:
        random = Random(7)
        await put(artifacts, a_list("other", "Other"))
        ids = [f"i{number}" for number in range(30)]
        await add(artifacts, *ids[:15])
        versions = dict.fromkeys(ids[:15], 1)
        for _ in range(8):
            changes: list[NewChange] = []
            for one in random.sample(ids, 10):
                if one in versions and random.random() < 0.3:
                    removal = Removal(id=ArtifactId(one), version=versions.pop(one))
                    changes.append(a_change(removals=[removal]))
                    continue
                place = random.choice([GROCERIES, ArtifactId("other")])
                version = versions.get(one, 0)
                position = random.choice([None, 0, random.randrange(20)])
                new = Put(artifact=an_item(one), version=version, list_id=place, position=position)
                changes.append(a_change(new))
                versions[one] = version + 1
            applied = await asyncio.gather(*(artifacts.apply(one) for one in changes))
            last = applied[-1].change.main.after
            both = await order(artifacts) + await order(artifacts, ArtifactId("other"))
            assert sorted(both) == sorted(versions)
            if last is not None:
                assert await artifacts.get(LOCAL_OWNER, last.artifact.id) == last

    async def test_a_list_goes_with_its_items_and_comes_back_with_them(
        self, artifacts: ArtifactStore
    ) -> None:
        await add(artifacts, "a", "b")
        before = await artifacts.items(LOCAL_OWNER, GROCERIES)
        gone = await artifacts.apply(a_change(removals=[Removal(id=GROCERIES, version=1)]))
        assert [edit.one.artifact.id for edit in gone.change.edits] == ["groceries", "a", "b"]
        assert await artifacts.items(LOCAL_OWNER, GROCERIES) == []
        assert await artifacts.get(LOCAL_OWNER, ArtifactId("a")) is None
        back = [
            Put(
                artifact=edit.one.artifact,
                first=edit.one.version + 2,
                list_id=edit.one.list_id,
                position=edit.one.position,
            )
            for edit in gone.change.edits
        ]
        await artifacts.apply(replace(a_change(*back), undoes=gone.change.id, is_undo=True))
        after = await artifacts.items(LOCAL_OWNER, GROCERIES)
        assert [one.artifact for one in after] == [one.artifact for one in before]
        assert [one.version for one in after] == [3, 3]
        undone = await artifacts.change(LOCAL_OWNER, gone.change.id)
        assert undone is not None and undone.undone_by is not None

    async def test_a_full_list_refuses_more_and_says_how_many_there_may_be(
        self, artifacts: ArtifactStore
    ) -> None:
        puts = [
            Put(artifact=an_item(f"i{number}"), list_id=GROCERIES) for number in range(LARGEST_LIST)
        ]
        await artifacts.apply(a_change(*puts))
        with pytest.raises(UsageError, match=str(LARGEST_LIST)):
            await add(artifacts, "one-too-many")
        assert await artifacts.counts(LOCAL_OWNER) == {GROCERIES: LARGEST_LIST}

    async def test_words_are_found_as_parts_without_case_and_accents(
        self, artifacts: ArtifactStore
    ) -> None:
        await put(artifacts, an_item("i1", "Crème brûlée", "with 牛奶"), list_id=GROCERIES)
        await put(artifacts, a_note("n1", "Recipes", 'A creme that is easy. "Quotes" (too)'))
        await put(
            artifacts,
            View(id=ArtifactId("v1"), name="creme", query="", created_at=START, updated_at=START),
        )

        async def found(*words: str, list_id: ArtifactId | None = None) -> list[str]:
            search = Search(owner=LOCAL_OWNER, words=words, list_id=list_id)
            return [one.artifact.id for one in await artifacts.search(search)]

        assert await found("CREME") == ["i1", "n1"]  # titles first
        assert await found("rem", "asy") == ["n1"]
        assert await found("creme", "nowhere") == []
        assert await found("牛奶") == ["i1"]
        assert await found("creme", "牛") == ["i1"]
        assert await found('"quotes"') == ["n1"]
        assert await found("(too)") == ["n1"]
        assert await found("creme", list_id=GROCERIES) == ["i1"]

    async def test_the_search_follows_changes_and_removals(self, artifacts: ArtifactStore) -> None:
        async def found(word: str) -> list[str]:
            search = Search(owner=LOCAL_OWNER, words=[word])
            return [one.artifact.id for one in await artifacts.search(search)]

        await put(artifacts, a_note("n1", "Plan", "buy apples"))
        await put(artifacts, an_item("i1", "Apples"), list_id=GROCERIES)
        await put(artifacts, a_note("n1", "Plan", "buy pears"), version=1)
        assert await found("apples") == ["i1"]
        assert await found("pears") == ["n1"]
        await artifacts.apply(a_change(removals=[Removal(id=GROCERIES, version=1)]))
        assert await found("apples") == []

    async def test_the_history_is_the_newest_first_and_by_what_it_is_about(
        self, artifacts: ArtifactStore
    ) -> None:
        await add(artifacts, "a", "b")
        await artifacts.apply(a_change(Put(artifact=a_note("n1", "One")), area="notes"))
        history = await artifacts.changes(LOCAL_OWNER)
        names = [change.main.one.artifact.id for change in history]
        assert names == ["n1", "b", "a", "groceries"]
        page = await artifacts.changes(LOCAL_OWNER, before=history[1].number, limit=1)
        assert page == [history[2]]
        assert len(await artifacts.changes(LOCAL_OWNER, area="lists")) == 3
        assert len(await artifacts.changes(LOCAL_OWNER, about=GROCERIES)) == 3
        assert len(await artifacts.changes(LOCAL_OWNER, about=ArtifactId("a"))) == 1
        last = await artifacts.last_undoable(LOCAL_OWNER, "lists")
        assert last is not None and last.main.one.artifact.id == "b"

    async def test_names_and_pages_come_in_order_without_the_rest(
        self, artifacts: ArtifactStore
    ) -> None:
        for number in (3, 1, 2):
            await put(artifacts, a_note(f"n{number}", f"Née {number}", "long"))
        await put(artifacts, a_note("theirs", "Theirs"), owner=STRANGER)
        assert await artifacts.names(LOCAL_OWNER, "note") == {
            "n1": "Née 1",
            "n2": "Née 2",
            "n3": "Née 3",
        }
        assert [*await artifacts.names(LOCAL_OWNER, "note", limit=2)] == ["n1", "n2"]
        assert await artifacts.names(LOCAL_OWNER, "list") == {GROCERIES: "Groceries"}
        part, total = await artifacts.page(LOCAL_OWNER, "note", limit=2, offset=1)
        assert ([one.artifact.id for one in part], total) == (["n2", "n3"], 3)
        assert await artifacts.page(LOCAL_OWNER, "note", limit=2, offset=10**30) == ([], 3)

    async def test_narrowing_leaves_out_what_cannot_be_meant_and_nothing_else(
        self, artifacts: ArtifactStore
    ) -> None:
        await put(artifacts, a_list("later", "Later"))
        await put(artifacts, an_item("a", "Oat milk", "cold"), list_id=GROCERIES)
        await put(artifacts, an_item("b", "Tea", 'with "milk"'), list_id=ArtifactId("later"))
        await put(artifacts, a_note("n", "Crème", "no milk in it"))
        await put(artifacts, a_note("theirs", "Milk"), owner=STRANGER)

        async def found(**to: Any) -> list[str]:
            narrowed = await artifacts.narrowed(LOCAL_OWNER, Narrowing(**to))
            return [one.artifact.id for one in narrowed]

        assert await found() == ["a", "b", "n"]
        assert await found(lists=[GROCERIES], notes=False) == ["a"]
        assert await found(lists=[], notes=False) == []
        assert await found(items=False) == ["n"]
        for words, expected in (
            ([["milk"]], {"a", "b", "n"}),
            ([["milk"], ["cold", "creme"]], {"a", "n"}),
            ([['"milk"']], {"b"}),
            ([["te"]], {"b"}),
        ):
            assert expected <= {*await found(words=words)} <= {"a", "b", "n"}

    async def test_an_item_is_found_by_its_title_in_any_list(
        self, artifacts: ArtifactStore
    ) -> None:
        await put(artifacts, a_list("later", "Later"))
        for artifact_id, list_id in (("a", GROCERIES), ("b", ArtifactId("later"))):
            await put(artifacts, an_item(artifact_id, "Tea"), list_id=list_id)
        await put(artifacts, a_list(), owner=STRANGER)
        await put(artifacts, an_item("c", "Tea"), list_id=GROCERIES, owner=STRANGER)
        named = await artifacts.named(LOCAL_OWNER, "item", "TEA")
        assert [one.artifact.id for one in named] == ["a", "b"]

    async def test_a_list_that_grew_is_not_removed_with_what_nobody_saw(
        self, artifacts: ArtifactStore
    ) -> None:
        await add(artifacts, "a", "b")
        removal = Removal(id=GROCERIES, version=1, items=1)
        with pytest.raises(ConflictError, match="changed meanwhile"):
            await artifacts.apply(a_change(removals=[removal]))
        assert await order(artifacts) == ["a", "b"]
        await artifacts.apply(a_change(removals=[replace(removal, items=2)]))
        assert await artifacts.all(LOCAL_OWNER, "item") == []

    async def test_old_changes_are_forgotten(self, artifacts: ArtifactStore) -> None:
        version = (await put(artifacts, a_note("n1", "One"))).version
        changes = [
            a_change(Put(artifact=a_note("n1", f"{number}"), version=version + number))
            for number in range(CHANGES_KEPT + 10)
        ]
        await asyncio.gather(*(artifacts.apply(change) for change in changes))
        assert len(await artifacts.changes(LOCAL_OWNER, limit=CHANGES_KEPT * 2)) == CHANGES_KEPT

    async def test_the_feed_tells_of_changes_live_and_replayed_alike(self, store: Store) -> None:
        cursor = await store.cursor()
        heard = Heard(store)
        await put(store.artifacts, a_list())
        by = AgentId("the-agent")
        new = Put(artifact=an_item("a"), list_id=GROCERIES)
        await store.artifacts.apply(replace(a_change(new), by=by))
        await store.artifacts.apply(a_change(removals=[Removal(id=GROCERIES, version=1)]))
        repeat = a_change(Put(artifact=a_note("n", "N")), key="k")
        await store.artifacts.apply(repeat)
        await store.artifacts.apply(repeat)
        told = [(n.kind, n.id, n.action, n.by) for c in heard.changes for n in c.artifacts]
        assert told == [
            ("list", "groceries", "created", None),
            ("item", "a", "created", by),
            ("list", "groceries", "removed", None),
            ("note", "n", "created", None),
        ]
        assert {change.agent_id for change in heard.changes} == {NOBODY}
        replayed = await store.changes(LOCAL_OWNER, after=cursor, agent_id=None, limit=50)
        assert replayed == heard.changes
        assert await store.changes(STRANGER, after=cursor, agent_id=None, limit=50) == []

    async def test_what_is_put_back_leaves_what_is_there(self, artifacts: ArtifactStore) -> None:
        await add(artifacts, "a")
        stored = [
            StoredArtifact(artifact=a_list(name="Old"), version=9),
            StoredArtifact(artifact=a_note("n1", "Kept"), version=4),
        ]
        gone = a_change(Put(artifact=a_note("n1", "Kept")), key="old call")
        applied = await artifacts.apply(replace(gone, owner=STRANGER))
        changes = [replace(applied.change, owner=LOCAL_OWNER, number=500)]
        kept = KeptArtifacts(owner=LOCAL_OWNER, artifacts=stored, changes=changes)
        await artifacts.restore(kept)
        await artifacts.restore(kept)
        (groceries,) = await artifacts.all(LOCAL_OWNER, "list")
        assert groceries.artifact == a_list()
        assert [one.version for one in await artifacts.all(LOCAL_OWNER, "note")] == [4]
        assert await artifacts.repeated(LOCAL_OWNER, "old call") == changes[0]
        found = await artifacts.search(Search(owner=LOCAL_OWNER, words=["kept"]))
        assert [one.artifact.id for one in found] == ["n1"]
