"""A real server on a free port, over a real store, with a scripted model."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import websockets
from starlette.applications import Starlette

from retinue.assembly import Extras, open_app
from retinue.clock import Clock
from retinue.engine.engine import Engine
from retinue.errors import ModelError, NotFoundError
from retinue.model_messages import TextContent, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.plugins.operation_function import operation
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.port import OperationContext, Plugin
from retinue.server.app import create_app
from retinue.server.http_server import bind, serve
from retinue.server.options import ServerOptions
from retinue.testing.kit import PATIENCE_SECONDS

TOKEN = "a-token-of-the-operator-0123456789"
HELPER = """\
name = "helper"
displayName = "Helper"
description = "Answers."
systemPrompt = "You help."
model = "scripted"
toolAllowlist = ["time", "files_*"]
"""
BROKEN = 'name = "broken"\nsystemPromt = "?"\ntype = 7\n'
SETTINGS = """\
model = "scripted"
[limits]
coalesceWindowMs = 0
messageChars = 20000
uploadBytes = 1000000
"""

LIBRARIAN = """\
name = "librarian"
systemPrompt = "You find books."
model = "scripted"
toolAllowlist = ["shelf_*"]
toolDenylist = ["shelf_burn"]
toolApprovals = ["shelf_lend"]
"""


@operation(effect="pure", capabilities=["shelf.read"])
def find(ctx: OperationContext, title: str, most: int = 1) -> dict[str, Any]:
    """Find a book."""
    if title == "none":
        raise NotFoundError("there is no such book")
    if title == "defect":
        raise KeyError("of the author")
    return {"title": title, "most": most, "owner": ctx.owner, "agent": ctx.agent_id}


@operation(effect="keyed", capabilities=["shelf.write"])
def put(ctx: OperationContext, title: str) -> str:
    """Put a book back."""
    return f"{title} as {ctx.idempotency_key}"


@operation(capabilities=["shelf.write"])
def burn(title: str) -> str:
    """Burn a book."""
    return f"{title} is ashes"


@operation(effect="keyed")
def lend(title: str) -> str:
    """Lend a book to somebody."""
    return f"{title} is lent"


@operation(effect="pure", needs_agent=True)
def who(ctx: OperationContext) -> str:
    """Tell which agent asks."""
    return str(ctx.agent_id)


SHELF = define_plugin(
    id="shelf", title="Shelf", description="Books.", operations=[find, put, burn, lend, who]
)


@dataclass(slots=True)
class Script:
    """What the model says depends on what it was told; `hold` waits for `release`."""

    released: asyncio.Event = field(default_factory=asyncio.Event)
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    requests: list[ModelRequest] = field(default_factory=list[ModelRequest])

    def __call__(self, request: ModelRequest) -> Answer:
        self.requests.append(request)
        words = last_words(request)
        match words.partition(" ")[0]:
            case "hold":
                return Reply(text="held", before=self._hold)
            case "stream":
                return Reply(text="0123456789" * 20, chunk=10)
            case "fail":
                return ModelError("the provider says no")
            case "clock":
                return Reply(calls=[Call(name="time")])
            case "use":
                return Reply(calls=[Call(name=words.partition(" ")[2])])
            case "pair":
                return Reply(calls=[Call(name="pair", arguments={"message": words[5:]})])
            case _:
                return f"You said: {words}"

    async def _hold(self) -> None:
        self.holding.set()
        await self.released.wait()


def last_words(request: ModelRequest) -> str:
    last = request.messages[-1]
    if not isinstance(last, UserMessage):
        return "a tool ran"
    return "".join(part.text for part in last.content if isinstance(part, TextContent))


@dataclass(slots=True, kw_only=True)
class Door:
    """The server as a client sees it, and what a test may reach behind it."""

    url: str
    app: Starlette
    engine: Engine
    script: Script
    client: httpx2.AsyncClient
    serving: asyncio.Task[None]
    project: Path

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def new_agent(self, **fields: Any) -> str:
        answer = await self.client.post("/api/agents", json={"definition": "helper", **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    async def schedule(self, **fields: Any) -> dict[str, Any]:
        body = {"title": "Daily", "prompt": "tick", "cron": "0 8 * * *", "timezone": "UTC"}
        answer = await self.client.post("/api/schedules", json={**body, **fields})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def say(self, agent_id: str, content: str, **fields: Any) -> dict[str, Any]:
        answer = await self.client.post(
            f"/api/agents/{agent_id}/messages", json={"content": content, **fields}
        )
        assert answer.status_code == 202, answer.text
        return answer.json()

    async def outcome(self, agent_id: str, message_id: str, wait: float = 20) -> dict[str, Any]:
        path = f"/api/agents/{agent_id}/messages/{message_id}"
        answer = await self.client.get(path, params={"wait": wait})
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def talk(self, agent_id: str, content: str) -> dict[str, Any]:
        return await self.outcome(agent_id, (await self.say(agent_id, content))["id"])

    async def history(self, agent_id: str, **page: int) -> dict[str, Any]:
        answer = await self.client.get(f"/api/agents/{agent_id}/history", params=page)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def stranger(self, **headers: str) -> httpx2.AsyncClient:
        """A client without the token."""
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=PATIENCE_SECONDS)

    def socket(self, *, query: str = "", **headers: str) -> websockets.connect:
        """Connect to the event stream; by default with the token."""
        if not headers:
            headers = {"Authorization": f"Bearer {TOKEN}"}
        address = self.url.replace("http", "ws") + "/api/ws" + query
        return websockets.connect(
            address,
            additional_headers=headers,
            proxy=None,
            max_size=None,
            max_queue=None,
            open_timeout=PATIENCE_SECONDS,
        )

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def raw(self, request: bytes) -> bytes:
        """Send bytes as they are and read until the server closes."""
        reader, writer = await self.connect()
        writer.write(request)
        await writer.drain()
        try:
            return await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
        finally:
            writer.close()


def make_project(folder: Path, settings: str = SETTINGS) -> Path:
    (folder / "agents").mkdir(parents=True, exist_ok=True)
    (folder / "agents" / "helper.toml").write_text(HELPER)
    (folder / "agents" / "librarian.toml").write_text(LIBRARIAN)
    (folder / "agents" / "broken.toml").write_text(BROKEN)
    (folder / "retinue.toml").write_text(settings)
    return folder


@asynccontextmanager
async def opened(
    project: Path,
    *,
    options: ServerOptions | None = None,
    clock: Clock | None = None,
    static_dir: Path | None = None,
    settings: str = SETTINGS,
    plugins: Sequence[Plugin] = (SHELF,),
) -> AsyncGenerator[Door]:
    """Serve a project until the block ends."""
    script = Script()
    extras = Extras(models={"scripted": ScriptedModel(script)}, plugins=plugins)
    opened_app = await open_app(
        make_project(project, settings), {"RETINUE_SERVER__TOKEN": TOKEN}, extras=extras
    )
    app = create_app(
        opened_app.engine,
        token=opened_app.token,
        options=options or ServerOptions.of(opened_app.settings),
        static_dir=static_dir or project / "static",
        clock=clock,
    )
    try:
        async with _served(app) as (url, serving):
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with httpx2.AsyncClient(
                base_url=url, headers=headers, timeout=PATIENCE_SECONDS
            ) as client:
                yield Door(
                    url=url,
                    app=app,
                    engine=opened_app.engine,
                    script=script,
                    client=client,
                    serving=serving,
                    project=project,
                )
    finally:
        script.released.set()
        await opened_app.close()


@asynccontextmanager
async def _served(app: Starlette) -> AsyncGenerator[tuple[str, asyncio.Task[None]]]:
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    sockets: Sequence[socket.socket] = bind("127.0.0.1", 0)
    serving = asyncio.create_task(
        serve(app, "127.0.0.1", 0, on_ready=ready.set_result, sockets=list(sockets))
    )
    try:
        yield await asyncio.wait_for(ready, PATIENCE_SECONDS), serving
    finally:
        serving.cancel()
        await asyncio.wait({serving})
