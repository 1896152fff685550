"""JSON schemas as text."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from manual.markdown import code, table

Schema = Mapping[str, Any]

_NAMED = "#/components/schemas"  # those of the page about HTTP; a tool's own have no page
_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "object",
    "null": "`null`",
}


def kind_of(schema: Schema) -> str:
    """Describe the type of a value; named types are links."""
    if "$ref" in schema:
        path, _, name = str(schema["$ref"]).rpartition("/")
        return f"[{name}](http.md#{name.lower()})" if path == _NAMED else "object"
    if "enum" in schema:
        return ", ".join(code(_shown(choice)) for choice in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind_of(choice) for choice in schema["anyOf"]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_KINDS.get(name, name) for name in cast("Sequence[str]", kind))
    if kind == "array":
        inner = schema.get("items")
        return f"list of {kind_of(inner)}" if inner else "list"
    return _KINDS.get(str(kind), "anything")


def fields_table(schema: Schema, *, demand: str = "always present") -> str:
    """List the fields of an object; `demand` is the heading for required ones."""
    required = set(schema.get("required", ()))
    rows = [
        (code(name), kind_of(inner), "yes" if name in required else "", _about(inner))
        for name, inner in schema.get("properties", {}).items()
    ]
    has_words = any(row[3] for row in rows)
    head = ("field", "type", demand, "description")
    return table(head, rows) if has_words else table(head[:3], [row[:3] for row in rows])


def _about(schema: Schema) -> str:
    default = schema.get("default")
    said = str(schema.get("description", ""))
    if default in (None, "", [], {}, False):
        return said
    return f"{said} (default: {code(_shown(default))})".strip()


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
