"""A model with scripted replies, for tests, benchmarks and crash tests."""

from collections import deque
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from typing import Any

import msgspec

from retinue.clock import Clock, SystemClock
from retinue.errors import ModelError
from retinue.ids import CallId, new_call_id
from retinue.models.port import (
    CallDelta,
    Completed,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ThinkingDelta,
)
from retinue.records import CallPart, Part, TextPart, ThinkingPart, Usage

_KEPT_REQUESTS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call of a scripted reply."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None  # generated if absent
    malformed: str | None = None  # the raw text, for arguments that are not JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One scripted response, in the order of its fields."""

    delay_seconds: float = 0  # before the first event
    before: Callable[[], Awaitable[object]] | None = None  # awaited before the first event
    thinking: str = ""
    text: str = ""
    calls: Sequence[Call] = ()
    chunk: int = 0  # characters per text delta; 0 = all in one
    midway: Callable[[], Awaitable[object]] | None = None  # awaited after the last delta
    error: ModelError | None = None  # raised after the deltas
    cut: bool = False  # the stream ends after the deltas, without a finish reason
    finish: str = "stop"
    usage: Usage | None = None
    provider: Mapping[str, Any] | None = None


Answer = Reply | str | ModelError
"""A string is a text reply, an error is a failed call."""


class ScriptedModel:
    """Replies from a list, one per call, or from a function of the request."""

    def __init__(
        self,
        script: Iterable[Answer] | Callable[[ModelRequest], Answer],
        *,
        name: str = "scripted",
        window: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._name = name
        self._window = window
        self._clock = clock or SystemClock()
        self._reply = script if callable(script) else _in_order(iter(script), name)
        self.count = 0
        self.requests: deque[ModelRequest] = deque(maxlen=_KEPT_REQUESTS)

    @property
    def name(self) -> str:
        return self._name

    @property
    def window(self) -> int | None:
        return self._window

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        self.count += 1
        self.requests.append(request)
        reply = _as_reply(self._reply(request))
        if reply.delay_seconds:
            await self._clock.sleep(reply.delay_seconds)
        if reply.before is not None:
            await reply.before()
        parts: list[Part] = []
        for event in _deltas(reply, parts):
            yield event
        if reply.midway is not None:
            await reply.midway()
        if reply.error is not None:
            raise reply.error
        if not reply.cut:
            yield Completed(
                parts=parts,
                usage=reply.usage,
                finish=reply.finish,
                model=self._name,
                provider=reply.provider,
            )


def _written(arguments: Mapping[str, Any]) -> str:
    return msgspec.json.encode(arguments).decode()


def _in_order(replies: Iterator[Answer], name: str) -> Callable[[ModelRequest], Answer]:
    def reply(request: ModelRequest) -> Answer:
        del request
        answer = next(replies, None)
        return answer if answer is not None else ModelError(f"{name!r} has no replies left")

    return reply


def _as_reply(answer: Answer) -> Reply:
    match answer:
        case Reply():
            return answer
        case str():
            return Reply(text=answer)
        case ModelError():
            return Reply(error=answer)


def _deltas(reply: Reply, parts: list[Part]) -> Iterator[ModelEvent]:
    """Yield the deltas of a reply and append the complete parts."""
    if reply.thinking:
        yield ThinkingDelta(part=len(parts), text=reply.thinking)
        parts.append(ThinkingPart(text=reply.thinking))
    if reply.text:
        step = reply.chunk or len(reply.text)
        for start in range(0, len(reply.text), step):
            yield TextDelta(part=len(parts), text=reply.text[start : start + step])
        parts.append(TextPart(text=reply.text))
    for call in reply.calls:
        written = call.malformed if call.malformed is not None else _written(call.arguments)
        yield CallDelta(part=len(parts), name=call.name, arguments=written)
        parts.append(
            CallPart(
                id=CallId(call.id) if call.id is not None else new_call_id(),
                name=call.name,
                arguments=dict(call.arguments),
                malformed=call.malformed,
            )
        )
