"""Runs one tool call, from raw arguments to a result for the model."""

import asyncio
import hashlib
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePosixPath
from typing import Any, TypeVar, cast

import msgspec
from msgspec import Struct

from retinue.errors import RefusedError, RetinueError
from retinue.records import FileReference, ToolStatus
from retinue.text import clean_json, clean_text
from retinue.tools.port import Pending, Tool, ToolContext, ToolOutput, Verified
from retinue.tools.threads import goes_on

logger = logging.getLogger(__name__)

T = TypeVar("T")

_GRACE_SECONDS = 1.0
"""How long a stopped tool may take to clean up."""

_HEAD_SHARE = 0.6

Redact = Callable[[str], str]
"""Removes secrets from a text."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"GIF8", ".gif"),
    (b"%PDF-", ".pdf"),
    (b"PK\x03\x04", ".zip"),
    (b"\x1f\x8b", ".gz"),
)

_abandoned: set[asyncio.Task[Any]] = set()


class Finished(Struct, frozen=True, kw_only=True):
    """The outcome of a call; failures are results too."""

    output: ToolOutput
    status: ToolStatus = "ok"
    cut: int = 0  # number of omitted characters
    pending: Pending | None = None  # not finished: the result arrives as a message


class Unfinished(Struct, frozen=True):
    """There is no result: the call took too long or cancelled itself."""

    reason: str


class Raised(Struct, frozen=True):
    """An exception of foreign code, as a value."""

    error: BaseException


async def run_tool(
    tool: Tool,
    ctx: ToolContext,
    arguments: Mapping[str, Any],
    *,
    timeout_seconds: float,
    output_limit: int,
    redact: Redact | None = None,
) -> Finished:
    """Validate the arguments, run the tool and clean its output; the tool's own limits win.

    Only the caller's cancellation is raised, after the tool was cancelled. Output and log lines
    pass through `redact` before they are cut.
    """
    seconds = tool.timeout_seconds or timeout_seconds
    ended = await within(partial(_contained, tool, ctx, arguments), seconds, tool.name)
    if isinstance(ended, Unfinished):
        finished = _failed(ended.reason)
    else:
        finished = _outcome(tool, ended, redact)
    return _tidy(finished, tool.output_limit or output_limit, redact)


async def run_check(
    tool: Tool,
    ctx: ToolContext,
    arguments: Mapping[str, Any],
    *,
    timeout_seconds: float,
    redact: Redact | None = None,
) -> Verified | None:
    """Check whether a call with a lost outcome happened; None if that stays unknown."""
    if tool.check is None:
        return None
    seconds = tool.timeout_seconds or timeout_seconds
    verified = await within(partial(_checked, tool, ctx, arguments), seconds, tool.name)
    if isinstance(verified, Raised):
        reason = describe(verified.error)
        reason = reason if redact is None else redact(reason)
        logger.warning("tool check failed", extra={"tool": tool.name, "error": reason})
    if not isinstance(verified, Verified):
        return None
    if verified.output is None:
        return verified
    limit = tool.output_limit or len(verified.output.text) + 1
    output = _tidy(Finished(output=verified.output), limit, redact).output
    return Verified(happened=verified.happened, output=output)


async def within(work: Callable[[], Awaitable[T]], seconds: float, name: str) -> T | Unfinished:
    """Run the work in its own task and wait at most so many seconds; the task may outlive that."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    task = loop.create_task(_signalling(ended, work), name=f"tool {name}")
    timer = loop.call_later(seconds, _signal, ended)
    try:
        await ended
    except asyncio.CancelledError:
        await _stop(task)
        raise
    finally:
        timer.cancel()
    if not task.done():
        has_ended = await _stop(task)
        return Unfinished(
            f"{name} took longer than its limit of {seconds:g} seconds and was stopped."
            + ("" if has_ended else " It did not stop and may still be running.")
        )
    if task.cancelled():
        return Unfinished(f"{name} cancelled itself and returned no result.")
    return task.result()


async def _signalling(ended: "asyncio.Future[None]", work: Callable[[], Awaitable[T]]) -> T:
    try:
        return await work()
    finally:
        _signal(ended)


def _signal(ended: "asyncio.Future[None]") -> None:
    if not ended.done():
        ended.set_result(None)


