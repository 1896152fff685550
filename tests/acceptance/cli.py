"""Runs the real command line: projects, processes, a server."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retinue.cli.main import run

RETINUE = Path(sys.executable).with_name("retinue")
SCRIPT = [
    {"when": "^slow", "reply": {"text": "At last.", "delay_seconds": 30}},
    {
        "when": "^fail",
        "reply": {"error": {"message": "the key was refused", "is_retryable": False}},
    },
    {
        "when": "^note (.*)",
        "after_tools": 0,
        "reply": {
            "thinking": "A note, then.",
            "calls": [{"name": "files_write", "arguments": {"path": "/note.md", "content": "$1"}}],
        },
    },
    {"when": "^note", "reply": {"text": "**Noted.**\n\n- one\n- two"}},
    {"when": "(.*)", "reply": {"text": "You said: $1", "usage": {"input": 10, "output": 5}}},
]
SETTINGS = """
model = "scripted:script.json"
[limits]
coalesceWindowMs = 0
"""


def make_project(folder: Path, *, settings: str = SETTINGS) -> Path:
    """Write a project whose model answers from a script."""
    (folder / "agents").mkdir(parents=True)
    (folder / "retinue.toml").write_text(settings)
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    (folder / "agents" / "helper.toml").write_text(
        'name = "helper"\ndisplayName = "Helper"\ndescription = "Helps."\nsystemPrompt = "Help."\n'
    )
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """A terminal of eighty columns, without this machine's keys."""
    kept = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "USER") if name in os.environ
    }
    return {**kept, "TERM": "xterm-256color", "COLUMNS": "80", "PYTHONUTF8": "1", **(extra or {})}


def retinue(
    *arguments: str | Path,
    project: Path | None = None,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Done:
    """Run one command to its end."""
    where = [] if project is None else ["--dir", str(project)]
    done = subprocess.run(
        [RETINUE, *arguments, *where],
        input=stdin,
        env=environment(env),
        cwd=cwd or "/",
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )
    return Done(code=done.returncode, out=done.stdout, err=done.stderr)


def look(*arguments: str | Path, project: Path | None = None) -> Done:
    """Run one more command in this process: the same code, without the start of a new one."""
    where = [] if project is None else ["--dir", str(project)]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([*map(str, arguments), *where])
    return Done(code=code, out=out.getvalue(), err=err.getvalue())


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server that runs."""

    process: "subprocess.Popen[str]"
    url: str
    login: str
    problems: list[Any]


@contextlib.contextmanager
def serving(project: Path, *arguments: str, script: Path = RETINUE) -> Generator[Server]:
    """Start a server and stop it as a person would."""
    process = subprocess.Popen(
        [script, "serve", "--port", "0", "--json", "--dir", str(project), *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(f"the server did not start: {process.communicate()[1]}")
        ready = json.loads(line)
        yield Server(
            process=process, url=ready["url"], login=ready["login"], problems=ready["problems"]
        )
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
