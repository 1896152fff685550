"""Checks JSON schemas in files, and lists the properties they name."""

import importlib
from collections.abc import Mapping
from typing import Any, cast

_SHOWN = 200
_ELSEWHERE = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"}
)


def properties_of(schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The properties that a schema names, in order."""
    named = (schema or {}).get("properties")
    return tuple(cast("Mapping[str, object]", named)) if isinstance(named, Mapping) else ()


def may_name_more(schema: Mapping[str, Any]) -> bool:
    """Whether the schema may define properties elsewhere, too."""
    return not _ELSEWHERE.isdisjoint(schema)


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """The problem of a schema and its location, or None."""
    # Imported on first use to speed up the start; the library has no types anyway.
    library: Any = importlib.import_module("jsonschema.validators")
    kind = library.validator_for(schema, default=library.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except library.exceptions.SchemaError as error:
        place = ".".join(str(step) for step in error.absolute_path)
        return f"{place}: {error.message[:_SHOWN]}" if place else error.message[:_SHOWN]
    return None
