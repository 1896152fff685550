"""Queries: how they are read and written, what they find, and what their errors say."""

from datetime import UTC, date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from retinue.agents.artifact import ArtifactId, CustomField, ItemList, ListItem, Note, folded
from retinue.plugins.artifacts.query.date_values import Present, day
from retinue.plugins.artifacts.query.evaluation import prepared
from retinue.plugins.artifacts.query.fields import Fields, Row
from retinue.plugins.artifacts.query.parser import LONGEST, parse
from retinue.plugins.artifacts.query.prefilter import narrowing_of
from retinue.plugins.artifacts.query.syntax import (
    And,
    Comparison,
    Condition,
    Emptiness,
    Not,
    Operator,
    Or,
    Order,
    Query,
    QueryError,
    Word,
    joined,
)
from retinue.stores.artifact_port import Narrowing

MONDAY = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
PRESENT = Present(MONDAY, ZoneInfo("UTC"))
BERLIN_NIGHT = Present(datetime(2026, 11, 16, 23, 30, tzinfo=UTC), ZoneInfo("Europe/Berlin"))
GROCERIES = ItemList(
    id=ArtifactId("groceries"),
    name="Groceries",
    created_at=MONDAY,
    updated_at=MONDAY,
    fields=(
        CustomField(key="price", label="Price in €", type="number"),
        CustomField(key="due", label="Due on", type="date"),
        CustomField(key="at", label="At", type="time"),
        CustomField(key="shop", label="Shop", type="select", options=("corner", "market")),
        CustomField(key="brand", label="Brand", type="text"),
        CustomField(key="organic", label="Organic", type="checkbox"),
        CustomField(key="seen", label="Seen", type="datetime"),
    ),
)
FIELDS = Fields([GROCERIES])


def item(title: str, **changes: Any) -> Row:
    one = ListItem(id=ArtifactId(title), title=title, created_at=MONDAY, updated_at=MONDAY)
    return Row(of=structs.replace(one, **changes), list=GROCERIES, position=0)


def found(query: str, *rows: Row, present: Present = PRESENT) -> list[str]:
    return [row.of.title for row in prepared(parse(query), FIELDS, present).answer(rows)]


MILK = item(
    "Oat milk", tags=("dairy", "cold"), notes="the one in the blue box", custom={"price": 2.5}
)
EGGS = item("Eggs", custom={"due": "2026-11-18", "shop": "market", "organic": True})
SALT = item("Salt", completed_at=MONDAY, url="https://example.com/salt")
ALL = (MILK, EGGS, SALT)


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("", ["Oat milk", "Eggs", "Salt"]),
        ("milk", ["Oat milk"]),
        ("MILK blue", ["Oat milk"]),
        ('"blue box"', ["Oat milk"]),
        ("milk OR salt", ["Oat milk", "Salt"]),
        ("NOT milk", ["Eggs", "Salt"]),
        ("text !: milk", ["Eggs", "Salt"]),
        ("tag = DAIRY", ["Oat milk"]),
        ("tag : air", ["Oat milk"]),
        ("tags != dairy", ["Eggs", "Salt"]),
        ("tag IN (cold, warm)", ["Oat milk"]),
        ("title ~ oat", ["Oat milk"]),
        ("title !~ oat", ["Eggs", "Salt"]),
        ("url : example.com/salt", ["Salt"]),
        ("url IS NOT EMPTY", ["Salt"]),
        ("url is empty", ["Oat milk", "Eggs"]),
        ("price > 2 and price <= 2.5", ["Oat milk"]),
        ("price != 9", ["Oat milk", "Eggs", "Salt"]),
        ('"Price in €" = 2.5', ["Oat milk"]),
        ("due <= +2d", ["Eggs"]),
        ("due = wednesday", ["Eggs"]),
        ("due < today", []),
        ("shop = Market", ["Eggs"]),
        ("organic = true", ["Eggs"]),
        ("completed = true", ["Salt"]),
        ("added = today", ["Oat milk", "Eggs", "Salt"]),
        ("added < now", []),
        ("list = Groceries AND kind = item ORDER BY title", ["Eggs", "Oat milk", "Salt"]),
        ("ORDER BY title DESC", ["Oat milk", "Eggs", "Salt"]),
        ("ORDER BY price", ["Oat milk", "Eggs", "Salt"]),
        ("milk OR eggs AND price > 1", ["Oat milk"]),
        ("(milk OR eggs) AND NOT (price > 1)", ["Eggs"]),
    ],
)
def test_a_query_finds_what_it_says(query: str, titles: list[str]) -> None:
    assert found(query, *ALL) == titles


