"""Generates the OpenAPI document from the endpoints and the wire types."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from retinue import __version__
from retinue.events import (
    AgentDeletedEvent,
    AgentEvent,
    ArtifactEvent,
    DefinitionsEvent,
    DeltaEvent,
    HelloEvent,
    ItemEvent,
    RecordEvent,
    RequestEvent,
    ResyncEvent,
    SchedulesEvent,
    ShowEvent,
    StepEvent,
    ToolEvent,
)
from retinue.records import (
    AssistantRecord,
    HandoffRecord,
    NoteRecord,
    ResetRecord,
    RunRecord,
    StartRecord,
    SummaryRecord,
    SystemRecord,
    ToolRecord,
    UserRecord,
)
from retinue.server.endpoints import AnyEndpoint
from retinue.server.wire import Answer, ErrorAnswer, Nothing, Subscribe

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_RECORDS = (
    StartRecord,
    ResetRecord,
    UserRecord,
    SystemRecord,
    AssistantRecord,
    ToolRecord,
    SummaryRecord,
    NoteRecord,
    RunRecord,
    HandoffRecord,
)
_EVENTS = (
    HelloEvent,
    ResyncEvent,
    RecordEvent,
    ItemEvent,
    RequestEvent,
    AgentEvent,
    AgentDeletedEvent,
    ArtifactEvent,
    StepEvent,
    DeltaEvent,
    ToolEvent,
    DefinitionsEvent,
    SchedulesEvent,
    ShowEvent,
)
_REASONS = {
    400: "Invalid request; the message names the field",
    401: "The token is missing or invalid",
    403: "Not allowed",
    404: "Not found, or owned by someone else",
    405: "Method not allowed",
    408: "The body did not arrive in time",
    409: "Conflict, such as a key used for another request",
    410: "The agent has ended",
    413: "Too large",
    415: "Not JSON",
    429: "Too many failed attempts",
    500: "Internal error; see the server's log",
    502: "The model failed",
    503: "The store is not available",
    507: "The disk is full; nothing was stored",
}
_BINARY = {"type": "string", "format": "binary"}
_COMMON = (400, 401, 403, 429, 500, 503)
_WITH_BODY = (408, 413, 415)
_PARAMETER = re.compile(r"{(\w+)(?::path)?}")


def document(endpoints: Sequence[AnyEndpoint]) -> bytes:
    """Return the OpenAPI document of these endpoints as JSON, in a stable order."""
    return _document(tuple(endpoints))


@cache
def _document(endpoints: tuple[AnyEndpoint, ...]) -> bytes:
    paths: dict[str, Json] = {}
    for endpoint in endpoints:
        path = _PARAMETER.sub(r"{\1}", endpoint.path)
        paths.setdefault(path, {})[endpoint.method.lower()] = _operation(endpoint)
    whole: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "Retinue",
            "version": __version__,
            "description": _DESCRIPTION,
        },
        "security": [{"bearer": []}, {"browser": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "browser": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "retinue",
                    "description": "Set by /api/login; the real name differs per server.",
                },
            },
            "schemas": _schemas(endpoints),
        },
    }
    return msgspec.json.format(msgspec.json.encode(whole, order="deterministic"), indent=2)


_DESCRIPTION = (
    "Durable agents: post a message, follow its fate, read history, watch events. The WebSocket"
    " at `/api/ws` accepts `Subscribe` messages, or the parameters of `/api/events` in its URL,"
    " and sends the events of `StreamEvent`."
)


def _ref(kind: type[Struct] | str) -> Json:
    name = kind if isinstance(kind, str) else kind.__name__
    return {"$ref": _REF.format(name=name)}


def _schemas(endpoints: Sequence[AnyEndpoint]) -> Json:
    answers = {e.answer for e in endpoints if isinstance(e.answer, type)}
    bodies = {e.body for e in endpoints if e.takes in ("json", "optional json")} - {Nothing}
    kinds = {ErrorAnswer, Subscribe, *answers, *bodies, *_EVENTS, *_RECORDS}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    _, components = msgspec.json.schema_components(ordered, ref_template=_REF)
    schemas: Json = components
    _complete_answers(schemas, answers | {ErrorAnswer})
    # Records are sent as the stored bytes, which the types cannot express.
    schemas["Record"] = {
        "anyOf": [_ref(kind) for kind in _RECORDS],
        "description": "One line of history. Newer servers may send other kinds.",
    }
    schemas["StreamEvent"] = {"anyOf": [_ref(kind) for kind in _EVENTS]}
    schemas["RecordEvent"]["properties"]["record"] = _ref("Record")
    schemas["HistoryPage"]["properties"]["records"]["items"] = _ref("Record")
    return schemas


def _complete_answers(schemas: Json, answers: set[type[Struct]]) -> None:
    """Mark fields as required that are always sent, although they have defaults."""
    for kind in [*answers, *Answer.__subclasses__()]:
        schema = schemas.get(kind.__name__)
        if schema is None or kind.__struct_config__.omit_defaults:
            continue
        sent = [
            field.encode_name
            for field in msgspec.structs.fields(kind)
            if field.default is not msgspec.UNSET
        ]
        schema["required"] = sorted(sent)


def _operation(endpoint: AnyEndpoint) -> Json:
    operation: Json = {
        "operationId": endpoint.run.__name__.strip("_") + "_" + _noun(endpoint.path),
        "summary": endpoint.summary,
        "parameters": [*_path_parameters(endpoint), *_query_parameters(endpoint)],
        "responses": _responses(endpoint),
    }
    if endpoint.is_public:
        operation["security"] = [{}, {"bearer": []}]
    if endpoint.takes == "bytes":
        operation["requestBody"] = {
            "required": True,
            "content": {"application/octet-stream": {"schema": _BINARY}},
        }
    elif endpoint.takes != "nothing" and endpoint.body is not Nothing:
        operation["requestBody"] = {
            "required": endpoint.takes == "json",
            "content": {"application/json": {"schema": _ref(endpoint.body)}},
        }
    return operation


def _noun(path: str) -> str:
    """Return a name for the path; those outside /api start with `root`."""
    first, *rest = path.strip("/").split("/")
    words = rest if first == "api" else ["root", first, *rest]
    return "_".join(re.sub(r"[{}.]|:path", "", word) for word in words)


def _path_parameters(endpoint: AnyEndpoint) -> list[Json]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(endpoint: AnyEndpoint) -> list[Json]:
    (_,), components = msgspec.json.schema_components([endpoint.query], ref_template=_REF)
    schema = components[endpoint.query.__name__]
    required = schema.get("required", [])
    return [
        {"name": name, "in": "query", "required": name in required, "schema": _without_null(inner)}
        for name, inner in schema.get("properties", {}).items()
    ]


def _without_null(schema: Json) -> Json:
    """Remove null from a schema: a query parameter is absent instead."""
    choices = [choice for choice in schema.get("anyOf", []) if choice.get("type") != "null"]
    cleaned = {**schema, **choices[0]} if len(choices) == 1 else dict(schema)
    if choices:
        cleaned.pop("anyOf", None)
    if "enum" in cleaned:
        cleaned["enum"] = [value for value in cleaned["enum"] if value is not None]
    if cleaned.get("default", ...) is None:
        del cleaned["default"]
    return cleaned


def _responses(endpoint: AnyEndpoint) -> Json:
    success: Json = {"description": "Done"}
    if isinstance(endpoint.answer, str):
        success["content"] = {endpoint.answer: {"schema": {}}}
    elif endpoint.answer is not None:
        success["content"] = {"application/json": {"schema": _ref(endpoint.answer)}}
    statuses = {*_COMMON, *endpoint.refuses}
    if endpoint.takes != "nothing":
        statuses.update(_WITH_BODY)
    refusal = {"application/json": {"schema": _ref(ErrorAnswer)}}
    refusals = {
        str(status): {"description": _REASONS[status], "content": refusal}
        for status in sorted(statuses)
    }
    also = {
        str(status): {**success, "description": _REASONS[status]} for status in endpoint.answers_too
    }
    return {str(endpoint.status): success, **refusals, **also}
