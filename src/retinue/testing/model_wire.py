"""The wire formats of three model providers, as far as clients depend on them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Trouble = Literal[
    "rate_limited",
    "overloaded",
    "server_error",
    "context_too_long",
    "bad_key",
    "unknown_model",
    "no_quota",
    "bad_request",
]
Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """A tool call in a response; the arguments are sent as they are."""

    name: str
    arguments: str = "{}"
    id: str | None = "call_1"
    signature: str | None = None  # for Google, in base64


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The reported usage; the input includes cached tokens."""

    input: int = 11
    output: int = 7
    cache_read: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """The content of a response."""

    model: str
    thinking: str = ""
    signature: str | None = None
    text: Sequence[str] = ()  # one entry per chunk
    calls: Sequence[ToolUse] = ()
    tokens: Tokens | None = None
    finish: str | None = None  # default: the provider's usual reason


class Dialect(ABC):
    """The wire format of one provider; `content` and `ending` are server-sent events."""

    @abstractmethod
    def content(self, said: Said) -> Iterator[bytes]: ...

    @abstractmethod
    def ending(self, said: Said) -> Iterator[bytes]: ...

    @abstractmethod
    def refusal(self, trouble: Trouble, model: str) -> tuple[int, Json]: ...

    @abstractmethod
    def error_event(self, trouble: Trouble, model: str) -> bytes: ...

    def keep_alive(self) -> bytes:
        return b": keep-alive\n\n"


def sse(data: Json, *, event: str | None = None) -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def pieces(text: str) -> list[str]:
    """Split a text in two, as providers split the arguments of calls."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


class OpenAIDialect(Dialect):
    """OpenAI's chat completions, also used by compatible servers."""

    def content(self, said: Said) -> Iterator[bytes]:
        yield self._chunk(said, {"role": "assistant", "content": ""})
        if said.thinking:
            yield self._chunk(said, {"reasoning_content": said.thinking})
        for piece in said.text:
            yield self._chunk(said, {"content": piece})
        for index, call in enumerate(said.calls):
            function = {"name": call.name, "arguments": ""}
            head = {"index": index, "type": "function", "function": function}
            if call.id is not None:
                head["id"] = call.id
            yield self._chunk(said, {"tool_calls": [head]})
            for piece in pieces(call.arguments):
                more = {"index": index, "function": {"arguments": piece}}
                yield self._chunk(said, {"tool_calls": [more]})

    def ending(self, said: Said) -> Iterator[bytes]:
        finish = said.finish or ("tool_calls" if said.calls else "stop")
        yield self._chunk(said, {}, finish=finish)
        if said.tokens is not None:
            used = said.tokens
            usage = {
                "prompt_tokens": used.input,
                "completion_tokens": used.output,
                "total_tokens": used.input + used.output,
                "prompt_tokens_details": {"cached_tokens": used.cache_read},
            }
            yield sse({**self._head(said), "choices": [], "usage": usage})
        yield b"data: [DONE]\n\n"

    def refusal(self, trouble: Trouble, model: str) -> tuple[int, Json]:
        status, code, message = _OPENAI_TROUBLE[trouble]
        words = message.format(model=model)
        kind = "invalid_request_error" if status < 429 else "server_error"
        return status, {"error": {"message": words, "type": kind, "param": None, "code": code}}

    def error_event(self, trouble: Trouble, model: str) -> bytes:
        return sse(self.refusal(trouble, model)[1])

    def _head(self, said: Said) -> dict[str, Any]:
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": said.model,
        }

    def _chunk(self, said: Said, delta: Json, *, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse({**self._head(said), "choices": [choice]})


_OPENAI_TROUBLE: Mapping[Trouble, tuple[int, str | None, str]] = {
    "rate_limited": (429, "rate_limit_exceeded", "Rate limit reached for {model}."),
    "overloaded": (503, "server_is_overloaded", "The server is overloaded."),
    "server_error": (500, None, "The server had an error."),
    "context_too_long": (
        400,
        "context_length_exceeded",
        "This model's maximum context length is 100 tokens.",
    ),
    "bad_key": (401, "invalid_api_key", "Incorrect API key provided."),
    "unknown_model": (404, "model_not_found", "The model `{model}` does not exist."),
    "no_quota": (429, "insufficient_quota", "You exceeded your current quota."),
    "bad_request": (400, None, "Invalid value for 'messages'."),
}


class AnthropicDialect(Dialect):
    """Anthropic's messages API."""

    def content(self, said: Said) -> Iterator[bytes]:
        used = said.tokens or Tokens(input=0, output=0)
        message: Json = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": said.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {
                "input_tokens": used.input - used.cache_read,
                "cache_read_input_tokens": used.cache_read,
                "cache_creation_input_tokens": 0,
                "output_tokens": 1,
            },
        }
        yield sse({"type": "message_start", "message": message}, event="message_start")
        index = 0
        for block, deltas in self._blocks(said):
            start = {"type": "content_block_start", "index": index, "content_block": block}
            yield sse(start, event="content_block_start")
            for delta in deltas:
                more = {"type": "content_block_delta", "index": index, "delta": delta}
                yield sse(more, event="content_block_delta")
            yield sse({"type": "content_block_stop", "index": index}, event="content_block_stop")
            index += 1

    def ending(self, said: Said) -> Iterator[bytes]:
        finish = said.finish or ("tool_use" if said.calls else "end_turn")
        usage = {"output_tokens": said.tokens.output if said.tokens else 0}
        delta = {"stop_reason": finish, "stop_sequence": None}
        yield sse({"type": "message_delta", "delta": delta, "usage": usage}, event="message_delta")
        yield sse({"type": "message_stop"}, event="message_stop")

    def refusal(self, trouble: Trouble, model: str) -> tuple[int, Json]:
        status, kind, message = _ANTHROPIC_TROUBLE[trouble]
        return status, {
            "type": "error",
            "error": {"type": kind, "message": message.format(model=model)},
        }

    def error_event(self, trouble: Trouble, model: str) -> bytes:
        return sse(self.refusal(trouble, model)[1], event="error")

    def keep_alive(self) -> bytes:
        return sse({"type": "ping"}, event="ping")

    def _blocks(self, said: Said) -> Iterator[tuple[Json, list[Json]]]:
        if said.thinking:
            signed = {"type": "signature_delta", "signature": said.signature or ""}
            thought = {"type": "thinking_delta", "thinking": said.thinking}
            yield {"type": "thinking", "thinking": "", "signature": ""}, [thought, signed]
        if said.text:
            deltas: list[Json] = [{"type": "text_delta", "text": piece} for piece in said.text]
            yield {"type": "text", "text": ""}, deltas
        for call in said.calls:
            block: Json = {"type": "tool_use", "id": call.id or "", "name": call.name, "input": {}}
            written: list[Json] = [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in pieces(call.arguments)
            ]
            yield block, written


