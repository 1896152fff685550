"""A person at a real terminal."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

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
