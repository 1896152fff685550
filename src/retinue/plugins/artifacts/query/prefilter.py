"""Derives a store filter from a query, so that fewer rows are read; the query still decides."""

from collections.abc import Sequence

from msgspec.structs import replace

from retinue.agents.artifact import ItemList, folded
from retinue.plugins.artifacts.query.fields import BUILT_IN_NAMES
from retinue.plugins.artifacts.query.syntax import And, Comparison, Condition, Or, Query
from retinue.stores.artifact_port import Narrowing

_TEXTS = {"text", "title", "notes", "content", "url", "tag", "tags"}


def narrowing_of(query: Query, lists: Sequence[ItemList]) -> Narrowing:
    """Derive a filter from the conditions that must all be true."""
    where = query.where
    parts = where.parts if isinstance(where, And) else () if where is None else (where,)
    texts = _TEXTS | _text_fields(lists)
    narrow = Narrowing(words=[words for part in parts if (words := _words(part, texts))])
    for part in parts:
        if isinstance(part, Comparison):
            narrow = _placed(narrow, part, lists)
    return narrow


def _words(condition: Condition, texts: set[str]) -> Sequence[str]:
    """Return words of which one must occur; none if that is unknown."""
    match condition:
        case Comparison(operator=":" | "=" | "in", name=name, values=values):
            words = [folded(value.text) for value in values]
            return words if folded(name.text) in texts and all(words) else ()
        case Or(parts=parts):
            groups = [_words(part, texts) for part in parts]
            return [word for group in groups for word in group] if all(groups) else ()
        case And(parts=parts):
            return next((words for part in parts if (words := _words(part, texts))), ())
        case _:
            return ()


def _placed(narrow: Narrowing, part: Comparison, lists: Sequence[ItemList]) -> Narrowing:
    values = [folded(value.text) for value in part.values]
    match folded(part.name.text), part.operator:
        case "list", (":" | "=" | "in") as operator:
            matched = [one.id for one in lists if _is_matched(one, values, operator == ":")]
            within = matched if narrow.lists is None else [*{*narrow.lists} & {*matched}]
            return replace(narrow, notes=False, lists=within)
        case "kind", "=" | "in":
            items, notes = "item" in values, "note" in values
            return replace(narrow, items=narrow.items and items, notes=narrow.notes and notes)
        case _:
            return narrow


def _is_matched(one: ItemList, values: Sequence[str], is_part: bool) -> bool:
    called = (folded(one.id), folded(one.name))
    if is_part:
        return any(values[0] in name for name in called)
    return any(name in values for name in called)


def _text_fields(lists: Sequence[ItemList]) -> set[str]:
    """Return keys of fields that are text in all lists; the store searches their values too."""
    types: dict[str, set[str]] = {}
    for field in (field for one in lists for field in one.fields):
        types.setdefault(folded(field.key), set()).add(field.type)
    return {key for key, found in types.items() if found <= {"text", "select"}} - BUILT_IN_NAMES
