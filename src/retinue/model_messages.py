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
    """An image in the agent's files; it is loaded just before a model call."""

    file: FileReference


Content = TextContent | ImageContent | AttachedImage


class UserMessage(Struct, frozen=True, kw_only=True):
    """Input to the model; adjacent messages are merged."""

    content: Sequence[Content]


class AssistantMessage(Struct, frozen=True, kw_only=True):
    """An earlier response of the model, with the data that its provider expects back."""

    parts: Sequence[Part]
    model: str = ""
    provider: Mapping[str, Any] | None = None


class ToolMessage(Struct, frozen=True, kw_only=True):
    """The result of a tool call; follows the message that made the call."""

    call: CallId
    name: str
    text: str
    is_error: bool = False


ModelMessage = UserMessage | AssistantMessage | ToolMessage
