"""`retinue chat` at a real terminal: typing, streaming, interrupting, leaving."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.cli import RETINUE, environment, make_project, retinue

ESCAPES = re.compile(r"\x1b\][^\x07]*\x07|\x1b[\[\(][0-9;?]*[A-Za-z]|\x1b[=>]|\r")
CURSOR_QUESTION = "\x1b[6n"
CTRL_C, CTRL_D, TAB = "\x03", "\x04", "\t"


class Terminal:
    """A program at the other end of a terminal."""

    def __init__(self, *command: str, env: dict[str, str], columns: int = 80) -> None:
        self._near, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.process = subprocess.Popen(
            command, stdin=far, stdout=far, stderr=far, env=env, start_new_session=True
        )
        os.close(far)
        self.raw = ""
        self._seen = 0

    def type(self, text: str) -> None:
        os.write(self._near, text.encode("utf-8", "surrogateescape"))

    def expect(self, pattern: str, seconds: float = 20) -> str:
        """Wait until the screen was sent this, after what was expected before."""
        deadline = time.monotonic() + seconds
        while True:
            text = ESCAPES.sub("", self.raw)
            found = re.search(pattern, text[self._seen :])
            if found:
                self._seen += found.end()
                return found.group()
            if time.monotonic() > deadline or not self._read(deadline):
                raise AssertionError(f"{pattern!r} did not come; the screen was sent:\n{text}")

    def leave(self, seconds: float = 20) -> int:
        """Press Ctrl-D as a person would: again, while the prompt is still being drawn."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self.type(CTRL_D)
            self.rest()
        return self.wait()

    def wait(self, seconds: float = 20) -> int:
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(time.monotonic() + 0.1)
        return self.process.wait(timeout=1)

    def rest(self, seconds: float = 0.7) -> None:
        """Let the screen come to rest."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._read(deadline)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._near)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._near], [], [], max(deadline - time.monotonic(), 0))
        if not ready:
            return False
        try:
            sent = os.read(self._near, 65536).decode("utf-8", "replace")
        except OSError:  # the other end is closed
            return False
        if CURSOR_QUESTION in sent:
            self.type("\x1b[1;1R")
        self.raw += sent
        return True


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = make_project(tmp_path / "project")
    # The built-in model streams at the pace of a person who reads.
    (project / "agents" / "offline.toml").write_text(
        'name = "offline"\ndisplayName = "Offline"\ndescription = "No key."\nmodel = "offline"\n'
    )
    return project


@pytest.fixture
def chat(project: Path) -> Iterator[Terminal]:
    terminal = Terminal(str(RETINUE), "chat", "offline", "--dir", str(project), env=environment())
    yield terminal
    terminal.close()


def test_an_answer_streams_is_interrupted_and_the_chat_goes_on(
    chat: Terminal, project: Path
) -> None:
    chat.expect("A new conversation")
    chat.type("count to 500\r")
    chat.expect("1, 2, 3")
    chat.type(CTRL_C)
    chat.expect("Stopped")
    chat.type("what time is it\r")
    chat.expect(r"✓ time\(\)")
    chat.expect("time says: ")
    assert chat.leave() == 0
    records = retinue("history", "offline", "--json", project=project).json()["records"]
    kinds = [record["kind"] for record in records]
    assert kinds == ["start", "user", "assistant", "note", "user", "assistant", "tool", "assistant"]
    assert records[2]["finish"] == "cancelled"


def test_one_can_type_while_it_answers_and_two_interrupts_leave(chat: Terminal) -> None:
    chat.expect("A new conversation")
    chat.type("count to 300\r")
    chat.expect("1, 2, 3")
    chat.type("what time is it\r")
    chat.expect("queued 1: what time is it")
    chat.type(CTRL_C)
    chat.expect("Stopped")
    chat.expect("time says: ")
    chat.rest()
    chat.type(CTRL_C)
    chat.rest()
    assert chat.process.poll() is None
    chat.type(CTRL_C)
    assert chat.wait() == 0


def test_commands_are_completed_and_unknown_ones_answered(chat: Terminal) -> None:
    chat.expect("A new conversation")
    chat.type("/swi")
    chat.expect("go on with another conversation")
    chat.type(TAB + " hel")
    chat.expect("helper")
    chat.type(CTRL_C + "/nonsense\r")
    chat.expect("There is no command /nonsense")
    chat.type("/new helper\r")
    chat.expect("helper · ")
    chat.type("note it\r")
    chat.expect("A note, then")
    chat.expect(r"✓ files_write\(")
    chat.expect("Noted.")
    chat.type("/quit\r")
    assert chat.wait() == 0
    assert "Traceback" not in chat.raw


def test_typed_bytes_that_are_not_utf_8_do_not_end_the_chat(chat: Terminal) -> None:
    chat.expect("/help lists")
    chat.type("what is \udcff\r")
    chat.expect("what is \ufffd")
    chat.type("what time is it in Tokyo\r")
    chat.expect("Asia/Tokyo")
    assert chat.leave() == 0