def test_completed_items_are_last_whatever_the_order_is() -> None:
    assert found("ORDER BY title", SALT, item("Zebra"), item("Apple")) == ["Apple", "Zebra", "Salt"]


def test_words_look_past_case_accents_and_width() -> None:
    assert found("creme \uff43\uff41\uff46\uff45", item("CAFÉ Crème")) == ["CAFÉ Crème"]


def test_plain_words_that_look_like_operators_are_only_words() -> None:
    assert found("what is in the box", item("what is in the box")) == ["what is in the box"]


@pytest.mark.parametrize(
    ("query", "position", "expected"),
    [
        ("title =", 7, 'a value after "="'),
        ("title = AND", 8, 'a value after "="'),
        ("(milk", 5, '")"'),
        ("milk)", 4, "ORDER BY, SHOW or the end"),
        ("milk AND", 8, "a field or a search word"),
        ("AND milk", 0, "a field or a search word"),
        ('title = "open', 8, '"'),
        ("tag IN (a b)", 10, '"," or ")"'),
        ("ORDER BY", 8, "a field to sort by"),
        ("milk SHOW", 9, "a field to show"),
        ("ORDER BY title SHOW price extra", 26, "the end"),
        ("price : 2", 6, "one of = != > >= < <= IN"),
        ("price = cheap", 8, "a number"),
        ("price = nan", 8, "a number"),
        ("organic = yes", 10, "true or false"),
        ("at < noon", 5, "a time of day, such as 18:30"),
        ("text = milk", 5, "one of : !:"),
        ("ORDER BY text", 9, "another field"),
    ],
)
def test_an_error_says_where_it_is_and_what_was_expected(
    query: str, position: int, expected: str
) -> None:
    with pytest.raises(QueryError) as caught:
        found(query, *ALL)
    assert caught.value.details == {"position": position, "expected": expected}
    assert f"character {position + 1}:" in caught.value.message


def test_an_unknown_field_names_those_that_there_are() -> None:
    with pytest.raises(QueryError, match=r'unknown field "colour".*brand'):
        found("milk AND colour = red", *ALL)


def list_with(name: str, *fields: CustomField) -> ItemList:
    return ItemList(
        id=ArtifactId(name), name=name, created_at=MONDAY, updated_at=MONDAY, fields=fields
    )


def test_a_label_that_two_fields_share_has_to_be_told_apart_by_key() -> None:
    maker = CustomField(key="maker", label="Made by", type="text")
    author = CustomField(key="author", label="made BY", type="text")
    fields = Fields([list_with("tools", maker), list_with("books", author)])
    with pytest.raises(QueryError, match="author, maker") as caught:
        prepared(parse('x "Made by" = a'), fields, PRESENT)
    assert caught.value.position == 2
    assert fields.find(Word("maker")).name == "maker"


def test_a_field_of_two_types_is_refused_by_name() -> None:
    other = list_with("x", CustomField(key="price", label="Price", type="text"))
    with pytest.raises(QueryError, match="number and text"):
        prepared(parse("price = 2"), Fields([GROCERIES, other]), PRESENT)


@pytest.mark.parametrize(
    "query", ["(" * 60 + "a" + ")" * 60, "NOT " * 60 + "a", "a " * 201, "a" * (LONGEST + 1)]
)
def test_what_is_too_long_or_too_deep_is_refused(query: str) -> None:
    with pytest.raises(QueryError):
        parse(query)


