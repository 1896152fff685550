"""Between MCP's words and ours: names, effects, schemas, results."""

import base64
import binascii
import hashlib
import importlib
import itertools
import mimetypes
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

import jsonschema
import mcp_types as types
import referencing

from retinue.errors import UsageError
from retinue.messages import clean_text
from retinue.tools.port import Effect, ToolContext, ToolOutput
from retinue.tools.results import Attachment, as_json, output_of

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 8_000
_MOST_COMPLAINTS = 20
_SHOWN = 200

Validate = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def tool_name(server: str, name: str) -> str:
    """Make `mcp_<server>_<tool>` of letters that every provider takes, at most 64 of them."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp_{server}_{name}")
    if len(plain) <= _LONGEST_NAME:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - 9]}_{digest}"


def effect_of(tool: types.Tool) -> Effect:
    """Believe the hints: what only reads may overlap, what is idempotent may be repeated."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint:
        return "pure"
    return "keyed" if hints is not None and hints.idempotent_hint else "once"


def description_of(tool: types.Tool) -> str:
    text = tool.description or tool.title or tool.name
    return clean_text(text[:_LONGEST_DESCRIPTION])


def validator(tool_name: str, schema: Mapping[str, Any]) -> Validate:
    """Give the check of arguments; raises `UsageError` when the schema itself is wrong."""
    if schema.get("type") != "object":
        raise UsageError("its input schema is not that of an object")
    library: Any = importlib.import_module("jsonschema.validators")  # its types are unknown
    kind = library.validator_for(schema, default=jsonschema.Draft202012Validator)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise UsageError(f"its input schema is wrong: {error.message[:_SHOWN]}") from error
    # A pattern of a stranger can take for ever to match. The registry is empty, so that no
    # reference in the schema makes this process fetch an address.
    without_patterns = library.extend(kind, {"pattern": _nothing})
    checker = without_patterns(schema, registry=cast("Any", referencing).Registry())

    def validate(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            errors = checker.iter_errors(dict(arguments))
            wrong = [_complaint(error) for error in itertools.islice(errors, _MOST_COMPLAINTS)]
        except Exception as error:  # the library raises what a strange schema makes it
            reason = f"The arguments of {tool_name!r} cannot be checked: {error}"
            raise UsageError(reason) from error
        if wrong:
            raise UsageError(
                f"The arguments of {tool_name!r} do not fit: "
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


async def output(ctx: ToolContext, result: types.CallToolResult, *, tool_name: str) -> ToolOutput:
    """Turn texts into text, and images, sounds and other data into files of the agent."""
    pieces: list[str | Attachment] = []
    for number, block in enumerate(result.content, 1):
        match block:
            case types.TextContent():
                pieces.append(block.text)
            case types.ImageContent() | types.AudioContent():
                pieces.append(_attachment(f"{block.type}-{number}", block.mime_type, block.data))
            case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
                pieces.append(f"{resource.uri}:\n{resource.text}")
            case types.EmbeddedResource(resource=types.BlobResourceContents() as resource):
                kind = resource.mime_type or "application/octet-stream"
                pieces.append(_attachment(f"resource-{number}", kind, resource.blob))
            case types.ResourceLink():
                pieces.append(f"Resource {block.name}: {block.uri}")
            case _:
                pieces.append(f"[content of the kind {block.type!r}, which is not shown]")
    if not pieces and result.structured_content is not None:
        pieces.append(as_json(result.structured_content))
    if any(isinstance(piece, Attachment) for piece in pieces):
        made = await output_of(ctx, pieces, tool_name=tool_name)
        return ToolOutput(text=made.text, is_error=result.is_error, files=made.files)
    texts = [piece for piece in pieces if isinstance(piece, str)]
    return ToolOutput(text="\n".join(texts) or "(no output)", is_error=result.is_error)


def _attachment(name: str, mime_type: str, data: str) -> str | Attachment:
    try:
        decoded = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{name}: its data is not base64]"
    return Attachment(f"{name}{mimetypes.guess_extension(mime_type) or '.bin'}", decoded)
