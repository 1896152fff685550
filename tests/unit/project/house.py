"""A project that is open, and reached as people reach it: over HTTP and by its files."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from retinue.assembly import App, Extras, open_app
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, ScriptedModel
from retinue.server.app import create_app
from retinue.testing.kit import PATIENCE_SECONDS
from tests.waiting import eventually

TOKEN = "t" * 40
SETTINGS = 'model = "main"\n'
HELPER = 'description = "Helps."\nsystemPrompt = "Version {}."\n{}'
TOOL = """\
from retinue import tool

@tool
def version() -> str:
    return "code {}"
"""

Script = list[Answer] | Callable[[ModelRequest], Answer]


class House:
    """A project folder and the app that serves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model = ScriptedModel([], name="main")
        self.app: App
        self.client: httpx2.AsyncClient
        self.write("retinue.toml", SETTINGS)

    def write(self, name: str, text: str) -> None:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def delete(self, name: str) -> None:
        (self.folder / name).unlink()

    async def open(self, script: Script) -> None:
        self.model = ScriptedModel(script, name="main")
        self.app = await open_app(self.folder, {}, extras=Extras(models={"main": self.model}))
        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=create_app(self.app.engine, token=TOKEN)),
            base_url="http://127.0.0.1:8000",
            headers={"Authorization": f"Bearer {TOKEN}"},
        )

    async def close(self) -> None:
        await self.client.aclose()
        await self.app.close()

    async def agent(self, definition: str = "helper") -> str:
        made = await self.client.post("/api/agents", json={"definition": definition})
        assert made.status_code < 300, made.text
        return made.json()["id"]

    async def say(self, agent: str, text: str = "hi") -> dict[str, Any]:
        """Send a message and wait for its fate."""
        posted = await self.client.post(f"/api/agents/{agent}/messages", json={"content": text})
        message = posted.json()["id"]
        path = f"/api/agents/{agent}/messages/{message}?wait={PATIENCE_SECONDS:.0f}"
        return (await self.client.get(path)).json()

    async def look(self) -> dict[str, Any]:
        """Let a door look at the files."""
        return (await self.client.get("/api/definitions")).json()

    def edits(self, change: Callable[[], None]) -> Callable[[], Awaitable[object]]:
        """Changes files in the middle of a turn, and has them seen."""

        async def work() -> None:
            project = self.app.engine.project
            before = project.current.revision
            change()
            await self.look()
            await eventually(lambda: project.current.revision > before)

        return work

    def results(self) -> list[str]:
        """What the last request says of tools' results."""
        messages = self.model.requests[-1].messages
        return [message.text for message in messages if isinstance(message, ToolMessage)]