def test_a_day_is_the_day_where_the_owner_is() -> None:
    assert day("today", BERLIN_NIGHT) == date(2026, 11, 17)
    late = item("late", created_at=datetime(2026, 11, 16, 23, 15, tzinfo=UTC))
    assert found("added = today", late, present=BERLIN_NIGHT) == ["late"]
    assert found("added = today", late) == ["late"]
    assert found("added = tomorrow", late) == []


def test_notes_and_items_are_found_together() -> None:
    note = Row(
        of=Note(
            id=ArtifactId("n"),
            title="Milk test",
            content="oat won",
            created_at=MONDAY,
            updated_at=MONDAY,
        )
    )
    assert found("milk", MILK, note) == ["Oat milk", "Milk test"]
    assert found("kind = note", MILK, note) == ["Milk test"]
    assert found("content : won", MILK, note) == ["Milk test"]
    assert found("price IS EMPTY", MILK, note) == ["Milk test"]


# -- properties

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(Word)
OPERATORS = st.sampled_from([":", "!:", "=", "!=", ">", ">=", "<", "<="])


def comparisons(names: st.SearchStrategy[Word]) -> st.SearchStrategy[Condition]:
    def single(name: Word, operator: Operator, value: Word) -> Condition:
        return Comparison(name, operator, (value,))

    def several(name: Word, values: list[Word]) -> Condition:
        return Comparison(name, "in", tuple(values))

    return (
        st.builds(single, names, OPERATORS, WORDS)
        | st.builds(several, names, st.lists(WORDS, min_size=1, max_size=3))
        | st.builds(Emptiness, names, st.booleans())
    )


