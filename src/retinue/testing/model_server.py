"""A scripted model provider on loopback that can also misbehave, and records its requests."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self

from retinue.testing.model_wire import (
    AnthropicDialect,
    Dialect,
    GoogleDialect,
    OpenAIDialect,
    Said,
    Tokens,
    ToolUse,
    Trouble,
)
from retinue.testing.responses_wire import ResponsesDialect

Ending = Literal["finish", "cut", "reset", "stall", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedAnswer:
    """A response, and how its stream ends: complete, cut, reset, stalled or with an error."""

    text: str | Sequence[str] = ""
    thinking: str = ""
    signature: str | None = None
    calls: Sequence[ToolUse] = ()
    tokens: Tokens | None = field(default_factory=Tokens)
    finish: str | None = None
    then: Ending = "finish"
    events: int | None = None  # the number of content events before the ending; None = all
    keep_alives: int = 0  # sent before the content, one per `pause_seconds`
    pause_seconds: float = 0
    trouble: Trouble = "overloaded"  # for the ending "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error response, in the provider's format unless a body is given."""

    trouble: Trouble = "server_error"
    status: int | None = None
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """Reads the request and never responds."""


Act = ScriptedAnswer | Refusal | Stall


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """A received request."""

    path: str
    headers: Mapping[str, str]  # names in lower case
    body: Mapping[str, Any]


class ModelServer:
    """Serves the APIs of OpenAI (both), Anthropic and Google, depending on the path."""

    def __init__(self, script: Iterable[Act] | Callable[[ReceivedRequest], Act] = ()) -> None:
        self._script = script if callable(script) else _in_order(iter(script))
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self.asked: list[ReceivedRequest] = []
        self.stalled = asyncio.Event()  # a response has stalled
        self.abandoned = asyncio.Event()  # the client disconnected before the end of a response

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        """The URL of the server, without a path."""
        if self._server is None:
            raise RuntimeError("the server is not running")
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; returns False if the connection must be closed."""
        asked = await _read(reader)
        if asked is None:
            return False
        self.asked.append(asked)
        dialect, model = _dialect(asked)
        act = self._script(asked)
        match act:
            case Stall():
                await self._stall(reader)
                return False
            case Refusal():
                _refuse(writer, act, dialect, model)
                await writer.drain()
                return True
            case ScriptedAnswer():
                return await self._answer(reader, writer, act, (dialect, model))

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        act: ScriptedAnswer,
        spoken: tuple[Dialect, str],
    ) -> bool:
        dialect, model = spoken
        said = _said(act, model)
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(act.keep_alives):
            _chunk(writer, dialect.keep_alive())
            await writer.drain()
            await asyncio.sleep(act.pause_seconds)
        for event in list(dialect.content(said))[: act.events]:
            _chunk(writer, event)
            await writer.drain()
        match act.then:
            case "finish":
                for event in dialect.ending(said):
                    _chunk(writer, event)
            case "error":
                _chunk(writer, dialect.error_event(act.trouble, model))
            case "reset":
                writer.transport.abort()
                return False
            case "stall":
                await self._stall(reader)
                return False
            case "cut":
                pass
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _stall(self, reader: asyncio.StreamReader) -> None:
        self.stalled.set()
        with suppress(ConnectionError):
            await reader.read(1)
        self.abandoned.set()


def _in_order(acts: Iterator[Act]) -> Callable[[ReceivedRequest], Act]:
    def act(asked: ReceivedRequest) -> Act:
        del asked
        return next(acts, Refusal(trouble="bad_request"))

    return act


def _said(act: ScriptedAnswer, model: str) -> Said:
    return Said(
        model=model,
        thinking=act.thinking,
        signature=act.signature,
        text=_words(act.text) if isinstance(act.text, str) else act.text,
        calls=act.calls,
        tokens=act.tokens,
        finish=act.finish,
    )


def _words(text: str) -> list[str]:
    first, *rest = text.split(" ")
    return [first, *(f" {word}" for word in rest)] if text else []


async def _read(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in lines)
    }
    content = await reader.readexactly(int(headers.get("content-length", "0")))
    body: Any = json.loads(content) if content else {}
    return ReceivedRequest(path=first.split(" ")[1], headers=headers, body=body)


def _dialect(asked: ReceivedRequest) -> tuple[Dialect, str]:
    if "generatecontent" in asked.path.lower():
        return GoogleDialect(), asked.path.rpartition("/")[2].partition(":")[0]
    model = str(asked.body.get("model", ""))
    path = asked.path.partition("?")[0]
    if path.endswith("/messages"):
        return AnthropicDialect(), model
    if path.endswith("/responses"):
        return ResponsesDialect(), model
    return OpenAIDialect(), model


def _refuse(writer: asyncio.StreamWriter, act: Refusal, dialect: Dialect, model: str) -> None:
    status, body = dialect.refusal(act.trouble, model)
    content = json.dumps(act.body if act.body is not None else body).encode()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(content)),
        **act.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"HTTP/1.1 {act.status or status} Refused\r\n{lines}\r\n".encode() + content)


def _chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
