"""The HTTP page, from the OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from manual.markdown import block, code, page, table
from manual.schemas import Schema, fields_table, kind_of
from retinue.server.app import ENDPOINTS
from retinue.server.openapi_document import document

_INTRODUCTION = """\
Requests and responses are JSON. Each request needs `Authorization: Bearer <token>`; the token is in
`.retinue/token`. Unknown fields are refused by name. An error is
`{"error": {"code", "message", "details"?}}`. A running server serves this description as OpenAPI at
`/api/openapi.json`."""
_UNIVERSAL = {"400", "401", "403", "429", "500", "503"}


def http_page() -> str:
    api = openapi()
    kinds = api["components"]["schemas"]
    operations = [
        (path, method.upper(), operation)
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    operations.sort(key=lambda entry: (_noun(entry[0]), entry[0]))
    sections: list[str] = []
    for noun, group in groupby(operations, lambda entry: _noun(entry[0])):
        sections += [f"## {noun}", *(_operation(*entry) for entry in group)]
    named = [f"### {name}\n\n{_kind(schema)}" for name, schema in kinds.items()]
    return page("HTTP", _INTRODUCTION, *sections, "## Types", *named)


def openapi() -> dict[str, Any]:
    return json.loads(document(ENDPOINTS))


def _noun(path: str) -> str:
    parts = path.strip("/").split("/")
    return parts[1] if parts[0] == "api" and len(parts) > 1 else parts[0]


def _operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    rows = [
        (code(entry["name"]), entry["in"], kind_of(entry["schema"]))
        for entry in operation["parameters"]
    ]
    lines = [
        f"### `{method} {path}`",
        f"{operation['summary']}.",
        table(("parameter", "in", "type"), rows),
        *_bodies(operation),
    ]
    return "\n\n".join(filter(None, lines))


def _bodies(operation: Mapping[str, Any]) -> Iterator[str]:
    for media, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"Body: {_content(media, content)}."
    refused: list[str] = []
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            given = [_content(media, body) for media, body in response.get("content", {}).items()]
            yield f"Returns {code(status)}" + (f": {', '.join(given)}." if given else ".")
        elif status not in _UNIVERSAL:
            refused.append(f"{code(status)} {response['description']}")
    if refused:
        yield "Errors: " + "; ".join(refused) + "."


def _content(media: str, content: Mapping[str, Any]) -> str:
    schema: Schema = content.get("schema", {})
    return kind_of(schema) if media == "application/json" and "$ref" in schema else code(media)


def _kind(schema: Schema) -> str:
    about = str(schema.get("description", ""))
    if "properties" in schema:
        return "\n\n".join(filter(None, (about, fields_table(schema))))
    if "anyOf" in schema:
        return "\n\n".join(filter(None, (about, f"One of {kind_of(schema)}.")))
    return about or block(json.dumps(schema, indent=2), "json")
