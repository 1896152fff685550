"""Answers to forms, typed as text."""

from collections.abc import Sequence
from typing import Any

from retinue.agents.form import Field, value_of
from retinue.errors import UsageError
from retinue.events import FieldView


def values_of(fields: Sequence[FieldView], given: Sequence[str]) -> dict[str, Any]:
    """Read `field=value` arguments; raises `UsageError` that names the field."""
    by_name = {field.name: field for field in fields}
    values: dict[str, Any] = {}
    for argument in given:
        name, equals, text = argument.partition("=")
        if not equals:
            raise UsageError(f"{argument!r}: expected field=value")
        if name not in by_name:
            known = ", ".join(by_name) or "none"
            raise UsageError(f"{name}: there is no such field (there are: {known})")
        values[name] = typed(by_name[name], text)
    return values


def typed(field: FieldView, text: str) -> str | float | bool:
    """Read one value as its field wants it."""
    try:
        return value_of(Field(name=field.name, type=field.type), text)
    except UsageError as error:
        raise UsageError(f"{field.name}: {error.message}") from None
