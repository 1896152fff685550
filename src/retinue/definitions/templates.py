"""Inheritance between files: `extends` merges an entry over templates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from retinue.definitions.formats import Table
from retinue.definitions.source_files import SourceEntry, joined
from retinue.errors import DefinitionError
from retinue.settings.keys import did_you_mean
from retinue.settings.table_reader import Spelling

IDENTITY_FIELDS = ("name", "display_name", "description")
"""Fields that a template cannot set, as each definition has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """An entry's table with its templates merged in, and the spelling of each key."""

    table: Table
    spelling: Spelling


def inherit(
    entry: SourceEntry, templates: Mapping[str, SourceEntry | None], chain: tuple[str, ...] = ()
) -> Inherited:
    """Merge an entry over its templates, from left to right; a null is kept and so deletes a key.

    A template that does not load is None.
    """
    table: Table = {}
    spelling: Spelling = {}
    for name in parents_of(entry):
        if name in chain:
            path = " → ".join((*chain[chain.index(name) :], name))
            raise _error(entry, f"templates extend each other: {path}")
        if name not in templates:
            raise _error(entry, f"unknown template {name!r}{did_you_mean(name, templates)}")
        template = templates[name]
        if template is None:
            raise _error(entry, f"template {name!r} does not load")
        inherited = inherit(template, templates, (*chain, name))
        table = merged(table, inherited.table)
        spelling = {**spelling, **inherited.spelling}
    own = {key: value for key, value in entry.table.items() if key != "extends"}
    return Inherited(table=merged(table, own), spelling={**spelling, **entry.spelling})


def merged(base: Table, over: Table) -> Table:
    """Tables are merged key by key; lists and all other values are replaced."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            result[key] = merged(cast("Table", below), cast("Table", value))
        else:
            result[key] = value
    return result


def parents_of(entry: SourceEntry) -> tuple[str, ...]:
    """The templates that an entry extends directly."""
    extends = entry.table.get("extends") or ()
    names = (extends,) if isinstance(extends, str) else extends
    if not isinstance(names, list | tuple):
        raise _error(entry, "expected the name of a template, or a list of them")
    for name in cast("tuple[object, ...]", names):
        if not isinstance(name, str):
            raise _error(entry, "expected the name of a template, or a list of them")
    return tuple(cast("tuple[str, ...]", names))


def _error(entry: SourceEntry, message: str) -> DefinitionError:
    field = joined(entry.prefix, entry.spelling.get(("extends",), "extends"))
    return DefinitionError(message, file=entry.file, field=field, line=entry.line)
