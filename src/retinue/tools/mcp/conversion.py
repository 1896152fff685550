"""Converts names, effects and results of MCP tools."""

import base64
import binascii
import hashlib
import mimetypes
import re

import mcp_types as types

from retinue.text import clean_text
from retinue.tools.execution import Attachment, as_json, output_of
from retinue.tools.port import Effect, ToolContext, ToolOutput

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 8_000


def tool_name(server: str, name: str) -> str:
    """Return `mcp_<server>_<tool>`, in at most 64 characters that every provider accepts."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", f"mcp_{server}_{name}")
    if len(plain) <= _LONGEST_NAME:
        return plain
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _LONGEST_NAME - 9]}_{digest}"


def effect_of(tool: types.Tool) -> Effect:
    """Derive the effect from the server's hints: read-only is pure, idempotent is keyed."""
    hints = tool.annotations
    if hints is not None and hints.read_only_hint:
        return "pure"
    return "keyed" if hints is not None and hints.idempotent_hint else "once"


def description_of(tool: types.Tool) -> str:
    text = tool.description or tool.title or tool.name
    return clean_text(text[:_LONGEST_DESCRIPTION])


async def output(ctx: ToolContext, result: types.CallToolResult, *, tool_name: str) -> ToolOutput:
    """Convert text to text, and images, audio and other data to files of the agent."""
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
                pieces.append(f"[content of type {block.type!r} is not supported]")
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
        return f"[{name}: invalid base64 data]"
    return Attachment(f"{name}{mimetypes.guess_extension(mime_type) or '.bin'}", decoded)
