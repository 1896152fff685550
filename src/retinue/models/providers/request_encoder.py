"""Converts model requests to pydantic-ai messages and settings."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pydantic_ai import messages as vendor
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from retinue.definitions.model_options import ModelOptions
from retinue.model_messages import (
    AssistantMessage,
    AttachedImage,
    Content,
    ImageContent,
    TextContent,
    ToolMessage,
    UserMessage,
)
from retinue.models.port import ModelRequest
from retinue.models.providers.connection import Connection, Kind
from retinue.models.providers.option_encoder import vendor_options
from retinue.records import CallPart, Part, TextPart, ThinkingPart

_FROM_TAGS = "content"  # pydantic-ai's id for reasoning that was part of the text


def vendor_messages(request: ModelRequest, *, name: str, kind: Kind) -> list[vendor.ModelMessage]:
    """Convert a conversation; data that another model signed is left out."""
    turns: list[vendor.ModelMessage] = []
    pending: list[vendor.ModelRequestPart] = []
    if request.system:
        pending.append(vendor.SystemPromptPart(content=request.system))
    for message in request.messages:
        if not isinstance(message, AssistantMessage):
            pending.append(_request_part(message))
            continue
        said = _response(message, is_own=_is_own(message, name))
        if not said.parts:
            continue
        if pending:
            turns.append(vendor.ModelRequest(parts=pending))
            pending = []
        turns.append(said)
    if request.closing:
        _close(pending, request.closing, kind=kind)
    if pending:
        turns.append(vendor.ModelRequest(parts=pending))
    return turns


def _close(pending: list[vendor.ModelRequestPart], text: str, *, kind: Kind) -> None:
    """Add the closing text to the last user message, or as a new message."""
    said: list[vendor.UserContent] = [text]
    if kind == "anthropic" and pending:
        said = [vendor.CachePoint(), text]  # the cached prefix ends before it
    last = pending[-1] if pending else None
    if isinstance(last, vendor.UserPromptPart) and not isinstance(last.content, str):
        pending[-1] = vendor.UserPromptPart(content=[*last.content, *said])
    else:
        pending.append(vendor.UserPromptPart(content=said))


def vendor_parameters(request: ModelRequest) -> ModelRequestParameters:
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
            )
            for tool in request.tools
        ]
    )


def vendor_settings(
    request: ModelRequest, options: ModelOptions, *, connection: Connection
) -> ModelSettings:
    """Convert options; retries are disabled, since the engine has durable ones."""
    chosen = vendor_options(options, connection, has_tools=bool(request.tools))
    chosen["max_retries"] = 0
    match connection.kind:
        case "anthropic":
            chosen["cache"] = {"messages": False} if request.closing else True
        case "openai" if request.session:
            chosen["openai_prompt_cache_key"] = request.session
        case _:
            pass
    return cast("ModelSettings", chosen)


def _is_own(message: AssistantMessage, name: str) -> bool:
    return message.provider is not None and message.provider.get("by") == name


def _request_part(message: UserMessage | ToolMessage) -> vendor.ModelRequestPart:
    match message:
        case UserMessage():
            return vendor.UserPromptPart(content=_user_content(message.content))
        case ToolMessage():
            return vendor.ToolReturnPart(
                tool_name=message.name,
                content=message.text,
                tool_call_id=message.call,
                outcome="failed" if message.is_error else "success",
            )


def _user_content(content: Sequence[Content]) -> list[vendor.UserContent]:
    said = [each for entry in content for each in _content(entry)]
    return said or ["(no text)"]


def _content(content: Content) -> Iterator[vendor.UserContent]:
    match content:
        case TextContent(text=""):
            pass
        case TextContent():
            yield content.text
        case ImageContent():
            yield vendor.BinaryContent(data=content.data, media_type=content.mime_type)
        case AttachedImage():
            yield f"[image {content.file.name}]"


def _response(message: AssistantMessage, *, is_own: bool) -> vendor.ModelResponse:
    known: Mapping[str, Any] = (message.provider or {}) if is_own else {}
    details: Mapping[str, Any] = known.get("texts") or {}
    parts: list[vendor.ModelResponsePart] = []
    for index, part in enumerate(message.parts):
        parts.extend(_response_part(part, known, details.get(str(index))))
    return vendor.ModelResponse(
        parts=parts,
        model_name=message.model or None,
        provider_name=known.get("system"),
        canonical_system=known.get("canonical"),
        provider_response_id=known.get("response"),
    )


def _response_part(
    part: Part, known: Mapping[str, Any], details: dict[str, Any] | None
) -> Iterator[vendor.ModelResponsePart]:
    system: str | None = known.get("system")
    match part:
        case TextPart(text="") if not details:
            pass
        case TextPart():
            yield vendor.TextPart(
                content=part.text,
                provider_name=system if details else None,
                provider_details=details,
            )
        case ThinkingPart():
            opaque = part.provider or {}
            if known and opaque.get("id") != _FROM_TAGS:
                yield vendor.ThinkingPart(
                    content=part.text,
                    id=opaque.get("id"),
                    signature=part.signature,
                    provider_name=system,
                    provider_details=opaque.get("details"),
                )
        case CallPart():
            opaque = (part.provider or {}) if known else {}
            yield vendor.ToolCallPart(
                tool_name=part.name,
                args=part.arguments if part.malformed is None else {"malformed": part.malformed},
                tool_call_id=part.id,
                id=opaque.get("id"),
                provider_name=system if opaque else None,
                provider_details=opaque.get("details"),
            )
