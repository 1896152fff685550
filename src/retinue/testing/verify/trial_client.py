"""The client of a trial: logs all acknowledgements, and retries after a crash."""

import asyncio
import logging
import os
import signal
import socket
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from retinue.agents.inbox import is_final
from retinue.errors import RetinueError
from retinue.failpoints import rearm
from retinue.testing.verify.effects import EFFECTS, EffectLog
from retinue.testing.verify.trial_world import RELEASED

_PATIENCE_SECONDS = 25.0
_WAIT_SECONDS = 15.0
_PAUSE_SECONDS = 0.005
REACHED = "reached-{}.log"
Serve = Callable[[socket.socket], Coroutine[Any, Any, None]]
"""serves the engine's end of a connection"""
ERRORS = "errors.log"


class Stuck(Exception):  # noqa: N818  an outcome of a trial
    """The engine did not answer in time, or exited without being killed."""


class _Died(Exception):  # noqa: N818
    """The engine process has exited."""


@dataclass(slots=True, kw_only=True)
class Sent:
    """A message that the client sent."""

    text: str
    channel: str
    key: str | None
    written: str  # the expected text in the history
    silent: bool = False
    item: str | None = None  # None = never acknowledged
    agent: str | None = None
    fate: str = ""  # as reported to the client
    reply: str = ""
    may_be_cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """A command that was stored, and what became of it."""

    name: str
    fate: str
    code: str = ""


@dataclass(slots=True, kw_only=True)
class Log:
    """What the engine acknowledged, and the number of crashes."""

    sent: list[Sent] = field(default_factory=list[Sent])
    ordered: list[Ordered] = field(default_factory=list[Ordered])
    resets: list[str] = field(default_factory=list[str])  # agents
    names: dict[str, str] = field(default_factory=dict[str, str])
    deleted: list[str] = field(default_factory=list[str])
    schedules: list[str] = field(default_factory=list[str])
    seen: dict[str, Any] = field(
        default_factory=dict[str, Any]
    )  # what the client looked up at the end
    open_at_the_end: dict[str, int] = field(default_factory=dict[str, int])
    deaths: int = 0


