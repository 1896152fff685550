"""The fields of queries and their types: built-in ones, and custom fields of lists."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from msgspec import Struct

from retinue.agents.artifact import FieldType, FieldValue, ItemList, ListItem, Note, folded
from retinue.plugins.artifacts.query.syntax import TEXT, QueryError, Word

QueryType = FieldType | Literal["words", "tags"]
"""`words` covers all text; `tags` has several values."""


class Row(Struct, frozen=True, kw_only=True):
    """An item or a note as queries see it."""

    of: ListItem | Note
    list: ItemList | None = None  # only for items
    position: int | None = None  # only for items

    @property
    def is_completed(self) -> bool:
        return isinstance(self.of, ListItem) and self.of.completed_at is not None

    @property
    def text(self) -> str:
        return self.of.notes if isinstance(self.of, ListItem) else self.of.content

    @property
    def url(self) -> str:
        return self.of.url if isinstance(self.of, ListItem) else ""

    @property
    def custom(self) -> Mapping[str, FieldValue]:
        return self.of.custom if isinstance(self.of, ListItem) else {}

    def words(self) -> Iterable[str]:
        """Yield everything that `text` searches."""
        yield self.of.title
        yield self.text
        yield self.url
        yield from self.of.tags
        if self.list is not None:
            for field in self.list.fields:
                value = self.custom.get(field.key)
                if field.type in ("text", "select") and isinstance(value, str):
                    yield value


Value = FieldValue | datetime | tuple[str, ...] | None
"""The value of a field in a row; None = missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryField:
    """A field and the function that reads it from a row."""

    name: str
    type: QueryType
    value: Callable[[Row], Value]


def _touched(row: Row) -> Value:
    return row.of.touched_at if isinstance(row.of, ListItem) else None


def _list(row: Row) -> Value:
    return (row.list.id, row.list.name) if row.list is not None else ()


_BUILT_IN = (
    QueryField(name=TEXT, type="words", value=lambda row: tuple(row.words())),
    QueryField(name="title", type="text", value=lambda row: row.of.title),
    QueryField(name="notes", type="text", value=lambda row: row.text),
    QueryField(name="url", type="text", value=lambda row: row.url),
    QueryField(name="tags", type="tags", value=lambda row: row.of.tags),
    QueryField(name="added", type="datetime", value=lambda row: row.of.created_at),
    QueryField(name="updated", type="datetime", value=lambda row: row.of.updated_at),
    QueryField(name="touched", type="datetime", value=_touched),
    QueryField(name="completed", type="checkbox", value=lambda row: row.is_completed),
    QueryField(name="position", type="number", value=lambda row: row.position),
    QueryField(name="list", type="tags", value=_list),  # matches the id or the name
    QueryField(
        name="kind",
        type="select",
        value=lambda row: "item" if isinstance(row.of, ListItem) else "note",
    ),
)
_COMMON = {field.name: field for field in _BUILT_IN}
_NAMES = _COMMON | {
    "tag": _COMMON["tags"],
    "content": _COMMON["notes"],
    "created": _COMMON["added"],
}
BUILT_IN_NAMES = frozenset(_NAMES)


class Fields:
    """Finds fields by name: built-in ones first, then custom fields by key or label."""

    def __init__(self, lists: Iterable[ItemList] = ()) -> None:
        self._types: dict[str, set[FieldType]] = {}
        self._labels: dict[str, set[str]] = {}
        for field in (field for one in lists for field in one.fields):
            self._types.setdefault(field.key, set()).add(field.type)
            self._labels.setdefault(folded(field.label), set()).add(field.key)

    def find(self, name: Word) -> QueryField:
        """Raises `QueryError` if there is none, or if the name is ambiguous."""
        wanted = folded(name.text)
        common = _NAMES.get(wanted)
        if common is not None:
            return common
        keys = {key for key in self._types if folded(key) == wanted} or self._labels.get(wanted)
        if not keys:
            known = ", ".join(sorted([*_NAMES, *self._types]))
            raise QueryError(
                f'unknown field "{name.text}"; the fields are {known}', position=name.at
            )
        if len(keys) > 1:
            named = ", ".join(sorted(keys))
            raise QueryError(
                f'several fields are named "{name.text}": use one of the keys {named}',
                position=name.at,
            )
        (key,) = keys
        types = self._types[key]
        if len(types) > 1:
            named = " and ".join(sorted(types))
            raise QueryError(
                f'"{key}" has the types {named} in different lists: query a single list',
                position=name.at,
            )
        (type_,) = types
        return QueryField(
            name=key, type=type_, value=lambda row: _typed(row.custom.get(key), type_)
        )


def _typed(value: FieldValue | None, type_: FieldType) -> FieldValue | None:
    """Return a value if it has the field's type; values of an earlier type count as missing."""
    expected = {"number": float, "checkbox": bool}.get(type_, str)
    return value if isinstance(value, expected) else None
