"""JSON schemas that people wrote: whether they are schemas at all, and what they name."""

import importlib
from collections.abc import Mapping
from typing import Any, cast

_SHOWN = 200
_ELSEWHERE = frozenset(
    {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas", "patternProperties"}
)


def properties_of(schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """The arguments that a schema names, in its order."""
    named = (schema or {}).get("properties")
    return tuple(cast("Mapping[str, object]", named)) if isinstance(named, Mapping) else ()


def may_name_more(schema: Mapping[str, Any]) -> bool:
    """Whether arguments may stand in other places of the schema, too."""
    return not _ELSEWHERE.isdisjoint(schema)


def schema_problem(schema: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a schema and where; None when nothing is."""
    # Loaded on first use, for the sake of start-up; its types are unknown in any case.
    library: Any = importlib.import_module("jsonschema.validators")
    kind = library.validator_for(schema, default=library.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except library.exceptions.SchemaError as error:
        place = ".".join(str(step) for step in error.absolute_path)
        return f"{place}: {error.message[:_SHOWN]}" if place else error.message[:_SHOWN]
    return None