def conditions(leaves: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def grown(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
        several = st.lists(inner, min_size=2, max_size=3)
        return (
            inner.map(Not)
            | several.map(lambda parts: joined(And, parts))
            | several.map(lambda parts: joined(Or, parts))
        )

    return st.recursive(leaves, grown, max_leaves=8)


QUERIES = st.builds(
    Query,
    st.none() | conditions(comparisons(WORDS)),
    st.lists(st.builds(Order, WORDS, st.booleans()), max_size=2).map(tuple),
    st.lists(WORDS, max_size=2).map(tuple),
)


@given(QUERIES)
def test_a_query_that_is_written_reads_the_same(query: Query) -> None:
    assert parse(str(query)) == query


@given(st.text(st.sampled_from("ab \"'\\()=!:~<>,") | st.characters(), max_size=40))
def test_any_text_is_read_or_refused_with_a_position(text: str) -> None:
    try:
        query = parse(text)
    except QueryError as error:
        assert 0 <= error.position <= len(text)
    else:
        assert parse(str(query)) == query


TEXTS = st.text(st.sampled_from("aäB ß"), max_size=4)
CUSTOM = st.fixed_dictionaries(
    {},
    optional={
        "price": st.sampled_from([0.0, 1.0, 2.0]),
        "due": st.sampled_from(["2026-11-15", "2026-11-16", "2026-11-18"]),
        "brand": TEXTS,
    },
)
ROWS = st.builds(
    item,
    TEXTS,
    notes=TEXTS,
    tags=st.lists(TEXTS, max_size=2).map(tuple),
    custom=CUSTOM,
    completed_at=st.none() | st.just(MONDAY),
)
CONTAINS: list[Operator] = [":", "!:"]
EQUALS: list[Operator] = ["=", "!="]
ORDERS: list[Operator] = [">", ">=", "<", "<=", "=", "!="]


def typed(
    names: list[str], operators: list[Operator], values: st.SearchStrategy[str]
) -> st.SearchStrategy[Condition]:
    def one(name: str, operator: Operator, value: str) -> Condition:
        return Comparison(Word(name), operator, (Word(value),))

    return st.builds(one, st.sampled_from(names), st.sampled_from(operators), values)


TYPED = conditions(
    typed(["text"], CONTAINS, TEXTS)
    | typed(["title", "notes", "brand", "tag"], [*CONTAINS, *EQUALS], TEXTS)
    | typed(["price"], ORDERS, st.sampled_from(["0", "1", "1.5"]))
    | typed(["due"], ORDERS, st.sampled_from(["today", "yesterday", "+2d", "2026-11-16"]))
    | typed(["completed"], EQUALS, st.sampled_from(["true", "false"]))
    | st.builds(
        Emptiness, st.sampled_from(["notes", "price", "due", "tag"]).map(Word), st.booleans()
    )
)
DAYS = {"today": "2026-11-16", "yesterday": "2026-11-15", "+2d": "2026-11-18"}


def oracle(condition: Condition, row: Row) -> bool:
    """Say the same as the evaluator, the long way round."""
    one = row.of
    assert isinstance(one, ListItem)
    match condition:
        case Not(inner):
            return not oracle(inner, row)
        case And(parts):
            return [oracle(part, row) for part in parts].count(False) == 0
        case Or(parts):
            return [oracle(part, row) for part in parts].count(True) > 0
        case Emptiness(name, is_empty):
            value = {"notes": one.notes, "tag": one.tags}.get(name.text, one.custom.get(name.text))
            return is_empty == (value is None or value == "" or value == ())
        case Comparison(name, operator, (value,)):
            if name.text in ("price", "due"):
                return _ordered(one.custom.get(name.text), operator, value.text)
            if name.text == "completed":
                return ((one.completed_at is not None) == (value.text == "true")) == (
                    operator == "="
                )
            brand = str(one.custom.get("brand", ""))
            texts = {
                "text": [one.title, one.notes, "", *one.tags, brand],
                "title": [one.title],
                "notes": [one.notes],
                "brand": [brand],
                "tag": list(one.tags),
            }[name.text]
            if name.text == "text" and "brand" not in one.custom:
                texts.remove("")
            wanted = folded(value.text)
            hits = [
                wanted in folded(text) if ":" in operator else wanted == folded(text)
                for text in texts
            ]
            return (True in hits) != operator.startswith("!")
        case _:
            raise AssertionError(condition)


def _ordered(there: object, operator: Operator, value: str) -> bool:
    if there is None:
        return operator == "!="
    left: Any = there if isinstance(there, float) else str(there)
    right: Any = float(value) if isinstance(there, float) else DAYS.get(value, value)
    return {
        "=": left == right,
        "!=": left != right,
        ">": left > right,
        ">=": left >= right,
        "<": left < right,
        "<=": left <= right,
    }[operator]


@given(TYPED, st.lists(ROWS, max_size=4))
def test_the_evaluator_says_what_a_naive_reading_says(
    condition: Condition, rows: list[Row]
) -> None:
    test = prepared(Query(condition), FIELDS, PRESENT).matches
    assert [test(row) for row in rows] == [oracle(condition, row) for row in rows]


@given(TYPED, ROWS)
def test_what_a_query_finds_is_never_narrowed_away(condition: Condition, row: Row) -> None:
    one = row.of
    assert isinstance(one, ListItem)
    if not prepared(Query(condition), FIELDS, PRESENT).matches(row):
        return
    narrow = narrowing_of(Query(condition), [GROCERIES])
    texts = [one.title, one.notes, *one.tags, *map(str, one.custom.values())]
    there = folded("\n".join(texts))
    assert narrow.items
    assert narrow.lists is None or GROCERIES.id in narrow.lists
    assert all(any(word in there for word in group) for group in narrow.words)


def test_a_query_says_what_need_not_be_read() -> None:
    query = "list = Groceries AND (milk OR tag = Käse) AND brand : oat AND NOT eggs AND price > 1"
    assert narrowing_of(parse(query), [GROCERIES]) == Narrowing(
        notes=False, lists=[GROCERIES.id], words=[["milk", "kase"], ["oat"]]
    )
    assert narrowing_of(parse("kind = note AND won"), []) == Narrowing(items=False, words=[["won"]])
    assert narrowing_of(parse("milk OR price > 1"), [GROCERIES]) == Narrowing(words=[])
    assert narrowing_of(parse("list = elsewhere"), [GROCERIES]).lists == []


def test_times_of_day_compare_as_times() -> None:
    early, late = item("early", custom={"at": "9:30"}), item("late", custom={"at": "18:00"})
    assert found("at < 10:00", early, late) == ["early"]
