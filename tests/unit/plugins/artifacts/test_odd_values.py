"""Names and values that people and models really give, and those that nobody should."""

from typing import Any

import pytest

from retinue.errors import ConflictError, UsageError
from retinue.stores.artifact_port import Put
from retinue.testing.store_artifact_contract import a_change, a_list
from tests.unit.plugins.artifacts.conftest import Caller


async def test_a_list_a_note_and_a_view_of_one_name_are_told_apart(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    note = await call("notes_create", title="Groceries", content="Where to buy.")
    view = await call("views_create", name="groceries", query="milk")
    assert (await call("notes_read", note="groceries"))["note"]["id"] == note["note"]["id"]
    assert (await call("views_get", view="Groceries"))["view"]["id"] == view["view"]["id"]
    written = await call("notes_write", note="groceries", content="At the corner.")
    assert written["note"]["id"] == note["note"]["id"]
    assert (await call("lists_get", list="groceries"))["list"]["name"] == "Groceries"


@pytest.mark.parametrize("name", ["Покупки", "買い物", "💥"])
async def test_a_list_may_have_a_name_in_any_script(call: Caller, name: str) -> None:
    made = await call("lists_create", name=name)
    await call("lists_item_add", list=name, title="?")
    assert (await call("lists_get", list=made["list"]["id"]))["list"]["items"] == 1
    await call("lists_item_add", list=f"{name} 2", title="?", create_list=True)
    assert len((await call("lists_list"))["lists"]) == 2


async def test_lists_whose_names_make_the_same_id_get_ids_of_their_own(call: Caller) -> None:
    names = ("A & B", "A B", "a: b")
    ids = [(await call("lists_create", name=name))["list"]["id"] for name in names]
    assert ids == ["a-b", "a-b-2", "a-b-3"]
    for name, list_id in zip(names, ids, strict=True):
        assert (await call("lists_get", list=name))["list"]["id"] == list_id


async def test_no_list_is_called_like_the_id_of_another(call: Caller) -> None:
    await call("lists_create", name="Groceries")
    await call("lists_update", list="groceries", name="Food")
    with pytest.raises(ConflictError, match="'Groceries' is the id of the list 'Food'"):
        await call("lists_create", name="Groceries")
    await call("lists_create", name="Drinks")
    with pytest.raises(ConflictError, match="is the id of the list 'Food'"):
        await call("lists_update", list="drinks", name="groceries")
    assert (await call("lists_update", list="food", name="Groceries"))["list"]["id"] == "groceries"


async def test_a_list_with_such_a_name_from_before_can_still_be_changed(call: Caller) -> None:
    for one in (a_list("groceries", "Food"), a_list("l2", "Groceries")):
        await call.store.artifacts.apply(a_change(Put(artifact=one)))
    changed = await call("lists_update", list="l2", description="The other one")
    assert changed["list"]["name"] == "Groceries"


FIELDS = [
    {"label": "Price", "type": "number"},
    {"label": "Memo", "type": "text"},
    {"label": "Seen", "type": "datetime"},
    {"label": "Due", "type": "date"},
]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("price", 10**400),
        ("price", float("nan")),
        ("price", [1]),
        ("memo", {"nested": True}),
        ("memo", ["a", "b"]),
        ("memo", True),
        ("seen", 5),
        ("due", {"year": 2026}),
        ("due", "2026-02-30"),
    ],
)
async def test_a_value_that_is_none_of_its_type_is_refused(
    call: Caller, key: str, value: Any
) -> None:
    await call("lists_create", name="Things", fields=FIELDS)
    with pytest.raises(UsageError, match=f"{key} must be"):
        await call("lists_item_add", list="things", title="x", fields={key: value})


