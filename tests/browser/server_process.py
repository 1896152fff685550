"""A project and a real server process for browser tests."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

RETINUE = Path(sys.executable).with_name("retinue")
START_SECONDS = 30

AGENTS = {
    "assistant": "General things.",
    "clerk": "Keeps lists.",
    "stranger": "Says what must do no harm.",
    "careful": "Asks before it weighs.",
}
MORE = {
    "stranger": 'model = "scripted:script.json"\n',
    "careful": 'toolApprovals = ["weigh"]\n',
}
TOOLS = '''
import asyncio
from pathlib import Path

from retinue import ToolContext, tool


@tool(effect="pure")
async def weigh(ctx: ToolContext, thing: str) -> dict[str, object]:
    """Weigh a thing."""
    return {"thing": thing, "grams": 250}


@tool(effect="pure")
async def hold(ctx: ToolContext, gate: str) -> str:
    """Wait until a gate opens."""
    for second in range(600):
        if (Path(__file__).parent.parent / "gates" / gate).exists():
            return "The gate is open."
        ctx.progress(f"waited {second} times")
        await asyncio.sleep(0.05)
    return "The gate stayed shut."
'''


def make_project(folder: Path, answers: list[dict[str, Any]]) -> Path:
    """Create a project with the offline model, two tools and an agent with scripted answers."""
    for name in ("agents", "tools", "gates"):
        (folder / name).mkdir(parents=True)
    (folder / "retinue.toml").write_text('model = "offline"\n[limits]\ncoalesceWindowMs = 0\n')
    (folder / "script.json").write_text(json.dumps(answers))
    (folder / "tools" / "tools.py").write_text(TOOLS)
    for name, description in AGENTS.items():
        more = MORE.get(name, "")
        (folder / "agents" / f"{name}.toml").write_text(
            f'name = "{name}"\ndisplayName = "{name.title()}"\ndescription = "{description}"\n'
            f'systemPrompt = "You help."\n{more}'
        )
    return folder


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerProcess:
    """A server process for one project; it can be killed and restarted."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.link = ""
        self._process: subprocess.Popen[str] | None = None
        self._client = httpx2.Client(base_url=self.base, timeout=30)

    def start(self) -> None:
        environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with (self.project / "server.log").open("a") as log:
            self._process = subprocess.Popen(
                [RETINUE, "serve", "--dir", self.project, "--port", str(self.port)],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**environment, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
            )
        self.link = self._printed_link()
        self._wait_until_it_answers()

    def _printed_link(self) -> str:
        assert self._process is not None and self._process.stdout is not None
        printed: list[str] = []
        for line in self._process.stdout:
            printed.append(line)
            if found := re.search(r"https?://\S+#login=\S+", line):
                return found.group()
        log = (self.project / "server.log").read_text()
        raise AssertionError(f"the server printed no link: {''.join(printed)}{log}")

    def _wait_until_it_answers(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            try:
                if self._client.get("/api/health").is_success:
                    return
            except httpx2.TransportError:
                time.sleep(0.05)
        raise AssertionError("the server does not answer")

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def close(self) -> None:
        self.stop()
        self._client.close()

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def open_gate(self, gate: str) -> None:
        (self.project / "gates" / gate).touch()

    @property
    def token(self) -> str:
        return (self.project / ".retinue" / "token").read_text().strip()

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Call the API as another client."""
        headers = {"Authorization": f"Bearer {self.token}"}
        response = self._client.request(method, path, json=body, headers=headers)
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text}"
        return response.json() if response.content else None

    def begin(self, definition: str, name: str | None = None) -> str:
        body = {"definition": definition, **({"name": name} if name else {})}
        return self.call("POST", "/api/agents", body)["id"]

    def say(self, agent_id: str, *texts: str) -> None:
        """Send messages and wait until the last one is finished."""
        path = f"/api/agents/{agent_id}/messages"
        sent = [self.call("POST", path, {"content": text}) for text in texts]
        self.call("GET", f"{path}/{sent[-1]['id']}?wait=20")
