"""What a model would be sent, as people look at it: part by part, with the size of each."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from retinue.agents.context import (
    IMAGE_PLACEHOLDER,
    characters_of_part,
    content_characters,
    estimated_tokens,
    json_characters,
)
from retinue.agents.state import TokenSnapshot
from retinue.engine.variables.values import redacted_json
from retinue.model_messages import (
    AssistantMessage,
    AttachedImage,
    Content,
    ImageContent,
    ModelMessage,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.models.port import ModelRequest, ToolSpec
from retinue.records import CallPart, Part, ThinkingPart

Redact = Callable[[str], str]


class _View(Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class ContextSection(_View, frozen=True, kw_only=True):
    """A part of the system prompt, or of what comes after the conversation."""

    name: str
    text: str
    tokens: int


class ContextTool(_View, frozen=True, kw_only=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]
    tokens: int


class ContextPart(_View, frozen=True, kw_only=True):
    """A piece of a message; of an image there is only what it is."""

    type: Literal["text", "thinking", "call", "result", "image"]
    text: str  # of a call, its arguments as JSON
    name: str = ""  # of the tool
    call: str = ""
    is_error: bool = False


class ContextMessage(_View, frozen=True, kw_only=True):
    """One message of the conversation."""

    role: Literal["user", "assistant", "tool"]
    parts: list[ContextPart]
    tokens: int


class ContextTokens(_View, frozen=True, kw_only=True):
    """Estimates by part, and the sum as the engine counts it."""

    system: int
    tools: int
    messages: int
    closing: int
    estimated: int
    corrected: int  # the estimate, scaled by how far off the last one was


class ContextMarks(_View, frozen=True, kw_only=True):
    """Where the engine sums up after the turn, before the next call, and drops the oldest."""

    warning: int
    critical: int
    full: int


class ContextSummary(_View, frozen=True, kw_only=True):
    """What stands for the older part of the conversation."""

    kept_from: int  # the first record that is shown as it was
    reason: str
    at: datetime | None
    tokens_before: int
    tokens: int  # of the summary


class ContextView(_View, frozen=True, kw_only=True):
    """All that a model would be sent now."""

    agent_id: str
    definition: str
    side: str
    model: str
    pressure: Literal["low", "warning", "critical", "full"]
    limit: int
    marks: ContextMarks
    tokens: ContextTokens
    reported: TokenSnapshot | None  # by the provider, for the last call
    system: list[ContextSection]
    tools: list[ContextTool]
    messages: list[ContextMessage]
    closing: list[ContextSection]
    summary: ContextSummary | None
    hooks: list[str]  # that may have changed it
    blocked: str | None = None  # what a hook answers instead of asking the model


def section_view(name: str, text: str, redact: Redact) -> ContextSection:
    text = redact(text)
    return ContextSection(name=name, text=text, tokens=estimated_tokens(len(text)))


def tool_view(spec: ToolSpec) -> ContextTool:
    return ContextTool(
        name=spec.name,
        description=spec.description,
        parameters=dict(spec.parameters),
        tokens=estimated_tokens(_spec_characters(spec)),
    )


def message_view(message: ModelMessage, redact: Redact) -> ContextMessage:
    match message:
        case UserMessage():
            parts = [_content_view(content, redact) for content in message.content]
            role = "user"
        case AssistantMessage():
            parts = [_part_view(part, redact) for part in message.parts]
            role = "assistant"
        case ToolMessage():
            text = redact(message.text)
            result = ContextPart(
                type="result",
                text=text,
                name=message.name,
                call=message.call,
                is_error=message.is_error,
            )
            parts, role = [result], "tool"
    return ContextMessage(
        role=role, parts=parts, tokens=estimated_tokens(_message_characters(message))
    )


def tokens_by_part(request: ModelRequest, *, estimated: int, corrected: int) -> ContextTokens:
    return ContextTokens(
        system=estimated_tokens(len(request.system)),
        tools=estimated_tokens(sum(map(_spec_characters, request.tools))),
        messages=estimated_tokens(sum(map(_message_characters, request.messages))),
        closing=estimated_tokens(len(request.closing)),
        estimated=estimated,
        corrected=corrected,
    )


def _spec_characters(spec: ToolSpec) -> int:
    return len(spec.name) + len(spec.description) + json_characters(spec.parameters)


def _message_characters(message: ModelMessage) -> int:
    match message:
        case UserMessage():
            return sum(map(content_characters, message.content))
        case AssistantMessage():
            return sum(map(characters_of_part, message.parts))
        case ToolMessage():
            return len(message.text)


def _content_view(content: Content, redact: Redact) -> ContextPart:
    match content:
        case TextContent():
            return ContextPart(type="text", text=redact(content.text))
        case ImageContent():
            size = f"{content.mime_type}, {len(content.data)} bytes"
            return ContextPart(type="image", text=f"{IMAGE_PLACEHOLDER} {size}")
        case AttachedImage():
            return ContextPart(type="image", text=f"{IMAGE_PLACEHOLDER} {content.file.name}")


def _part_view(part: Part, redact: Redact) -> ContextPart:
    if isinstance(part, CallPart):
        arguments = msgspec.json.encode(redacted_json(part.arguments, redact)).decode()
        written = arguments if part.malformed is None else redact(part.malformed)
        return ContextPart(type="call", text=written, name=part.name, call=part.id)
    kind = "thinking" if isinstance(part, ThinkingPart) else "text"
    return ContextPart(type=kind, text=redact(part.text))
