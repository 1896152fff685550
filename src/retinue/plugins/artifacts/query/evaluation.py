"""Evaluates a query: names and values are validated once, then each row is tested."""

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

from retinue.agents.artifact import folded
from retinue.plugins.artifacts.query.date_values import (
    DAY_EXAMPLES,
    Present,
    clock_time,
    day,
    moment,
    plain_day,
)
from retinue.plugins.artifacts.query.fields import Fields, QueryField, Row
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
)

Test = Callable[[Row], bool]
_Read = Callable[[Row], Any]

_COMPARED: dict[Operator, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_ALLOWED: dict[str, tuple[Operator, ...]] = {
    "words": (":", "!:"),
    "text": (":", "!:", "=", "!=", "in"),
    "tags": (":", "!:", "=", "!=", "in"),
    "select": ("=", "!=", "in"),
    "checkbox": ("=", "!="),
    "number": (*_COMPARED, "in"),
    "date": (*_COMPARED, "in"),
    "time": (*_COMPARED, "in"),
    "datetime": (*_COMPARED, "in"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryEvaluation:
    """A validated query for one point in time."""

    matches: Test
    show: Sequence[QueryField]
    _orders: Sequence[tuple[_Read, bool]]

    def answer(self, rows: Iterable[Row]) -> list[Row]:
        """Return the matching rows, sorted; completed items are always last."""
        found = [row for row in rows if self.matches(row)]
        for read, is_descending in reversed(self._orders):
            found.sort(key=lambda row, read=read: _key(read(row)), reverse=is_descending)
            found.sort(key=lambda row, read=read: read(row) is None)
        found.sort(key=lambda row: row.is_completed)
        return found


def prepared(query: Query, fields: Fields, present: Present) -> QueryEvaluation:
    """Validate a query. Raises `QueryError`."""
    return QueryEvaluation(
        matches=(lambda _: True) if query.where is None else _test(query.where, fields, present),
        show=[fields.find(name) for name in query.show],
        _orders=[_order(order, fields, present) for order in query.order],
    )


def _test(condition: Condition, fields: Fields, present: Present) -> Test:
    match condition:
        case Not(inner=inner):
            test = _test(inner, fields, present)
            return lambda row: not test(row)
        case And(parts=parts):
            tests = [_test(part, fields, present) for part in parts]
            return lambda row: all(test(row) for test in tests)
        case Or(parts=parts):
            tests = [_test(part, fields, present) for part in parts]
            return lambda row: any(test(row) for test in tests)
        case Emptiness(name=name, is_empty=is_empty):
            read = fields.find(name).value
            return lambda row: (read(row) in (None, "", ())) == is_empty
        case Comparison():
            return _comparison(condition, fields.find(condition.name), present)


def _comparison(condition: Comparison, field: QueryField, present: Present) -> Test:
    allowed = _ALLOWED[field.type]
    if condition.operator not in allowed:
        usable = " ".join(sign.upper() for sign in allowed)
        raise QueryError(
            f'"{field.name}" ({field.type}) does not support "{condition.operator.upper()}"',
            position=condition.at,
            expected=f"one of {usable}",
        )
    match field.type:
        case "words" | "tags":
            return _of_many(condition, field.value)
        case "text" | "select":
            return _of_text(condition, field.value)
        case "checkbox":
            wanted = _boolean(condition.values[0])
            is_equal = condition.operator == "="
            return lambda row: (bool(field.value(row)) == wanted) == is_equal
        case "number" | "date" | "time" | "datetime":
            return _of_order(condition, field, present)


def _of_many(condition: Comparison, read: _Read) -> Test:
    """Test all words or tags; a negated condition must hold for every one."""
    wanted = [folded(value.text) for value in condition.values]
    is_part = condition.operator in (":", "!:")

    def has(row: Row) -> bool:
        there = [folded(text) for text in read(row)]
        if is_part:
            return any(wanted[0] in text for text in there)
        return any(text in wanted for text in there)

    return _unless(has, is_negated=condition.operator.startswith("!"))


def _of_text(condition: Comparison, read: _Read) -> Test:
    wanted = [folded(value.text) for value in condition.values]
    is_part = condition.operator in (":", "!:")

    def has(row: Row) -> bool:
        there = folded(read(row) or "")
        return wanted[0] in there if is_part else there in wanted

    return _unless(has, is_negated=condition.operator.startswith("!"))


def _unless(test: Test, *, is_negated: bool) -> Test:
    return (lambda row: not test(row)) if is_negated else test


def _of_order(condition: Comparison, field: QueryField, present: Present) -> Test:
    """Compare numbers, dates and times; without a value, only `!=` is true."""
    sides = [_sides(field, value, present) for value in condition.values]
    if condition.operator == "in":
        return lambda row: any(read(row) == wanted for read, wanted in sides)
    compare = _COMPARED[condition.operator]
    is_unequal = condition.operator == "!="
    ((read, wanted),) = sides

    def test(row: Row) -> bool:
        there = read(row)
        return is_unequal if there is None else compare(there, wanted)

    return test


def _sides(field: QueryField, value: Word, present: Present) -> tuple[_Read, object]:
    """Return a reader of the row's value, and the value to compare with."""
    read = _reader(field, present)
    match field.type:
        case "number":
            return read, _number(value)
        case "time":
            found = clock_time(value.text)
            return read, _expected(found, value, "a time of day, such as 18:30")
        case "date":
            at = None if day(value.text, present) else moment(value.text, present)
            found = present.day_of(at) if at else day(value.text, present)
            return read, _expected(found, value, f"a date: {DAY_EXAMPLES}")
        case _:
            whole_day = day(value.text, present)
            if whole_day is not None:
                return lambda row: _day_of(read(row), present), whole_day
            example = f"a date and time, such as 2026-11-20T18:30 or now, or a date: {DAY_EXAMPLES}"
            return read, _expected(moment(value.text, present), value, example)


def _reader(field: QueryField, present: Present) -> _Read:
    """Return a reader of comparable values; invalid values count as missing."""

    def read(row: Row) -> float | date | datetime | time | None:
        there = field.value(row)
        match field.type, there:
            case "date", str():
                return plain_day(there)
            case "time", str():
                return clock_time(there)
            case "datetime", str():
                return moment(there, present)
            case "datetime", datetime():
                return there
            case "number", int() | float():
                return there
            case _:
                return None

    return read


def _day_of(there: datetime | None, present: Present) -> date | None:
    return None if there is None else present.day_of(there)


def _number(value: Word) -> float:
    try:
        found = float(value.text)
    except ValueError:
        found = math.nan
    return _expected(found if math.isfinite(found) else None, value, "a number")


def _boolean(value: Word) -> bool:
    word = value.text.lower()
    return _expected({"true": True, "false": False}.get(word), value, "true or false")


def _expected(found: Any, value: Word, expected: str) -> Any:
    if found is None:
        raise QueryError(
            f'expected {expected}, found "{value.text[:40]}"', position=value.at, expected=expected
        )
    return found


def _order(order: Order, fields: Fields, present: Present) -> tuple[_Read, bool]:
    field = fields.find(order.name)
    if field.type in ("number", "date", "time", "datetime"):
        return _reader(field, present), order.is_descending
    if field.type == "words":
        raise QueryError('cannot sort by "text"', position=order.name.at, expected="another field")
    return field.value, order.is_descending


def _key(value: Any) -> Any:
    """Return a sort key; missing values are moved to the end afterwards."""
    match value:
        case None:
            return (0, 0)
        case str():
            return (1, folded(value))
        case tuple():
            return (1, [folded(one) for one in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return (1, value)