class TrialClient:
    """Talks to successive engine processes on the same data."""

    def __init__(
        self, directory: Path, kills: Sequence[str], *, serve: Serve, logs_reached: bool
    ) -> None:
        self.log = Log()
        self.directory = directory
        self._serve = serve
        self._kills = list(kills)
        self._logs_reached = logs_reached
        self._effects = EffectLog(directory / EFFECTS)
        self._acks = os.open(directory / "acks.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._pid = 0
        self._socket: socket.socket | None = None
        self._buffer = b""

    # -- steps

    def post(  # noqa: PLR0913  (keyword options)
        self,
        channel: str,
        text: str,
        *,
        key: str | None,
        silent: bool = False,
        chats: bool = False,
        may_be_cancelled: bool = False,
        definition: str = "helper",
        written: str | None = None,
    ) -> Sent:
        """Send a message; with a key, repeat it until it is acknowledged.

        With `chats`, it comes from a chat connector, so the engine waits for more messages.
        """
        sent = Sent(
            text=text,
            channel=channel,
            key=key,
            written=text if written is None else written,
            silent=silent,
            may_be_cancelled=may_be_cancelled,
        )
        self.log.sent.append(sent)
        request = {"do": "post", "channel": channel, "text": text, "key": key}
        request |= {"silent": silent, "chats": chats, "definition": definition}
        answer = self.ask(request, again=key is not None)
        if answer is not None:
            sent.item, sent.agent = answer["item"], answer["agent"]
        return sent

    def wait(self, sent: Sent) -> Sent:
        if sent.item is not None:
            request = {"do": "outcome", "item": sent.item, "wait": _WAIT_SECONDS}
            answer = self.ask(request)
            sent.fate, sent.reply = answer["fate"], answer["reply"]
            if not is_final(answer["fate"]):
                raise Stuck(f"{sent.text!r} is still {sent.fate} after {_WAIT_SECONDS:g} s")
        return sent

    def until_effect(self, text: str, sent: Sent) -> None:
        """Wait until a tool has run, or the message ended without it."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not any(effect.text == text for effect in self._effects.read()):
            answer = self.ask({"do": "outcome", "item": sent.item, "wait": 0})
            if is_final(answer["fate"]):
                return
            if time.monotonic() > end:
                raise Stuck(f"the tool of {sent.text!r} never ran")
            time.sleep(_PAUSE_SECONDS)

    def until_waiting(self, sent: Sent) -> list[str]:
        """Wait until a message waits for other agents, and return them; none if it ended before."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            answer = self.ask({"do": "outcome", "item": sent.item, "wait": 0})
            if answer["awaits"] or is_final(answer["fate"]):
                return answer["awaits"]
            if time.monotonic() > end:
                raise Stuck(f"{sent.text!r} never waited")
            time.sleep(_PAUSE_SECONDS)

    def until_idle(self, sent: Sent) -> None:
        """Wait until no child of the agent is running."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while self.command("at_work", sent):
            if time.monotonic() > end:
                raise Stuck(f"the children of {sent.channel!r} never became idle")
            time.sleep(_PAUSE_SECONDS)

    def release(self, what: str) -> None:
        (self.directory / f"{RELEASED}-{what}").touch()

    def command(self, do: str, sent: Sent, **arguments: object) -> Any:
        return self.ask({"do": do, "agent": sent.agent, **arguments})

    def order(self, sent: Sent, command: dict[str, Any], *, key: str = "") -> None:
        """Store a command, trying until that is acknowledged; then only wait for its fate."""
        name = str(command["type"])
        request = {
            "do": "order",
            "agent": sent.agent,
            "command": command,
            "key": key or f"k-{name}",
        }
        answer: dict[str, Any]
        try:
            item = self.ask(request)
            answer = self.ask({"do": "outcome", "item": item, "wait": _WAIT_SECONDS})
        except RetinueError as error:
            if name != "delete" or not error.message.startswith("not_found"):
                raise
            answer = {"fate": "answered", "code": ""}  # it went with the agent
        if not is_final(answer["fate"]):
            raise Stuck(f"the command {name} is still {answer['fate']}")
        self.log.ordered.append(Ordered(name=name, fate=answer["fate"], code=answer["code"]))

    def ask(self, request: dict[str, Any], *, again: bool = True) -> Any:
        """Repeat a request until it is answered; without `again`, return None if it was lost."""
        while True:
            try:
                answer = self._exchange(request)
            except _Died:
                self._bury()
                if not again:
                    return None
            else:
                self._note({"asked": request, "answer": answer})
                if "error" in answer:
                    raise RetinueError(f"{answer['error']}: {answer['message']}")
                return answer["ok"]

    def close(self) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        if self._socket is not None:
            self._socket.close()
        os.close(self._acks)

    # -- connection

    def _note(self, fact: dict[str, Any]) -> None:
        os.write(self._acks, msgspec.json.encode(fact) + b"\n")
        os.fsync(self._acks)

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        connection = self._socket or self._start()
        try:
            connection.sendall(msgspec.json.encode(request) + b"\n")
            while b"\n" not in self._buffer:
                data = connection.recv(2**20)
                if not data:
                    raise _Died
                self._buffer += data
        except TimeoutError:
            raise Stuck(f"no answer to {request['do']!r} in {_PATIENCE_SECONDS:g} s") from None
        except OSError:
            raise _Died from None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return msgspec.json.decode(line)

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        targets = self._kills[self.log.deaths] if self.log.deaths < len(self._kills) else ""
        path = self.directory / REACHED.format(self.log.deaths)
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            rearm(targets, str(path) if self._logs_reached else "")
            _be_engine(self.directory, self._serve(theirs))
        theirs.close()
        ours.settimeout(_PATIENCE_SECONDS)
        self._socket, self._buffer = ours, b""
        return ours

    def _bury(self) -> None:
        """Check that the process was killed as intended."""
        assert self._socket is not None
        self._socket.close()
        _, status = os.waitpid(self._pid, 0)
        self._socket, self._pid = None, 0
        was_meant = self.log.deaths < len(self._kills) and os.WIFSIGNALED(status)
        self.log.deaths += 1
        self._note({"died": self.log.deaths})
        if not was_meant:
            raise Stuck(f"the engine exited unexpectedly: {self._last_words()}")

    def _last_words(self) -> str:
        try:
            return (self.directory / ERRORS).read_text(encoding="utf-8")[-2000:]
        except FileNotFoundError:
            return "no error output"


def _be_engine(directory: Path, serving: Coroutine[Any, Any, None]) -> None:
    """Run the engine in the forked process; never returns."""
    status = 70
    try:
        os.chdir(directory)
        logging.disable(logging.WARNING)  # failures are part of a trial
        asyncio.run(serving)
        status = 0
    except BaseException:  # noqa: BLE001  (logged before exit)
        with (directory / ERRORS).open("a", encoding="utf-8") as file:
            traceback.print_exc(file=file)
    finally:
        os._exit(status)
