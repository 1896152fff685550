"""Forms with typed fields, and validation of their values."""

import math
from collections.abc import Mapping
from datetime import date
from typing import Any, Literal, cast

from msgspec import Struct, structs

from retinue.agents.visible_text import is_plain
from retinue.errors import UsageError
from retinue.text import clean_text

FieldType = Literal["string", "text", "number", "integer", "boolean", "choice", "date", "secret"]
"""Agents cannot ask for a `secret`, because answers are part of their history."""

MOST_FIELDS = 20
MOST_CHOICES = 100
LONGEST_VALUE = 20_000
_LONGEST_NAME = 64
_LONGEST_LABEL = 500
_KEYS = frozenset(
    "type title description enum format default minimum maximum minLength maxLength".split()
)
_MULTILINE = ("multiline", "textarea")


class Field(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One field. For text, `minimum` and `maximum` are lengths in characters."""

    name: str
    type: FieldType
    label: str = ""
    description: str = ""
    required: bool = False
    default: str | float | bool | None = None
    choices: list[str] = []
    minimum: float | None = None
    maximum: float | None = None


def parse_form(schema: Mapping[str, Any]) -> list[Field]:
    """Convert a JSON schema to fields. Raises `UsageError` with the name of the invalid field."""
    if schema.get("type", "object") != "object":
        raise UsageError('schema: the type must be "object"')
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        raise UsageError("schema.properties: define at least one field")
    entries = cast("dict[str, Any]", properties)
    if len(entries) > MOST_FIELDS:
        raise UsageError(
            f"schema.properties: expected at most {MOST_FIELDS} fields, got {len(entries)}"
        )
    required = schema.get("required", [])
    if not isinstance(required, list):
        raise UsageError("schema.required: expected a list of field names")
    names = cast("list[Any]", required)
    unknown = [str(name) for name in names if name not in entries]
    if unknown:
        raise UsageError(f"schema.required: unknown field {', '.join(unknown)}")
    return [_field(name, entry, name in names) for name, entry in entries.items()]


def checked_values(fields: list[Field], values: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the values of a form. Raises `UsageError` that lists every invalid field."""
    known = {field.name for field in fields}
    problems = [f"{name}: unknown field" for name in values if name not in known]
    result: dict[str, Any] = {}
    for field in fields:
        value = values.get(field.name)
        try:
            if value is None or value == "":
                value = field.default
            if value is not None:
                result[field.name] = _checked(field, value)
            elif field.required:
                raise UsageError("is required")
        except UsageError as error:
            problems.append(f"{field.name}: {error.message}")
    if problems:
        raise UsageError("; ".join(problems), details={"fields": problems})
    return result


def value_of(field: Field, text: str) -> str | float | bool:
    """Parse a value that was entered as text."""
    text = text.strip() if field.type != "text" else text
    if field.type == "boolean":
        words = {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}
        if text.lower() not in words:
            raise UsageError("answer yes or no")
        return words[text.lower()]
    if field.type in ("number", "integer"):
        try:
            return int(text) if field.type == "integer" else float(text)
        except ValueError:
            raise UsageError(f"expected {_EXPECTED[field.type]}") from None
    return text


_EXPECTED: Mapping[FieldType, str] = {
    "string": "text",
    "text": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "choice": "one of the choices",
    "date": "a date such as 2026-11-16",
    "secret": "text",
}


def _field(name: str, entry: Any, is_required: bool) -> Field:
    at = f"schema.properties.{name}"
    if not name or len(name) > _LONGEST_NAME or not is_plain(name):
        raise UsageError(f"schema.properties: invalid field name {name[:_LONGEST_NAME]!r}")
    if not isinstance(entry, dict):
        raise UsageError(f"{at}: expected an object with a type")
    given = cast("dict[str, Any]", entry)
    unknown = sorted(set(given) - _KEYS)
    if unknown:
        raise UsageError(f"{at}: unknown key {', '.join(unknown)}")
    field = Field(
        name=name,
        type=_type_of(at, given),
        label=_text(at, given, "title"),
        description=_text(at, given, "description"),
        required=is_required,
        choices=_choices(at, given),
        minimum=_bound(at, given, "minimum", "minLength"),
        maximum=_bound(at, given, "maximum", "maxLength"),
    )
    if field.minimum is not None and field.maximum is not None and field.minimum > field.maximum:
        raise UsageError(f"{at}: minimum must not exceed maximum")
    if given.get("default") is None:
        return field
    try:
        return structs.replace(field, default=_checked(field, given["default"]))
    except UsageError as error:
        raise UsageError(f"{at}.default: {error.message}") from None


def _type_of(at: str, given: Mapping[str, Any]) -> FieldType:
    kind, form = given.get("type", "string"), given.get("format")
    if "enum" in given:
        return "choice"
    if kind == "string" and form == "date":
        return "date"
    if kind == "string" and form in _MULTILINE:
        return "text"
    if form is not None:
        raise UsageError(f'{at}.format: expected "date" or "multiline" for a string, got {form!r}')
    if kind in ("string", "number", "integer", "boolean"):
        return kind
    raise UsageError(f"{at}.type: expected string, number, integer or boolean, got {kind!r}")


def _text(at: str, given: Mapping[str, Any], key: str) -> str:
    text = given.get(key, "")
    if not isinstance(text, str) or len(text) > _LONGEST_LABEL:
        raise UsageError(f"{at}.{key}: expected text of at most {_LONGEST_LABEL} characters")
    return clean_text(text)


def _choices(at: str, given: Mapping[str, Any]) -> list[str]:
    if "enum" not in given:
        return []
    choices = given["enum"]
    if not isinstance(choices, list) or not 0 < len(cast("list[Any]", choices)) <= MOST_CHOICES:
        raise UsageError(f"{at}.enum: expected a list of 1 to {MOST_CHOICES} strings")
    texts = cast("list[Any]", choices)
    if not all(isinstance(text, str) and 0 < len(text) <= _LONGEST_LABEL for text in texts):
        raise UsageError(f"{at}.enum: expected choices of 1 to {_LONGEST_LABEL} characters")
    if not all(is_plain(text) for text in texts):
        raise UsageError(f"{at}.enum: a choice must be one line without invisible characters")
    if len(set(texts)) != len(texts):
        raise UsageError(f"{at}.enum: duplicate choice")
    return texts


def _bound(at: str, given: Mapping[str, Any], number: str, length: str) -> float | None:
    for key in (number, length):
        value = given.get(key)
        if value is not None:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UsageError(f"{at}.{key}: expected a number")
            if not _is_finite(value):
                raise UsageError(f"{at}.{key}: expected a finite number")
            return value
    return None


def _is_finite(value: float) -> bool:
    """Whether the value is finite and fits into a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _checked(field: Field, value: Any) -> str | float | bool:
    expected = UsageError(f"expected {_EXPECTED[field.type]}")
    match field.type:
        case "boolean":
            if not isinstance(value, bool):
                raise expected
            return value
        case "number" | "integer":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise expected
            if not _is_finite(value) or (field.type == "integer" and value != int(value)):
                raise expected
            _within(field, value, "")
            return int(value) if field.type == "integer" else value
        case _:
            return _checked_text(field, value, expected)


def _checked_text(field: Field, value: Any, expected: UsageError) -> str:
    if not isinstance(value, str):
        raise expected
    value = clean_text(value)
    if field.type == "choice" and value not in field.choices:
        raise UsageError(f"expected one of {', '.join(field.choices)}")
    if field.type == "date":
        try:
            date.fromisoformat(value)
        except ValueError:
            raise expected from None
    if field.type in ("string", "text"):
        if len(value) > LONGEST_VALUE:
            raise UsageError(f"expected at most {LONGEST_VALUE} characters")
        if field.type == "string" and "\n" in value:
            raise UsageError("expected one line")
        _within(field, len(value), " characters")
    return value


def _within(field: Field, size: float, unit: str) -> None:
    if field.minimum is not None and size < field.minimum:
        raise UsageError(f"expected at least {field.minimum:g}{unit}")
    if field.maximum is not None and size > field.maximum:
        raise UsageError(f"expected at most {field.maximum:g}{unit}")