async def _contained(tool: Tool, ctx: ToolContext, arguments: Mapping[str, Any]) -> object:
    """Catch everything but a cancellation: a SystemExit would end the event loop."""
    try:
        return await tool.invoke(ctx, tool.validate(arguments))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001  (every exception of a tool is its result)
        return Raised(error)


async def _checked(tool: Tool, ctx: ToolContext, arguments: Mapping[str, Any]) -> object:
    assert tool.check is not None
    try:
        return await tool.check(ctx, tool.validate(arguments))
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # noqa: BLE001
        return Raised(error)


async def _stop(task: "asyncio.Task[Any]") -> bool:
    """Cancel the task and wait briefly; return False if it keeps running."""
    _abandoned.add(task)
    task.add_done_callback(_abandoned.discard)
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE_SECONDS)
    return task.done() and not goes_on(task)


def _outcome(tool: Tool, value: object, redact: Redact | None = None) -> Finished:
    match value:
        case Raised(RefusedError() as error):
            return _failed(error.message, status="refused")
        case Raised(RetinueError() as error):
            return _failed(error.message)
        case Raised(error):
            place = _place(error)
            if redact is None:
                logger.info("tool failed", exc_info=error, extra={"tool": tool.name})
            else:
                told = redact("".join(traceback.format_exception(error)))
                logger.info("tool failed", extra={"tool": tool.name, "error": told})
            return _failed(f"{tool.name} failed with {describe(error)}{place}")
        case ToolOutput():
            return Finished(output=value, status="error" if value.is_error else "ok")
        case Pending():
            return Finished(output=ToolOutput(text=""), status="pending", pending=value)
        case _:
            return _failed(
                f"{tool.name} returned a {type(value).__name__}, which is not a ToolOutput."
            )


def _failed(text: str, *, status: ToolStatus = "error") -> Finished:
    return Finished(output=ToolOutput(text=text, is_error=True), status=status)


def describe(error: BaseException) -> str:
    """Describe an exception, even if its own text cannot be read."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001  (a tool's exception may do anything)
        text = ""
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def _place(error: BaseException) -> str:
    """Return the file and line of the tool's code, never the values around it."""
    try:
        frames = traceback.extract_tb(error.__traceback__, limit=-1)
    except Exception:  # noqa: BLE001
        return ""
    return f" ({frames[0].filename.rpartition('/')[2]}:{frames[0].lineno})" if frames else ""


def _tidy(finished: Finished, limit: int, redact: Redact | None = None) -> Finished:
    if finished.pending is not None:
        return finished
    output = finished.output
    text = cast("object", output.text)  # a tool may have put anything there
    whole = text if isinstance(text, str) else str(text)
    if redact is not None:
        whole = redact(whole)
    shown, cut = cut_text(whole, limit)
    return Finished(
        output=ToolOutput(
            text=clean_text(shown), is_error=output.is_error, files=tuple(output.files)
        ),
        status=finished.status,
        cut=cut,
    )


def cut_text(text: str, limit: int) -> tuple[str, int]:
    """Keep the head and tail of a text over the limit, with a note about the omitted part."""
    cut = len(text) - limit
    if cut <= 0:
        return text, 0
    head = round(limit * _HEAD_SHARE)
    tail = limit - head
    notice = f"\n\n[{cut} of {len(text)} characters omitted]\n\n"
    return text[:head] + notice + (text[-tail:] if tail else ""), cut


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file created by a tool; it is saved to the agent's file tree."""

    name: str
    data: bytes


async def output_of(ctx: ToolContext, value: Any, *, tool_name: str) -> ToolOutput:
    """Convert text, JSON, bytes, attachments or a list of these to a `ToolOutput`."""
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
    """Encode dataclasses, structs, models, dates, enums and plain values as JSON."""
    return msgspec.json.encode(as_plain(value)).decode()


def as_plain(value: Any) -> Any:
    """Convert a value to plain JSON types."""
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
    """Save a file as an attachment; the same call always uses the same path."""
    # Call ids are not unique: some providers restart them with each response.
    call = hashlib.sha256(ctx.idempotency_key.encode()).hexdigest()[:12]
    plain = PurePosixPath(clean_text(name).replace("\\", "/")).name[-100:] or "file"
    return await ctx.files.write(f"/attachments/{call}-{plain}", data)


def _suffix(data: bytes) -> str:
    for signature, suffix in _MAGIC:
        if data.startswith(signature):
            return suffix
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return ".bin"
