"""The model port: takes a request and streams events; the last one is the whole response."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from retinue.definitions.model_options import ModelOptions
from retinue.model_messages import ModelMessage
from retinue.records import Part, Usage


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as described to the model."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One model call."""

    system: str
    messages: Sequence[ModelMessage]
    tools: Sequence[ToolSpec] = ()
    closing: str = ""  # sent after the messages; changes with each call, so it is not cached
    options: ModelOptions = ModelOptions()
    session: str | None = None  # stable per conversation; some providers use it for caching
    attempt: int = 0


class TextDelta(Struct, frozen=True, kw_only=True):
    """More of a text part."""

    part: int  # the index of the part in the response
    text: str


class ThinkingDelta(Struct, frozen=True, kw_only=True):
    """More of a thinking part."""

    part: int
    text: str


class CallDelta(Struct, frozen=True, kw_only=True):
    """More of a tool call."""

    part: int
    name: str  # the name in the first delta of the part; later ""
    arguments: str  # more of the JSON text


class Completed(Struct, frozen=True, kw_only=True):
    """The whole response; the last event. A stream that ends without it is incomplete."""

    parts: Sequence[Part]
    usage: Usage | None
    finish: str  # the provider's own finish reason
    model: str = ""  # the provider's name for it
    provider: Mapping[str, Any] | None = None


ModelEvent = TextDelta | ThinkingDelta | CallDelta | Completed


class Model(Protocol):
    """One model of one provider. Raises only `ModelError`s, and never retries."""

    @property
    def name(self) -> str:
        """The name in settings and definitions: `openai:gpt-5`, `offline`."""
        ...

    @property
    def window(self) -> int | None:
        """The context window in tokens, if known."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]: ...


class Models(Protocol):
    """Finds models by name."""

    async def get(self, name: str) -> Model:
        """Raises `UnknownModelError`, with instructions, if the model cannot be used."""
        ...

    def names(self) -> Sequence[str]:
        """Return the configured models, for completion and error messages."""
        ...
