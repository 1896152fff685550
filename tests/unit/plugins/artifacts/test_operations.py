"""The operations of lists, notes and views, over the real store."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import pytest

from retinue.agents.artifact import ArtifactId
from retinue.errors import ArgumentsError, ConflictError, NotFoundError, UsageError
from retinue.ids import AgentId, OwnerId
from retinue.plugins.artifacts.query.syntax import QueryError
from retinue.stores.artifact_port import Narrowing, Put, StoredArtifact
from retinue.testing.store_artifact_contract import a_change, an_item
from tests.unit.plugins.artifacts.conftest import Caller

STRANGER = OwnerId("stranger")


async def titles(call: Caller, query: str = "", name: str = "groceries") -> list[str]:
    answer = await call("lists_items_list", list=name, query=query)
    return [item["title"] for item in answer["items"]]


async def test_a_list_is_made_filled_and_looked_through(call: Caller) -> None:
    await call("lists_create", name="Groceries", default_tags=["Shop "], description="For home")
    milk = await call(
        "lists_item_add", list="groceries", title=" Oat\nmilk ", tags=["COLD", "cold"]
    )
    assert milk["item"]["title"] == "Oat milk"
    assert milk["item"]["tags"] == ["shop", "cold"]
    await call("lists_item_add", list="GROCERIES", title="Eggs", position=0)
    assert await titles(call) == ["Eggs", "Oat milk"]
    await call("lists_item_update", list="groceries", item="eggs", completed=True, notes="six")
    assert await titles(call) == ["Oat milk", "Eggs"]
    assert await titles(call, "completed = false") == ["Oat milk"]
    (listed,) = (await call("lists_list"))["lists"]
    assert (listed["id"], listed["items"]) == ("groceries", 2)
    found = await call("lists_items_search", query="SIX")
    assert [one["title"] for one in found["items"]] == ["Eggs"]


async def test_fields_of_a_list_have_types_and_are_merged(call: Caller) -> None:
    fields = [
        {"label": "Due on", "type": "date"},
        {"label": "Price", "type": "number"},
        {"label": "Shop", "type": "select", "options": ["Corner", "Market"]},
    ]
    await call("lists_create", name="Groceries", fields=fields)
    given = {"due_on": "2026-11-20", "Price": 2, "shop": "market"}
    added = await call("lists_item_add", list="groceries", title="Milk", fields=given)
    assert added["item"]["fields"] == {"due_on": "2026-11-20", "price": 2.0, "shop": "Market"}
    updated = await call(
        "lists_item_update", list="groceries", item="milk", fields={"price": None, "shop": "corner"}
    )
    assert updated["item"]["fields"] == {"due_on": "2026-11-20", "shop": "Corner"}
    for bad, said in (
        ({"price": "cheap"}, "price must be a number"),
        ({"price": True}, "price must be a number"),
        ({"due_on": "soon"}, "due_on must be a date"),
        ({"shop": "moon"}, "one of Corner, Market"),
        ({"colour": "red"}, "due_on, price, shop"),
    ):
        with pytest.raises(UsageError, match=said):
            await call("lists_item_update", list="groceries", item="milk", fields=bad)


async def test_items_move_copy_and_go(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    await call("lists_create", name="Later")
    for title in ("a", "b", "c"):
        await call("lists_item_add", list="groceries", title=title)
    await call("lists_item_move", list="groceries", item="a")
    assert await titles(call) == ["b", "c", "a"]
    await call("lists_item_move", list="groceries", item="c", target_list="later", position=0)
    await call("lists_item_copy", list="groceries", item="b", target_list="later")
    await call("lists_item_remove", list="groceries", item="a")
    assert await titles(call) == ["b"]
    assert await titles(call, name="later") == ["c", "b"]
    tagged = await call("lists_item_tag", list="later", item="c", add=["x", "y"], remove=["z"])
    assert tagged["item"]["tags"] == ["x", "y"]


async def test_a_title_that_two_items_have_needs_an_id(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    first = await call("lists_item_add", list="groceries", title="Milk")
    await call("lists_item_add", list="groceries", title="milk")
    with pytest.raises(UsageError, match=first["item"]["id"]):
        await call("lists_item_remove", list="groceries", item="MILK")
    await call("lists_item_remove", list="groceries", item=first["item"]["id"])
    assert await titles(call) == ["milk"]


async def test_what_is_not_there_is_told_with_what_is(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    with pytest.raises(NotFoundError, match="existing lists: Groceries"):
        await call("lists_item_add", list="grocery", title="Milk")
    made = await call("lists_item_add", list="Books to read", title="Emma", create_list=True)
    assert made["item"]["list"] == "books-to-read"
    assert await titles(call, name="Books to read") == ["Emma"]


async def test_nobody_reaches_what_another_owner_has(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    item = (await call("lists_item_add", list="groceries", title="Secret"))["item"]
    note = (await call("notes_create", title="Diary", content="secret"))["note"]
    change = (await call("notes_append", note="diary", content="more"))["change"]
    cases: list[tuple[str, dict[str, Any]]] = [
        ("lists_get", {"list": "groceries"}),
        ("lists_items_list", {"list": "groceries"}),
        ("lists_item_add", {"list": "groceries", "title": "x"}),
        ("lists_item_get", {"list": "groceries", "item": item["id"]}),
        ("lists_delete", {"list": "groceries"}),
        ("lists_undo", {}),
        ("notes_read", {"note": note["id"]}),
        ("notes_edit", {"note": "Diary", "old": "secret", "new": ""}),
        ("notes_undo", {"change": change}),
    ]
    for name, arguments in cases:
        with pytest.raises(NotFoundError):
            await call(name, owner=STRANGER, **arguments)
    assert (await call("notes_search", owner=STRANGER, query="secret"))["notes"] == []
    assert (await call("views_query", owner=STRANGER, query="secret"))["found"] == []
    assert (await call("lists_history", owner=STRANGER))["changes"] == []
    # An item cannot be moved into another owner's list either.
    await call("lists_create", owner=STRANGER, name="Trap")
    with pytest.raises(NotFoundError):
        await call("lists_item_move", list="groceries", item="secret", target_list="trap")


async def test_a_note_is_written_appended_to_and_edited(call: Caller) -> None:
    note = (await call("notes_create", title="Plan", content="One\nTwo", tags=["Home"]))["note"]
    await call("notes_append", note="PLAN", content="Three")
    await call("notes_edit", note=note["id"], old="Two", new="2")
    read = (await call("notes_read", note="plan"))["note"]
    assert read["content"] == "One\n2\nThree"
    for old, times in (("e", 3), ("never", 0), ("", 0)):
        with pytest.raises(UsageError, match=f"occurs {times} times"):
            await call("notes_edit", note="plan", old=old, new="x")
    await call("notes_update", note="plan", title="The plan", add_tags=["b"], remove_tags=["home"])
    (brief,) = (await call("notes_list", tags=["b"]))["notes"]
    assert brief["title"] == "The plan" and "content" not in brief
    written = await call("notes_write", note="The Plan", content="new")
    assert (written["note"]["id"], written["note"]["tags"]) == (note["id"], ["b"])
    assert (await call("notes_write", note="Another", content="x"))["note"]["id"] != note["id"]
    with pytest.raises(ConflictError, match="already"):
        await call("notes_create", title="the PLAN")
    found = (await call("notes_search", query="new"))["notes"]
    assert found[0]["found"] == "new"


async def test_views_keep_queries_that_can_be_answered(call: Caller) -> None:
    await call("lists_create", name="Groceries", fields=[{"label": "Due", "type": "date"}])
    await call("lists_item_add", list="groceries", title="Milk", fields={"due": "2026-01-01"})
    await call("lists_item_add", list="groceries", title="Eggs", fields={"due": "2026-01-09"})
    await call("notes_create", title="Milk prices", content="up")
    made = await call("views_create", name="Soon", query="due <= today")
    assert made["view"]["query"] == "due <= today"
    answer = await call("views_run", view="soon")
    assert [one["title"] for one in answer["found"]] == ["Milk"]
    call.clock.advance(9 * 86_400)
    assert (await call("views_run", view="soon"))["total"] == 2
    everywhere = await call("views_query", query="milk SHOW title")
    assert [one["kind"] for one in everywhere["found"]] == ["item", "note"]
    with pytest.raises(QueryError) as caught:
        await call("views_update", view="soon", query="due <= sometime")
    assert caught.value.position == 7


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lists_create", {"name": "   "}),
        ("lists_create", {"name": "x" * 301}),
        ("lists_create", {"name": "a", "fields": [{"label": "title"}]}),
        ("lists_create", {"name": "a", "fields": [{"label": "b"}, {"label": "B"}]}),
        ("lists_create", {"name": "a", "fields": [{"label": "b", "type": "select"}]}),
        ("lists_item_add", {"list": "groceries", "title": ""}),
        ("lists_item_add", {"list": "groceries", "title": "x", "url": "javascript:alert(1)"}),
        ("lists_item_add", {"list": "groceries", "title": "x", "notes": "x" * 10_001}),
        ("lists_item_add", {"list": "groceries", "title": "x", "tags": ["t" * 51]}),
        ("lists_items_list", {"list": "groceries", "limit": 0}),
        ("lists_items_list", {"list": "groceries", "limit": 9999}),
        ("notes_create", {"title": "x", "content": "x" * 100_001}),
        ("notes_create", {"title": "x", "colour": "red"}),
        ("views_create", {"name": "x", "query": "("}),
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    call: Caller, name: str, arguments: dict[str, Any]
) -> None:
    await call("lists_create", name="Groceries")
    with pytest.raises((UsageError, ArgumentsError)):
        await call(name, **arguments)
    assert len((await call("lists_history"))["changes"]) == 1


@pytest.mark.parametrize(
    "title",
    [
        "<script>alert(1)</script>",
        "'; DROP TABLE artifacts; --",
        "../../etc/passwd",
        "\u202eevil\u0000\ud800",
        '" OR 1=1',
        "%s {0} ${x}",
    ],
)
async def test_a_hostile_title_is_only_a_title(call: Caller, title: str) -> None:
    await call("lists_item_add", list="groceries", title=title, create_list=True)
    await call("notes_create", title=title, content=title)
    (there,) = await titles(call)
    assert (await call("lists_item_get", list="groceries", item=there))["item"]["title"] == there
    assert (await call("notes_read", note=there))["note"]["title"] == there
    assert (await call("notes_search", query=there))["notes"]
    await call("lists_item_remove", list="groceries", item=there)
    assert await titles(call) == []


async def test_a_call_that_is_tried_again_takes_effect_once(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    await call("notes_create", title="Log", content="one")
    cases: list[tuple[str, dict[str, Any]]] = [
        ("lists_item_add", {"list": "groceries", "title": "Milk"}),
        ("lists_item_move", {"list": "groceries", "item": "Milk"}),
        ("notes_append", {"note": "log", "content": "two"}),
        ("notes_edit", {"note": "log", "old": "two", "new": "three"}),
        ("notes_undo", {}),
        ("lists_item_remove", {"list": "groceries", "item": "Milk"}),
        ("lists_delete", {"list": "groceries"}),
    ]
    for name, arguments in cases:
        first = await call(name, key=f"call of {name}", **arguments)
        again = await call(name, key=f"call of {name}", **arguments)
        assert again == first, name
    assert (await call("notes_read", note="log"))["note"]["content"] == "one\ntwo"


async def test_many_who_add_at_once_all_get_a_place(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    await call("notes_create", title="Log")
    await asyncio.gather(
        *(call("lists_item_add", list="groceries", title=f"{n}") for n in range(30)),
        *(call("notes_append", note="log", content=f"{n}") for n in range(4)),
    )
    answer = await call("lists_items_list", list="groceries", limit=100)
    assert [item["position"] for item in answer["items"]] == list(range(30))
    lines = (await call("notes_read", note="log"))["note"]["content"].splitlines()
    assert sorted(lines) == ["0", "1", "2", "3"]


async def test_undo_goes_back_step_by_step_and_can_be_undone(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    for title in ("a", "b", "c"):
        await call("lists_item_add", list="groceries", title=title)
    await call("lists_item_move", list="groceries", item="c", position=0)
    await call("lists_item_remove", list="groceries", item="a")
    await call("lists_undo")
    assert await titles(call) == ["c", "a", "b"]
    await call("lists_undo")
    assert await titles(call) == ["a", "b", "c"]
    undone = await call("lists_undo")
    assert await titles(call) == ["a", "b"]
    await call("lists_undo", change=undone["change"])
    assert await titles(call) == ["a", "b", "c"]
    gone = await call("lists_delete", list="groceries")
    assert gone["also"] == 3
    await call("lists_undo", change=gone["change"])
    assert await titles(call) == ["a", "b", "c"]


async def test_undo_is_refused_when_the_thing_changed_since(call: Caller) -> None:
    made = await call("notes_create", title="Log", content="one")
    edit = await call("notes_edit", note="log", old="one", new="two")
    await call("notes_append", note="log", content="three")
    for change in (made, edit):
        with pytest.raises(ConflictError, match="cannot undo: 'Log' was changed since"):
            await call("notes_undo", change=change["change"])
    assert (await call("notes_read", note="log"))["note"]["content"] == "two\nthree"
    created = await call("lists_create", name="Groceries")
    await call("lists_item_add", list="groceries", title="Milk")
    with pytest.raises(ConflictError, match="was changed since"):
        await call("lists_undo", change=created["change"])
    removed = await call("lists_delete", list="groceries")
    await call("lists_create", name="Groceries")
    with pytest.raises(ConflictError, match="cannot undo"):
        await call("lists_undo", change=removed["change"])
    with pytest.raises(NotFoundError, match="nothing to undo"):
        await call("views_undo")


async def test_the_history_says_who_did_what(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    await call("lists_item_add", list="groceries", title="Milk", agent=AgentId("helper"))
    await call("lists_undo")
    changes = (await call("lists_history", list="groceries"))["changes"]
    assert [(one["action"], one["by"]) for one in changes] == [
        ("lists_undo", "you"),
        ("lists_item_add", "helper"),
        ("lists_create", "you"),
    ]
    assert changes[1]["undoneBy"] == changes[0]["change"]


async def test_the_history_says_which_fields_were_changed(call: Caller) -> None:
    await call("lists_item_add", list="groceries", title="Milk", create_list=True)
    await call("lists_item_update", list="groceries", item="milk", title="Oat milk", completed=True)
    update, add = (await call("lists_history", list="groceries"))["changes"]
    assert update["fields"] == [
        {"field": "title", "before": "Milk", "after": "Oat milk"},
        {"field": "completed", "before": False, "after": True},
    ]
    assert "fields" not in add
    await call("notes_create", title="Plan", content="One")
    await call("notes_append", note="plan", content="x" * 10_000)
    (written, _) = (await call("notes_history"))["changes"]
    assert written["fields"] == [{"field": "characters", "before": 3, "after": 10_004}]


async def test_ten_thousand_items_are_no_trouble(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    items = [an_item(f"i{n}", f"Item {n}", "more of it") for n in range(10_000)]
    puts = [Put(artifact=item, list_id=ArtifactId("groceries")) for item in items]
    await call.store.artifacts.apply(a_change(*puts))
    began = time.monotonic()
    answer = await call("lists_items_list", list="groceries", query="item 9999")
    assert answer["total"] == 1
    page = await call("lists_items_list", list="groceries", limit=10, offset=5000)
    assert page["total"] == 10_000 and page["more"].startswith("4990 more")
    assert len((await call("lists_items_search", query="Item 777"))["items"]) == 19
    await call("lists_item_move", list="groceries", item="Item 9999", position=0)
    await call("lists_delete", list="groceries")
    await call("lists_undo")
    assert (await call("lists_get", list="groceries"))["list"]["items"] == 10_000
    assert time.monotonic() - began < 30  # a few seconds; a busy machine is given more


async def test_a_view_reads_what_it_needs_and_finds_all_of_it(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await call("lists_create", name="Groceries")
    await call("lists_create", name="Reading")
    for name, title, tags in (
        ("groceries", "Crème brûlée", ["Süß"]),
        ("groceries", 'Milk "fresh"', ["cold"]),
        ("reading", "Milk and honey", []),
        ("reading", "Ox", ["cold"]),
    ):
        await call("lists_item_add", list=name, title=title, tags=tags)
    await call("notes_create", title="Dairy", content="Milk, CREME, and more of it.")
    await call("lists_create", owner=STRANGER, name="Groceries")
    await call("lists_item_add", owner=STRANGER, list="groceries", title="Milk of theirs")
    read: list[int] = []
    narrowed = call.store.artifacts.narrowed

    async def counted(owner: OwnerId, to: Narrowing) -> Sequence[StoredArtifact]:
        found = await narrowed(owner, to)
        read.append(len(found))
        return found

    monkeypatch.setattr(call.store.artifacts, "narrowed", counted)
    for query, titles, most in (
        ("milk", ['Milk "fresh"', "Milk and honey", "Dairy"], 3),
        ("creme", ["Crème brûlée", "Dairy"], 2),
        ("tag = süss", ["Crème brûlée"], 1),
        ("'k \"fresh\"'", ['Milk "fresh"'], 1),
        ("ox", ["Ox"], 5),
        ("honey OR brulee", ["Crème brûlée", "Milk and honey"], 2),
        ("list = Reading", ["Milk and honey", "Ox"], 2),
        ("list = reading milk", ["Milk and honey"], 1),
        ("list IN (reading, nowhere) AND tag = cold", ["Ox"], 2),
        ("kind = note", ["Dairy"], 1),
        ("list = nowhere", [], 0),
        ("NOT milk ORDER BY title", ["Crème brûlée", "Ox"], 5),
    ):
        found = (await call("views_query", query=query))["found"]
        assert [one["title"] for one in found] == titles, query
        assert read[-1] <= most, query
