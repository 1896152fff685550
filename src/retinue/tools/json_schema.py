"""Validates arguments against an external JSON schema."""

import importlib
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from retinue.definitions.schemas import schema_problem
from retinue.errors import ArgumentsError, UsageError

_MOST_COMPLAINTS = 20
_SHOWN = 200

Validate = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def validator(tool_name: str, schema: Mapping[str, Any]) -> Validate:
    """Return a validator of arguments; raises `UsageError` if the schema is invalid."""
    if schema.get("type") != "object":
        raise UsageError("its input schema must be of type object")
    problem = schema_problem(schema)
    if problem is not None:
        raise UsageError(f"its input schema is invalid: {problem}")
    # Imported on first use, to keep start-up fast; these modules are untyped anyway.
    library: Any = importlib.import_module("jsonschema.validators")
    referencing: Any = importlib.import_module("referencing")
    kind = library.validator_for(schema, default=library.Draft202012Validator)
    # An untrusted pattern can take forever to match. The registry is empty, so that references
    # in the schema are not fetched.
    without_patterns = library.extend(kind, {"pattern": _nothing})
    checker = without_patterns(schema, registry=referencing.Registry())

    def validate(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            errors = checker.iter_errors(dict(arguments))
            wrong = [_complaint(error) for error in itertools.islice(errors, _MOST_COMPLAINTS)]
        except Exception as error:  # the library may raise anything for an unusual schema
            reason = f"The arguments of {tool_name!r} cannot be checked: {error}"
            raise UsageError(reason) from error
        if wrong:
            raise ArgumentsError(
                f"Invalid arguments for {tool_name!r}: "
                + "; ".join(f"{field!r}: {reason}" for field, reason in wrong),
                details={"fields": dict(wrong)},
            )
        return arguments

    return validate


def _nothing(*_: object) -> None:
    return None


def _complaint(error: Any) -> tuple[str, str]:
    path = [str(step) for step in error.absolute_path]
    if error.validator == "required":
        named = next(name for name in error.validator_value if repr(name) in error.message)
        return ".".join([*path, named]), "missing"
    return ".".join(path) or "arguments", error.message[:_SHOWN]