async def test_days_and_moments_are_kept_in_one_way_however_they_are_written(call: Caller) -> None:
    await call("lists_create", name="Things", fields=FIELDS)
    for key, written, kept in (
        ("due", "2026-W47-1", "2026-11-16"),
        ("seen", "20261116T0930", "2026-11-16T09:30"),
        ("seen", "2026-11-16T09:30:00." + "0" * 5_000, "2026-11-16T09:30"),
        ("seen", "2026-11-16T09:30:05Z", "2026-11-16T09:30:05+00:00"),
        ("seen", "2026-11-16", "2026-11-16"),
        ("memo", 7, "7"),
    ):
        added = await call("lists_item_add", list="things", title="x", fields={key: written})
        assert added["item"]["fields"] == {key: kept}


async def test_moments_at_the_ends_of_the_calendar_break_no_query(call: Caller) -> None:
    await call("lists_create", name="Things", fields=FIELDS)
    for title, seen in (("last", "9999-12-31T23:59:00Z"), ("first", "0001-01-01T00:00Z")):
        await call("lists_item_add", list="things", title=title, fields={"seen": seen})
    await call("lists_item_add", list="things", title="now", fields={"seen": "2026-01-01T10:00Z"})
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        ask = Caller(call.store, zone)
        for query in ("seen <= 2026-11-20 ORDER BY seen", "due = 9999-12-31T23:59Z"):
            await ask("views_query", query=query)
        found = await ask("views_query", query="seen = today")
        assert [one["title"] for one in found["found"]] == ["now"]


async def test_values_from_before_a_field_changed_its_type_count_as_nothing(call: Caller) -> None:
    await call("lists_create", name="Things", fields=FIELDS)
    old = {"price": 5, "memo": "abc", "due": "2026-11-20"}
    await call("lists_item_add", list="things", title="old", fields=old)
    changed = [
        {"label": "Price", "type": "text"},
        {"label": "Memo", "type": "number"},
        {"label": "Due", "type": "checkbox"},
    ]
    await call("lists_update", list="things", fields=changed)
    new = {"price": "cheap", "memo": 1, "due": True}
    await call("lists_item_add", list="things", title="new", fields=new)
    for query, titles in (
        ("price : 5", []),
        ("price : cheap", ["new"]),
        ("price IN (cheap, dear)", ["new"]),
        ("memo > 0", ["new"]),
        ("due = true", ["new"]),
        ("price IS EMPTY", ["old"]),
        ("ORDER BY price", ["new", "old"]),
        ("ORDER BY due DESC", ["new", "old"]),
        ("ORDER BY memo", ["new", "old"]),
    ):
        found = (await call("views_query", query=query))["found"]
        assert [one["title"] for one in found] == titles, query


async def test_an_item_takes_along_only_the_values_that_its_new_list_can_have(call: Caller) -> None:
    await call("lists_create", name="Things", fields=FIELDS)
    numbers = [{"label": "Due", "type": "number"}, {"label": "Memo", "type": "text"}]
    await call("lists_create", name="Numbers", fields=numbers)
    given = {"due": "2026-11-20", "memo": "abc", "price": 2}
    await call("lists_item_add", list="things", title="x", fields=given)
    copied = await call("lists_item_copy", list="things", item="x", target_list="numbers")
    moved = await call("lists_item_move", list="things", item="x", target_list="numbers")
    assert copied["item"]["fields"] == moved["item"]["fields"] == {"memo": "abc"}


async def test_a_part_that_overlaps_itself_is_not_the_only_one(call: Caller) -> None:
    await call("notes_create", title="Song", content="lalala")
    with pytest.raises(UsageError, match="occurs 2 times"):
        await call("notes_edit", note="song", old="lala", new="li")


async def test_a_name_that_nobody_could_see_is_refused(call: Caller) -> None:
    for nothing in ("", " \n\t", "\u200b\u2060", "\u00ad"):
        with pytest.raises(UsageError, match="must not be empty"):
            await call("notes_create", title=nothing)
    made = await call(
        "notes_create", title="Family \U0001f468\u200d\U0001f469", tags=["\u200b", "a"]
    )
    assert made["note"]["tags"] == ["a"]