_ANTHROPIC_TROUBLE: Mapping[Trouble, tuple[int, str, str]] = {
    "rate_limited": (429, "rate_limit_error", "Number of requests has exceeded your limit."),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "server_error": (500, "api_error", "Internal server error"),
    "context_too_long": (
        400,
        "invalid_request_error",
        "prompt is too long: 200001 tokens > 200000 maximum",
    ),
    "bad_key": (401, "authentication_error", "invalid x-api-key"),
    "unknown_model": (404, "not_found_error", "model: {model}"),
    "no_quota": (400, "invalid_request_error", "Your credit balance is too low."),
    "bad_request": (400, "invalid_request_error", "messages: roles must alternate"),
}


class GoogleDialect(Dialect):
    """Google's streaming generateContent API."""

    def content(self, said: Said) -> Iterator[bytes]:
        if said.thinking:
            yield self._chunk(said, {"text": said.thinking, "thought": True})
        for piece in said.text:
            yield self._chunk(said, {"text": piece})
        for call in said.calls:
            part: dict[str, Any] = {
                "functionCall": {"name": call.name, "args": json.loads(call.arguments)}
            }
            if call.signature is not None:
                part["thoughtSignature"] = call.signature
            yield self._chunk(said, part)

    def ending(self, said: Said) -> Iterator[bytes]:
        yield self._chunk(said, {"text": ""}, finish=said.finish or "STOP")

    def refusal(self, trouble: Trouble, model: str) -> tuple[int, Json]:
        status, name, message = _GOOGLE_TROUBLE[trouble]
        words = message.format(model=model)
        return status, {"error": {"code": status, "message": words, "status": name}}

    def error_event(self, trouble: Trouble, model: str) -> bytes:
        return sse(self.refusal(trouble, model)[1])

    def _chunk(self, said: Said, part: Json, *, finish: str | None = None) -> bytes:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
        data: dict[str, Any] = {
            "candidates": [candidate],
            "modelVersion": said.model,
            "responseId": "response_1",
        }
        if finish is not None:
            candidate["finishReason"] = finish
        if finish is not None and said.tokens is not None:
            used = said.tokens
            data["usageMetadata"] = {
                "promptTokenCount": used.input,
                "candidatesTokenCount": used.output,
                "totalTokenCount": used.input + used.output,
                "cachedContentTokenCount": used.cache_read,
            }
        return sse(data)


_GOOGLE_TROUBLE: Mapping[Trouble, tuple[int, str, str]] = {
    "rate_limited": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "server_error": (500, "INTERNAL", "An internal error has occurred."),
    "context_too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (9) exceeds the maximum number of tokens allowed (8).",
    ),
    "bad_key": (403, "PERMISSION_DENIED", "API key not valid."),
    "unknown_model": (404, "NOT_FOUND", "models/{model} is not found."),
    "no_quota": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota."),
    "bad_request": (400, "INVALID_ARGUMENT", "Invalid role."),
}
