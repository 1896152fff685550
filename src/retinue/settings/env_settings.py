"""Settings from the environment: `RETINUE_SERVER__PORT` is `server.port`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Annotated, Union, cast, get_args, get_origin

from retinue.settings.keys import did_you_mean, nearest, snake_case
from retinue.settings.secrets import Template
from retinue.settings.table_reader import Location, Shape, nested_shape

PREFIX = "RETINUE_"
_SEPARATOR = "__"


@dataclass(slots=True, kw_only=True)
class Overlay:
    """A settings table with environment overrides, and the variable behind each override."""

    table: dict[str, object]
    variables: dict[Location, str] = field(default_factory=dict[Location, str])
    warnings: list[str] = field(default_factory=list[str])


def overlay(
    shape: type[Shape], table: Mapping[str, object], environment: Mapping[str, str]
) -> Overlay:
    """Apply the environment to a normalized table."""
    result = Overlay(table=_copied(table))
    names = variable_names(shape)
    for variable in sorted(environment):
        if variable.startswith(PREFIX):
            segments = variable.removeprefix(PREFIX).split(_SEPARATOR)
            place = _place(shape, result.table, segments)
            if place is None:
                result.warnings.extend(_unknown(variable, segments, shape, names))
                continue
            location, annotation = place
            _store(result.table, location, _parsed(annotation, environment[variable]))
            result.variables[location] = variable
    return result


def variable_names(shape: type[Shape], prefix: str = PREFIX) -> tuple[str, ...]:
    """List the variables of all fixed keys; tables with free names add more."""
    names: list[str] = []
    for name, info in shape.model_fields.items():
        inner, wrapper = nested_shape(info.annotation)
        if inner is not None and wrapper is None:
            names.extend(variable_names(inner, prefix + name.upper() + _SEPARATOR))
        elif wrapper is not dict:
            names.append(prefix + name.upper())
    return tuple(names)


def _place(
    shape: type[Shape], table: Mapping[str, object], segments: list[str]
) -> tuple[Location, object] | None:
    """Find the location and the type of a variable's value."""
    name = segments[0].lower()
    if name not in shape.model_fields:
        return None
    annotation: object = shape.model_fields[name].annotation
    inner, wrapper = nested_shape(annotation)
    rest = segments[1:]
    if wrapper is dict:
        return _place_named(annotation, inner, table.get(name), name, rest)
    if inner is None or wrapper is not None:
        return ((name,), annotation) if not rest else None
    if not rest:
        return None
    below = _place(inner, _table(table.get(name)), rest)
    return ((name, *below[0]), below[1]) if below else None


def _place_named(
    annotation: object, inner: type[Shape] | None, value: object, name: str, rest: list[str]
) -> tuple[Location, object] | None:
    """Find the location below a table with free names; names in the file keep their spelling."""
    table = _table(value)
    if not rest or not rest[0]:
        return None
    if inner is None:
        key = _SEPARATOR.join(rest)
        return (name, key), get_args(annotation)[1]
    folded = rest[0].lower()
    key = next((key for key in table if snake_case(key).replace("-", "_") == folded), folded)
    below = _place(inner, _table(table.get(key)), rest[1:]) if rest[1:] else None
    return ((name, key, *below[0]), below[1]) if below else None


def _parsed(annotation: object, text: str) -> object:
    """Parse a value for its type; a value that does not parse stays text and fails validation."""
    types = _plain_types(annotation)
    if any(
        kind is str or (isinstance(kind, type) and issubclass(kind, Template)) for kind in types
    ):
        return text
    try:
        return cast("object", json.loads(text))
    except ValueError:
        if any(get_origin(kind) is tuple for kind in types):
            return [part.strip() for part in text.split(",") if part.strip()]
        return text


def _plain_types(annotation: object) -> list[object]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain_types(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return [kind for part in get_args(annotation) for kind in _plain_types(part)]
    return [annotation]


def _unknown(
    variable: str, segments: list[str], shape: type[Shape], names: tuple[str, ...]
) -> list[str]:
    """Warn about variables that look like settings; others may belong to other programs."""
    if segments[0].lower() in shape.model_fields or nearest(variable, names):
        message = f"environment: unknown variable {variable!r}{did_you_mean(variable, names)}"
        return [message]
    return []


def _copied(table: Mapping[str, object]) -> dict[str, object]:
    return {
        key: _copied(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else value
        for key, value in table.items()
    }


def _table(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def _store(table: dict[str, object], location: Location, value: object) -> None:
    *parents, last = location
    for parent in parents:
        below = table.get(str(parent))
        if not isinstance(below, dict):
            below = table[str(parent)] = {}
        table = cast("dict[str, object]", below)
    table[str(last)] = value
