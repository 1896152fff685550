"""The syntax tree of queries, and how it is written as text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from retinue.errors import UsageError

Operator = Literal[":", "!:", "=", "!=", ">", ">=", "<", "<=", "in"]
KEYWORDS = frozenset({"AND", "OR", "NOT", "IN", "IS", "EMPTY", "ORDER", "BY", "SHOW"})
TEXT = "text"
"""The field that covers all text of an item or a note."""

_PLAIN = re.compile(r"[\w.+/@#%&-]+")


class QueryError(UsageError):
    """An invalid query; has the position and what was expected there."""

    code = "invalid_query"

    def __init__(self, message: str, *, position: int, expected: str = "") -> None:
        details = {"position": position} | ({"expected": expected} if expected else {})
        super().__init__(f"query, character {position + 1}: {message}", details=details)
        self.position = position
        self.expected = expected


@dataclass(frozen=True, slots=True)
class Word:
    """A name or a value, and its position."""

    text: str
    at: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares a field with a value, or with several for `in`."""

    name: Word
    operator: Operator
    values: tuple[Word, ...]
    at: int = field(default=0, compare=False)  # of the operator


@dataclass(frozen=True, slots=True)
class Emptiness:
    """Tests whether a field is empty."""

    name: Word
    is_empty: bool


@dataclass(frozen=True, slots=True)
class Not:
    """A negated condition."""

    inner: "Condition"


@dataclass(frozen=True, slots=True)
class And:
    """Conditions that must all be true; at least two, none of them an `And`."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Conditions of which one must be true; at least two, none of them an `Or`."""

    parts: tuple["Condition", ...]


Condition = Comparison | Emptiness | Not | And | Or


@dataclass(frozen=True, slots=True)
class Order:
    """A field to sort by."""

    name: Word
    is_descending: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A query: filter, order and fields to show; all are optional."""

    where: Condition | None = None
    order: tuple[Order, ...] = ()
    show: tuple[Word, ...] = ()

    def __str__(self) -> str:
        """Return text that parses to the same query."""
        parts: list[str] = []
        if self.where is not None:
            parts.append(_written(self.where))
        if self.order:
            parts.append("ORDER BY " + ", ".join(map(_ordered, self.order)))
        if self.show:
            parts.append("SHOW " + ", ".join(quoted(name.text) for name in self.show))
        return " ".join(parts)


def joined(kind: type[And] | type[Or], parts: Sequence[Condition]) -> Condition:
    """Join conditions, flattening nested ones of the same kind."""
    flat: list[Condition] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, kind) else (part,))
    return flat[0] if len(flat) == 1 else kind(tuple(flat))


def quoted(text: str) -> str:
    """Return a name or a value, in quotes if needed."""
    if _PLAIN.fullmatch(text) and text.upper() not in KEYWORDS:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _ordered(order: Order) -> str:
    return quoted(order.name.text) + (" DESC" if order.is_descending else "")


def _written(condition: Condition) -> str:
    match condition:
        case Comparison(name=name, operator="in", values=values):
            return f"{quoted(name.text)} IN ({', '.join(quoted(one.text) for one in values)})"
        case Comparison(name=name, operator=operator, values=values):
            return f"{quoted(name.text)} {operator} {quoted(values[0].text)}"
        case Emptiness(name=name, is_empty=is_empty):
            return f"{quoted(name.text)} IS {'' if is_empty else 'NOT '}EMPTY"
        case Not(inner=inner):
            return f"NOT {_inside(inner, And, Or)}"
        case And(parts=parts):
            return " AND ".join(_inside(part, Or) for part in parts)
        case Or(parts=parts):
            return " OR ".join(_written(part) for part in parts)


def _inside(condition: Condition, *weaker: type[Condition]) -> str:
    written = _written(condition)
    return f"({written})" if isinstance(condition, weaker) else written
