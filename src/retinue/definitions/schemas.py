"""JSON schemas that people wrote: whether they are schemas at all."""

import importlib
from collections.abc import Mapping
from typing import Any

_SHOWN = 200


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
