"""The engine process of a trial: executes the client's requests line by line."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from retinue.agents.command import AgentPatch, Command
from retinue.agents.descriptor import UserDescriptor, parent_of
from retinue.agents.inbox import Sender
from retinue.assembly import App, Extras, open_app
from retinue.clock import SystemClock
from retinue.engine.calls.plugin_calls import Caller
from retinue.engine.scheduling.schedule_service import NewSchedule
from retinue.errors import NotFoundError, RetinueError
from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, ScriptedModel
from retinue.records import encode_record
from retinue.stores.folders.comparison import compare
from retinue.stores.port import AgentQuery, Post, command_item
from retinue.testing.verify.part import Part
from retinue.testing.verify.trial_world import (
    CONNECTOR,
    DELIVERED,
    SWITCHED,
    LogConnector,
    reply,
    trial_tools,
)

OWNER = LOCAL_OWNER
_SETTINGS = """\
model = "trial"
[limits]
retryMinimumSeconds = 0.01
coalesceWindowMs = 20
delegationTimeoutSeconds = 0.2
"""
_DEFINITION = """\
name = "{0}"
displayName = "The {0}"
description = "Is the {0}."
toolApprovals = ["asked"]
"""
_DEFINITIONS = ("helper", "worker", "expert")
_SETTLING_SECONDS = 15.0
_PAUSE_SECONDS = 0.005
_SOON = "in 0.05 seconds"


def prepare(directory: Path, part: Part) -> None:
    """Write the project for trials of a part."""
    common = {f"agents/{name}.toml": _DEFINITION.format(name) for name in _DEFINITIONS}
    for name, text in {"retinue.toml": _SETTINGS, **common, **part.files}.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")


async def open_trial(directory: Path, part: Part) -> App:
    def say(request: ModelRequest) -> Answer:
        said = part.speak(request) if part.speak is not None else None
        return reply(request) if said is None else said

    extras = Extras(
        models={"trial": ScriptedModel(say, name="trial")},
        tools=trial_tools(),
        connectors={CONNECTOR: LogConnector()},
    )
    return await open_app(directory, {}, extras=extras)


async def serve(directory: Path, part: Part, connection: socket.socket) -> None:
    """Serve requests until the client finishes or disconnects."""
    app = await open_trial(directory, part)
    reader, writer = await asyncio.open_connection(sock=connection, limit=2**24)
    requests = TrialRequests(app)
    while not requests.is_finished and (line := await reader.readline()):
        answer = await requests.answer(msgspec.json.decode(line))
        writer.write(msgspec.json.encode(answer) + b"\n")
        await writer.drain()
    writer.close()


class TrialRequests:
    """Handles the client's requests, one at a time."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.is_finished = False

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        do: Callable[[dict[str, Any]], Awaitable[object]] = getattr(self, f"_{request['do']}")
        try:
            return {"ok": await do(request)}
        except RetinueError as error:
            return {"error": error.code, "message": error.message}

    async def _post(self, request: dict[str, Any]) -> object:
        via = CONNECTOR if request["channel"] in (*DELIVERED, SWITCHED) else "web"
        receipt = await self._app.engine.post(
            OWNER,
            UserDescriptor(connector=via, user_id="u", channel_id=request["channel"]),
            request["text"],
            silent=request["silent"],
            key=request["key"],
            sender=Sender(type="user", id="u", connector=CONNECTOR if request["chats"] else ""),
            definition=request["definition"],
        )
        return {"item": receipt.item.id, "agent": receipt.item.agent_id}

    async def _create(self, request: dict[str, Any]) -> object:
        descriptor = UserDescriptor(connector="web", user_id="u", channel_id=request["channel"])
        agent = await self._app.engine.create(
            OWNER, request["definition"], descriptor=descriptor, env=request["env"]
        )
        return agent.id

    async def _wanted(self, request: dict[str, Any]) -> object:
        """Return the open request for variables of an agent."""
        agent = await self._app.store.agent(OWNER, request["agent"])
        return agent.state.deferred[0].id if agent.state.deferred else ""

    async def _provide(self, request: dict[str, Any]) -> object:
        return await self._app.engine.variables.provide(
            OWNER, request["agent"], request["request"], request["values"]
        )

    async def _operate(self, request: dict[str, Any]) -> object:
        return await self._app.engine.operations.call(
            Caller(owner=OWNER),
            request["plugin"],
            request["operation"],
            request["arguments"],
            key=request["key"],
        )

    async def _at_work(self, request: dict[str, Any]) -> object:
        agent = await self._app.store.agent(OWNER, request["agent"])
        return any(entry.lifecycle == "running" for entry in agent.state.children)

    async def _outcome(self, request: dict[str, Any]) -> object:
        outcome = await self._app.engine.outcome(
            OWNER, request["item"], wait_seconds=request["wait"]
        )
        return {
            "fate": outcome.item.fate,
            "code": outcome.item.code,
            "reply": outcome.reply,
            "awaits": [wait.agent_id for wait in outcome.waits],
        }

    async def _order(self, request: dict[str, Any]) -> object:
        """Admit a command as the doors do, without waiting for its fate."""
        wish = dict(request["command"])
        if wish["type"] == "provide":
            request_id = wish.pop("request")
            agent = await self._app.store.agent(OWNER, request["agent"])
            child = next((d.child for d in agent.state.deferred if d.id == request_id), None)
            env = self._app.engine.environment.sealed_for(child or agent.id, wish.pop("values"))
            wish |= {"requestId": request_id, "env": env, "by": "trial"}
        sender, now = Sender(type="user", id=OWNER), SystemClock().now()
        command: Command = msgspec.convert(wish, Command)
        item = command_item(command, sender, now, key=request["key"])
        # Sealed values differ each time; the wish is the same.
        digest = blake2b(msgspec.json.encode(request["command"]), digest_size=16).hexdigest()
        item = msgspec.structs.replace(item, digest=digest)
        post = Post(to=request["agent"], item=item, owner=OWNER)
        return (await self._app.store.admit(post)).item.id

    async def _reset(self, request: dict[str, Any]) -> object:
        await self._app.engine.reset(OWNER, request["agent"], reason="trial")
        return True

    async def _stop(self, request: dict[str, Any]) -> object:
        return await self._app.engine.interrupt(OWNER, request["agent"])

    async def _compact(self, request: dict[str, Any]) -> object:
        return await self._app.engine.compact(OWNER, request["agent"])

    async def _rename(self, request: dict[str, Any]) -> object:
        patch = AgentPatch(name=request["name"])
        return (await self._app.engine.update(OWNER, request["agent"], patch)).state.name

    async def _delete(self, request: dict[str, Any]) -> object:
        await self._app.engine.delete(OWNER, request["agent"])
        return True

    async def _terminate(self, request: dict[str, Any]) -> object:
        await self._app.engine.terminate(OWNER, request["agent"], reason="trial")
        return True

    async def _schedule(self, request: dict[str, Any]) -> object:
        new = NewSchedule(title=request["title"], prompt="tick", at=_SOON, key=request["key"])
        return (await self._app.engine.schedules.create(OWNER, new)).schedule.id

    async def _has_run(self, request: dict[str, Any]) -> object:
        runs = await self._app.store.schedules.slots(OWNER, request["schedule"], 10)
        return any(run.ended_at is not None for run in runs)

    async def _decide(self, request: dict[str, Any]) -> object:
        """Allow the agent's request as soon as it is made; an earlier decision counts."""
        requests = self._app.store.requests
        while True:
            found = await requests.list(OWNER, agent_id=request["agent"], limit=1)
            if found and found[0].status == "pending":
                await self._app.engine.requests.decide(OWNER, found[0].id, "allow", by="trial")
            elif found:
                return found[0].status
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _settle(self, request: dict[str, Any]) -> object:
        """Wait until nothing is pending; returns what is still open after a timeout."""
        del request
        clock = asyncio.get_running_loop()
        end = clock.time() + _SETTLING_SECONDS
        while True:
            facts = await self._app.store.facts()
            if not facts.items_open + facts.deliveries_open or clock.time() > end:
                return {"items": facts.items_open, "deliveries": facts.deliveries_open}
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _finish(self, request: dict[str, Any]) -> object:
        """Return the content of the store, compare the folders with it, and shut down."""
        store = self._app.store
        page = await store.agents(AgentQuery(owner=OWNER, limit=200))
        agents = [await self._agent(agent.id) for agent in page.agents]
        seen = {r["item"] for agent in agents for r in agent["records"] if "item" in r}
        items = {item: await self._item(item) for item in {*request["items"], *seen}}
        result: dict[str, object] = {"agents": agents, "items": items}
        result["slots"] = {
            stored.schedule.id: [
                msgspec.to_builtins(slot)
                for slot in await store.schedules.slots(OWNER, stored.schedule.id, 100)
            ]
            for stored in await store.schedules.all(OWNER)
        }
        await self._app.engine.stop()
        await self._app.mirror.stop()
        result["differences"] = list(await compare(store, store.data_dir))
        await self._app.models.close()
        await store.close()
        self.is_finished = True
        return result

    async def _agent(self, agent_id: Any) -> dict[str, Any]:
        store = self._app.store
        agent = await store.agent(OWNER, agent_id)
        records = await store.history(OWNER, agent_id, after=0, limit=100_000)
        files = await self._app.trees.tree(agent_id).list(recursive=True)
        return {
            "id": agent.id,
            "name": agent.state.name,
            "isResting": agent.state.turn is None,
            "grants": agent.state.grants,
            "isActive": agent.lifecycle == "active",
            "parent": parent_of(agent.descriptor),
            "definition": agent.definition,
            "isSubagent": agent.state.child is not None,
            "env": sorted(agent.state.env),
            "deferred": len(agent.state.deferred),
            "files": [file.path for file in files],
            "children": [(entry.reference, entry.lifecycle) for entry in agent.state.children],
            "channel": getattr(agent.descriptor, "channel_id", ""),
            "records": [msgspec.json.decode(encode_record(record)) for record in records],
        }

    async def _item(self, item_id: Any) -> object:
        try:
            item, _ = await self._app.store.item(OWNER, item_id)
        except NotFoundError:
            return None
        return {"seq": item.seq, "fate": item.fate, "reply": item.reply_seq, "agent": item.agent_id}
