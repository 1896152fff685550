"""Somebody who does what a page says: writes its files, types its commands, starts its server."""

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from retinue.cli.main import run
from tests.acceptance.cli import RETINUE, environment
from tests.docs.blocks import Command, is_as_told

HOME = "/home/you"
"""What pages show in the place of the folder in which they are tried."""
PORT = "8420"
"""What they show in the place of the port, which is any free one."""
_LAST_WORDS = "  stop "  # the greeting of a server ends with how to stop it
_BESIDE = ".venv/bin/"  # where a command is in a checkout
_SHELL = set("|&;<>()$`")


class Reader:
    """A person at a terminal, in a home of their own."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = self.here = home
        self._port = PORT
        self._server: subprocess.Popen[str] | None = None
        self._environment = environment(
            {
                "HOME": str(home),
                "PATH": f"{RETINUE.parent}:{os.environ['PATH']}",
                "COLUMNS": "100",
                "RETINUE_SERVER__PORT": "0",
            }
        )
        for name in set(os.environ) - set(self._environment):
            patch.delenv(name)
        for name, value in self._environment.items():
            patch.setenv(name, value)
        self._patch = patch
        self._go(home)

    def write(self, path: str, text: str) -> None:
        file = self.here / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def type(self, command: Command) -> None:
        """Run a command and compare what it prints with what the page says."""
        typed = command.text.replace(PORT, self._port)
        words = _plain_words(typed.removeprefix(_BESIDE))
        if words[:1] == ["cd"]:
            return self._go((self.here / words[1]).resolve())
        if words[:1] == ["make"]:
            return _check_recipe(words[1])
        if words[:2] == ["retinue", "serve"]:
            code, printed = self._serve(words[2:])
        elif words[:1] == ["retinue"]:
            code, printed = _inside(words[1:])
        else:
            code, printed = self._outside(["bash", "-euo", "pipefail", "-c", typed])
        shown = printed.replace(str(self.home), HOME).replace(f":{self._port}", f":{PORT}")
        assert bool(code) == command.fails, f"$ {command.text}\n{shown}[exit code {code}]"
        if not is_as_told(command.output, shown):
            told = "\n".join(command.output)
            raise AssertionError(f"$ {command.text}\nthe page says:\n{told}\nit says:\n{shown}")
        return None

    def run_python(self, text: str) -> None:
        code, printed = self._outside([sys.executable, "-c", text.replace(PORT, self._port)])
        assert code == 0, printed

    def leave(self) -> None:
        """Stop the server that the page started."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.communicate(timeout=20)

    def _go(self, folder: Path) -> None:
        self.here = folder
        self._patch.chdir(folder)

    def _serve(self, arguments: list[str]) -> tuple[int, str]:
        self.leave()
        self._server = subprocess.Popen(
            [RETINUE, "serve", *arguments],
            cwd=self.here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._server.stdout is not None
        printed = ""
        while not (line := self._server.stdout.readline()).startswith(_LAST_WORDS) and line:
            printed += line
        printed += line
        port = re.search(r"http://127\.0\.0\.1:(\d+)", printed)
        assert port is not None, f"the server did not start:\n{printed}"
        self._port = port[1]
        return 0, printed

    def _outside(self, command: list[str]) -> tuple[int, str]:
        done = subprocess.run(
            command,
            cwd=self.here,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=40,
            check=False,
        )
        return done.returncode, done.stdout


def _plain_words(typed: str) -> list[str]:
    """The words of a command that needs no shell; none if it does."""
    lexer = shlex.shlex(typed, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    return [] if any(set(word) <= _SHELL or "$" in word for word in words) else words


def _inside(arguments: list[str]) -> tuple[int, str]:
    """Run a command in this process: the same code, without the start of a new one."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run(arguments)
    return code, out.getvalue()


def _check_recipe(name: str) -> None:
    makefile = (Path(__file__).resolve().parents[2] / "Makefile").read_text()
    assert re.search(rf"^{re.escape(name)}:", makefile, re.MULTILINE), f"make {name}"
