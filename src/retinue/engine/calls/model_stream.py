"""One model call: resolve attachments, stream, and give back a whole response or a typed error."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from msgspec import structs

from retinue.agents.context import neutral
from retinue.errors import ModelError, RetinueError, StreamCutError
from retinue.model_messages import (
    AttachedImage,
    Content,
    ImageContent,
    ModelMessage,
    TextContent,
    UserMessage,
)
from retinue.models.port import Completed, Model, ModelEvent, ModelRequest
from retinue.records import CallPart, FileReference, Part, TextPart
from retinue.text import clean_json, clean_text
from retinue.tools.port import AgentFiles

LARGEST_IMAGE = 5 * 1024 * 1024

_encoder = msgspec.json.Encoder()


async def ask(
    model: Model, request: ModelRequest, show: Callable[[ModelEvent], None] | None
) -> Completed:
    """Stream the response to whoever watches and give it whole; one without an end is an error."""
    completed: Completed | None = None
    try:
        async for event in model.stream(request):
            if isinstance(event, Completed):
                completed = event
            elif show is not None:
                show(event)
    except RetinueError:
        raise
    except asyncio.CancelledError as error:
        if _is_cancelled():
            raise
        raise ModelError(f"{model.name} cancelled itself", is_retryable=True) from error
    except Exception as error:
        # An adapter's own defect must not look like an answer, nor take the agent down.
        raise ModelError(f"{type(error).__name__}: {error}", is_retryable=True) from error
    if completed is None:
        raise StreamCutError(f"the answer of {model.name} broke off before its end")
    if not any(map(_says_something, completed.parts)):
        raise ModelError(f"{model.name} gave an empty reply", is_retryable=True)
    if _is_clean(completed.parts):
        return completed
    return structs.replace(completed, parts=[_clean(part) for part in completed.parts])


def _is_cancelled() -> bool:
    """Whether somebody cancelled this task; else what it awaited gave up by itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _is_clean(parts: Sequence[Part]) -> bool:
    """Whether all of it can be stored as it is, as nearly always."""
    try:
        return b"\\u0000" not in _encoder.encode(parts)
    except UnicodeEncodeError:
        return False


def _clean(part: Part) -> Part:
    """Make sure that the part can be stored, whatever characters the model produced."""
    if isinstance(part, CallPart):
        malformed = None if part.malformed is None else clean_text(part.malformed)
        return structs.replace(
            part,
            name=clean_text(part.name),
            arguments=clean_json(part.arguments),
            malformed=malformed,
        )
    text = clean_text(part.text)
    return part if text is part.text else structs.replace(part, text=text)


def _says_something(part: Part) -> bool:
    """Thinking alone is no answer."""
    return isinstance(part, CallPart) or (isinstance(part, TextPart) and bool(part.text.strip()))


async def with_images(messages: Sequence[ModelMessage], files: AgentFiles) -> list[ModelMessage]:
    """Put the images' data where the messages only name their files."""
    return [
        structs.replace(message, content=[await _loaded(entry, files) for entry in message.content])
        if isinstance(message, UserMessage)
        else message
        for message in messages
    ]


async def _loaded(content: Content, files: AgentFiles) -> Content:
    if not isinstance(content, AttachedImage):
        return content
    try:
        data = await files.read(content.file.path)
    except RetinueError:
        return TextContent(text=missing_text(content.file))
    if len(data) > LARGEST_IMAGE:
        return TextContent(text=f"[image too large to show: {neutral(content.file.name)}]")
    return ImageContent(mime_type=content.file.mime_type, data=data)


def missing_text(file: FileReference) -> str:
    return f"[missing attachment: {neutral(file.name)}]"
