"""The model port: a request in, a stream of events out, one of them the whole response."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from retinue.definitions.model_options import ModelOptions
from retinue.model_messages import ModelMessage
from retinue.records import Part, Usage


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # JSON schema of an object


class ModelRequest(Struct, frozen=True, kw_only=True):
    """One model call."""

    system: str
    messages: Sequence[ModelMessage]
    tools: Sequence[ToolSpec] = ()
    closing: str = ""  # told after the messages, and different each time: nothing to cache
    options: ModelOptions = ModelOptions()
    session: str | None = None  # stable per conversation, for providers that cache by it
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
    """A tool call that takes shape."""

    part: int
    name: str  # the whole name, in the first delta of the part; later ""
    arguments: str  # more of the JSON text


class Completed(Struct, frozen=True, kw_only=True):
    """The whole response; the last event. A stream that ends without it was cut."""

    parts: Sequence[Part]
    usage: Usage | None
    finish: str  # the provider's own finish reason
    model: str = ""  # as the provider names it
    provider: Mapping[str, Any] | None = None


ModelEvent = TextDelta | ThinkingDelta | CallDelta | Completed


class Model(Protocol):
    """One model of one provider. Errors are `ModelError`s; the adapter never retries by itself."""

    @property
    def name(self) -> str:
        """As settings and definitions spell it: `openai:gpt-5`, `offline`."""
        ...

    @property
    def window(self) -> int | None:
        """Its context window in tokens, when known."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]: ...


class Models(Protocol):
    """Finds models by name."""

    async def get(self, name: str) -> Model:
        """Raise `UnknownModelError`, which says what to do: no provider, no key, no such model."""
        ...

    def names(self) -> Sequence[str]:
        """Models that are known to be configured, for completion and error messages."""
        ...
