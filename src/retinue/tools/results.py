"""What a function gave back, as the output of a tool."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

import msgspec

from retinue.records import FileReference
from retinue.text import clean_json, clean_text
from retinue.tools.port import ToolContext, ToolOutput

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"%PDF-", ".pdf"),
    (b"PK\x03\x04", ".zip"),
    (b"\x1f\x8b", ".gz"),
)


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a tool made; it is put into the agent's tree."""

    name: str
    data: bytes


async def output_of(ctx: ToolContext, value: Any, *, tool_name: str) -> ToolOutput:
    """Turn text, JSON, bytes, attachments or a list of these into a `ToolOutput`."""
    match value:
        case ToolOutput():
            return value
        case None:
            return ToolOutput(text="Done.")
        case str():
            return ToolOutput(text=value)
        case bytes() | bytearray() | memoryview() | Attachment() | FileReference():
            return await _with_files(ctx, [value], tool_name)
        case list() | tuple() if _holds_files(cast("Sequence[Any]", value)):
            return await _with_files(ctx, cast("Sequence[Any]", value), tool_name)
        case _:
            return ToolOutput(text=as_json(value))


def as_json(value: Any) -> str:
    """Write dataclasses, structs, models, dates, enums and plain values as JSON."""
    return msgspec.json.encode(as_plain(value)).decode()


def as_plain(value: Any) -> Any:
    """The same as values that JSON has."""
    return clean_json(msgspec.to_builtins(value, str_keys=True, enc_hook=_plain))


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"a value of type {type(value).__name__} is neither text nor JSON")
    return dump(mode="json")


def _holds_files(values: Sequence[Any]) -> bool:
    files = (bytes, Attachment, FileReference)
    return any(isinstance(value, files) for value in values) and all(
        isinstance(value, (*files, str)) for value in values
    )


async def _with_files(ctx: ToolContext, values: Sequence[Any], tool_name: str) -> ToolOutput:
    texts: list[str] = []
    files: list[FileReference] = []
    for value in values:
        match value:
            case str():
                texts.append(value)
            case FileReference():
                files.append(value)
            case Attachment():
                files.append(await store_file(ctx, value.name, value.data))
            case _:
                data = bytes(value)
                number = f"-{len(files) + 1}" if files else ""
                name = f"{tool_name}{number}{_suffix(data)}"
                files.append(await store_file(ctx, name, data))
    texts += [f"File: {file.path} ({file.mime_type}, {file.size} bytes)" for file in files]
    return ToolOutput(text="\n".join(texts), files=tuple(files))


async def store_file(ctx: ToolContext, name: str, data: bytes) -> FileReference:
    """Put it among the attachments, where the same call always finds the same place."""
    # Providers number the calls of each response anew, so the call's own id would not do.
    call = hashlib.sha256(ctx.idempotency_key.encode()).hexdigest()[:12]
    plain = PurePosixPath(clean_text(name).replace("\\", "/")).name[-100:] or "file"
    return await ctx.files.write(f"/attachments/{call}-{plain}", data)


def _suffix(data: bytes) -> str:
    for signature, suffix in _SIGNATURES:
        if data.startswith(signature):
            return suffix
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return ".bin"
