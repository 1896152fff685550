"""Scripted models from JSON files: stateless rules, so a restart changes nothing.

    [{"when": "order (\\w+)", "after_tools": 0,
      "reply": {"calls": [{"name": "order", "arguments": {"item": "$1"}}]}},
     {"when": "order", "attempt": 0,
      "reply": {"error": {"code": "rate_limited", "retry_after_seconds": 1}}},
     {"reply": {"text": "Done: $tool"}}]

The first matching rule answers. `$0` to `$9` are the groups that `when` matched, `$tool` is the
text of the last tool result.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from retinue.clock import Clock
from retinue.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    RateLimitedError,
    StreamCutError,
    UnknownModelError,
)
from retinue.model_messages import TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import Usage

ErrorCode = Literal[
    "model", "rate_limited", "model_timeout", "stream_cut", "context_too_long", "unknown_model"
]

_PLACEHOLDER = re.compile(r"\$(\d|tool)")


class ScriptedError(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `ModelError`, by its code."""

    code: ErrorCode = "model"
    message: str = "scripted error"
    is_retryable: bool = True  # for code "model"
    retry_after_seconds: float | None = None  # for code "rate_limited"


class ScriptedCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool call of a rule."""

    name: str
    arguments: dict[str, Any] = {}
    id: str | None = None
    malformed: str | None = None


class ScriptedReply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reply of a rule."""

    delay_seconds: float = 0
    thinking: str = ""
    text: str = ""
    calls: list[ScriptedCall] = []
    chunk: int = 0
    error: ScriptedError | None = None
    cut: bool = False
    finish: str = "stop"
    usage: Usage | None = None


class ScriptRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conditions and a reply; omitted conditions always match."""

    reply: ScriptedReply
    when: str = ""  # a regular expression, searched in the last user message
    after_tools: int | None = None  # the number of tool results since that message
    attempt: int | None = None  # the attempt of the request


_decoder = msgspec.json.Decoder(list[ScriptRule])


def load_script(path: Path, *, name: str, clock: Clock | None = None) -> ScriptedModel:
    """Load a script file. Raises `UnknownModelError` with the reason if it is invalid."""
    try:
        rules = _decoder.decode(path.read_bytes())
        patterns = [re.compile(rule.when, re.DOTALL) for rule in rules]
    except (OSError, msgspec.DecodeError, re.error) as error:
        raise UnknownModelError(f"cannot load the script {str(path)!r}: {error}") from error
    return ScriptedModel(
        _by_rules(list(zip(patterns, rules, strict=True)), name), name=name, clock=clock
    )


def _by_rules(
    rules: list[tuple[re.Pattern[str], ScriptRule]], name: str
) -> Callable[[ModelRequest], Answer]:
    def answer(request: ModelRequest) -> Answer:
        said, results, last_result = _situation(request)
        for pattern, rule in rules:
            if rule.after_tools not in (None, results) or rule.attempt not in (
                None,
                request.attempt,
            ):
                continue
            found = pattern.search(said)
            if found is not None:
                return _reply(rule.reply, found, last_result)
        return ModelError(f"{name!r} has no rule for {said[:80]!r} after {results} tool results")

    return answer


def _situation(request: ModelRequest) -> tuple[str, int, str]:
    """Return the last user text, the number of tool results since, and the last one's text."""
    results = 0
    last_result = ""
    for message in reversed(request.messages):
        match message:
            case UserMessage():
                said = (part.text for part in message.content if isinstance(part, TextContent))
                return "\n".join(said), results, last_result
            case ToolMessage():
                last_result = message.text if results == 0 else last_result
                results += 1
            case _:
                pass
    return "", results, last_result


def _reply(reply: ScriptedReply, found: re.Match[str], tool: str) -> Reply:
    def filled(text: str) -> str:
        return _PLACEHOLDER.sub(lambda mark: _value(mark.group(1), found, tool), text)

    return Reply(
        delay_seconds=reply.delay_seconds,
        thinking=filled(reply.thinking),
        text=filled(reply.text),
        calls=[
            Call(
                name=call.name,
                arguments={key: _filled(value, filled) for key, value in call.arguments.items()},
                id=call.id,
                malformed=call.malformed,
            )
            for call in reply.calls
        ],
        chunk=reply.chunk,
        error=_error(reply.error) if reply.error else None,
        cut=reply.cut,
        finish=reply.finish,
        usage=reply.usage,
    )


def _value(mark: str, found: re.Match[str], tool: str) -> str:
    if mark == "tool":
        return tool
    group = int(mark)
    return (found.group(group) or "") if group <= found.re.groups else ""


def _filled(value: Any, fill: Callable[[str], str]) -> Any:
    match value:
        case str():
            return fill(value)
        case dict():
            entries = cast("dict[str, Any]", value)
            return {key: _filled(entry, fill) for key, entry in entries.items()}
        case list():
            return [_filled(entry, fill) for entry in cast("list[Any]", value)]
        case _:
            return value


def _error(error: ScriptedError) -> ModelError:
    match error.code:
        case "model":
            return ModelError(error.message, is_retryable=error.is_retryable)
        case "rate_limited":
            return RateLimitedError(error.message, retry_after_seconds=error.retry_after_seconds)
        case "model_timeout":
            return ModelTimeoutError(error.message)
        case "stream_cut":
            return StreamCutError(error.message)
        case "context_too_long":
            return ContextTooLongError(error.message)
        case "unknown_model":
            return UnknownModelError(error.message)
