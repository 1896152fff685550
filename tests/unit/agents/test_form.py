"""Forms: fields that can be shown, and values that fit them."""

from typing import Any

import pytest

from retinue.agents.form import checked_values, parse_form, value_of
from retinue.errors import UsageError


def form(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def test_every_type_of_field_is_read() -> None:
    fields = parse_form(
        form(
            "name",
            name={"type": "string", "title": "Your name", "maxLength": 5},
            story={"type": "string", "format": "multiline"},
            born={"type": "string", "format": "date"},
            size={"type": "string", "enum": ["S", "M"], "default": "M"},
            count={"type": "integer", "minimum": 1, "maximum": 3},
            price={"type": "number"},
            ok={"type": "boolean"},
        )
    )
    assert [field.type for field in fields] == [
        "string",
        "text",
        "date",
        "choice",
        "integer",
        "number",
        "boolean",
    ]
    values = {"name": "Ada", "story": "a\nb", "born": "1815-12-10", "count": 2, "ok": True}
    assert checked_values(fields, values) == {**values, "size": "M"}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({}, "schema.properties: define at least one field"),
        ({"type": "array"}, 'the type must be "object"'),
        (form(**{f"f{n}": {"type": "string"} for n in range(21)}), "at most 20 fields"),
        (form("b", a={"type": "string"}), "schema.required: unknown field b"),
        (form(a={"type": "object"}), "schema.properties.a.type"),
        (form(a={"type": "string", "format": "email"}), "schema.properties.a.format"),
        (form(a={"type": "string", "enum": []}), "schema.properties.a.enum"),
        (form(a={"type": "string", "enum": ["x", "x"]}), "duplicate choice"),
        (form(a={"type": "string", "enum": ["x\u202e"]}), "invisible characters"),
        (
            form(a={"type": "integer", "minimum": 2, "maximum": 1}),
            "minimum must not exceed maximum",
        ),
        (form(a={"type": "integer", "default": "x"}), "schema.properties.a.default"),
        (form(a={"type": "string", "widget": "slider"}), "unknown key widget"),
        (form(a={"type": "integer", "maximum": 10**400}), "expected a finite number"),
        (form(a="string"), "schema.properties.a: expected an object"),
        (form(**{"a\nb": {"type": "string"}}), "invalid field name"),
    ],
)
def test_a_form_that_cannot_be_shown_is_refused_by_its_field(
    schema: dict[str, Any], problem: str
) -> None:
    with pytest.raises(UsageError) as refused:
        parse_form(schema)
    assert problem in refused.value.message


@pytest.mark.parametrize(
    ("entry", "value", "problem"),
    [
        ({"type": "string"}, 5, "expected text"),
        ({"type": "string"}, "a\nb", "expected one line"),
        ({"type": "string", "minLength": 3}, "ab", "at least 3 characters"),
        ({"type": "integer"}, 1.5, "a whole number"),
        ({"type": "integer"}, True, "a whole number"),
        ({"type": "number", "maximum": 3}, 4, "at most 3"),
        ({"type": "number"}, float("nan"), "a number"),
        ({"type": "number"}, 10**400, "a number"),
        ({"type": "integer"}, -(10**400), "a whole number"),
        ({"type": "boolean"}, "yes", "true or false"),
        ({"enum": ["a", "b"]}, "c", "one of a, b"),
        ({"type": "string", "format": "date"}, "16.11.2026", "a date"),
    ],
)
def test_a_value_that_does_not_fit_is_told_by_its_field(
    entry: dict[str, Any], value: Any, problem: str
) -> None:
    with pytest.raises(UsageError) as refused:
        checked_values(parse_form(form(f=entry)), {"f": value})
    assert refused.value.message.startswith("f: ")
    assert problem in refused.value.message


def test_typed_words_become_values() -> None:
    fields = parse_form(form(n={"type": "integer"}, ok={"type": "boolean"}, s={"type": "string"}))
    assert [value_of(fields[0], " 3 "), value_of(fields[1], "Yes"), value_of(fields[2], "x ")] == [
        3,
        True,
        "x",
    ]
    with pytest.raises(UsageError, match="yes or no"):
        value_of(fields[1], "maybe")
