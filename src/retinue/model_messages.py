"""Messages as models receive them, independent of any provider."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from retinue.ids import CallId
from retinue.records import FileReference, Part


class TextContent(Struct, frozen=True, kw_only=True):
    """Text in a message to a model."""

    text: str


class ImageContent(Struct, frozen=True, kw_only=True):
    """An image in a message to a model."""

    mime_type: str
    data: bytes


class AttachedImage(Struct, frozen=True, kw_only=True):
    """An image that is still in the agent's files; it becomes content just before a model call."""

    file: FileReference


Content = TextContent | ImageContent | AttachedImage


class UserMessage(Struct, frozen=True, kw_only=True):
    """What the other side said, neighbours merged."""

    content: Sequence[Content]


class AssistantMessage(Struct, frozen=True, kw_only=True):
    """What the model said before, with what its provider wants back."""

    parts: Sequence[Part]
    model: str = ""
    provider: Mapping[str, Any] | None = None


class ToolMessage(Struct, frozen=True, kw_only=True):
    """The result of a call; stands directly after the message that asked for it."""

    call: CallId
    name: str
    text: str
    is_error: bool = False


ModelMessage = UserMessage | AssistantMessage | ToolMessage
