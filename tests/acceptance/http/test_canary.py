"""A value that each door takes shows up nowhere: every place that could hold it is searched."""

import asyncio
import gzip
import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import websockets

from retinue.ids import AgentId
from retinue.stores.folders.archive import export_to
from retinue.stores.sqlite.store import SqliteStore
from tests.acceptance.http.support import Door, opened
from tests.waiting import until

CANARIES = {
    "ACCOUNT": "canary-account-b7c1",
    "CREATED": "canary-created-55e0",
    "CHANGED": "canary-changed-9a3d",
    "SCOPED": "canary-scoped-02fe",
}
LEAKS = '''
from retinue import ToolContext, tool

NAMES = ("ACCOUNT", "CREATED", "CHANGED")

@tool
def leak(ctx: ToolContext) -> str:
    """Return every value."""
    ctx.progress(" ".join(ctx.env(name) for name in NAMES))
    return " ".join(ctx.env(name) for name in NAMES)

@tool
def burst(ctx: ToolContext) -> str:
    """Raise every value."""
    raise ValueError(" ".join(ctx.env(name) for name in NAMES))

@tool(variables=[{"name": "SCOPED", "required": True, "scoped": True}])
def spill(ctx: ToolContext) -> str:
    """Return what the child was given."""
    return ctx.env("SCOPED")
'''
FILES = {
    "tools/leaks.py": LEAKS,
    "agents/boss.toml": 'name = "boss"\ndescription = "b"\n[sideA]\nprompt = "boss"\n',
    "agents/pair.toml": (
        'name = "pair"\ndescription = "p"\ntype = "dual_ai"\nmaxSessionTurns = 2\n'
        'exposeAsTool = true\n[sideA]\nprompt = "worker"\n[sideB]\nprompt = "worker"\n'
    ),
    "prompts/boss.md": "---\ntools: [leak, burst, {name: pair, blocking: false}]\n---\nBoss.",
    "prompts/worker.md": "---\ntools: [spill]\n---\nWorker.",
}


def written(project: Path) -> Path:
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    return project


async def kept(door: Door, places: dict[str, str], path: str) -> Any:
    """Ask, and keep the answer to be searched."""
    answer = await door.client.get(path)
    places[path] = answer.text
    return answer.json()


async def given(door: Door) -> tuple[str, str]:
    """Set a value through each door; gives the parent and the child."""
    await door.client.put("/api/variables/ACCOUNT", json={"value": CANARIES["ACCOUNT"]})
    boss = await door.new_agent(definition="boss", env={"CREATED": CANARIES["CREATED"]})
    path = f"/api/agents/{boss}/variables/CHANGED"
    await door.client.put(path, json={"value": CANARIES["CHANGED"]})
    for words in ("use leak", "use burst", "pair use spill"):
        await door.talk(boss, words)
    records = (await door.history(boss, limit=100))["records"]
    told = json.loads([one for one in records if one["kind"] == "tool"][-1]["text"])
    values = {"env": {"SCOPED": CANARIES["SCOPED"]}}
    begun = await door.client.post(told["endpoint"], json=values)
    child = begun.json()["child_thread_id"]

    async def has_spilt() -> bool:
        return "[secret SCOPED]" in json.dumps(await door.history(child, limit=100))

    await until(has_spilt)
    return boss, child


async def watched(socket: websockets.ClientConnection, events: list[str]) -> None:
    async for message in socket:
        events.append(str(message))


def files_of(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            yield str(path), data.decode("latin-1")
            if path.suffix == ".gz":
                yield f"{path} unpacked", gzip.decompress(data).decode("latin-1")


def command_lines() -> Iterator[tuple[str, str]]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield str(path), path.read_bytes().decode("latin-1")
        except OSError:
            continue


def holders(places: Mapping[str, str]) -> list[tuple[str, str]]:
    return [
        (name, place)
        for place, text in places.items()
        for name, value in CANARIES.items()
        if value in text
    ]


async def test_a_value_of_each_door_shows_up_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="retinue")
    places: dict[str, str] = {}
    events: list[str] = []
    async with (
        opened(written(tmp_path / "project")) as door,
        door.socket(query="?after=0") as socket,
    ):
        watching = asyncio.create_task(watched(socket, events))
        boss, child = await given(door)
        for path in (
            "/api/variables",
            "/api/definitions",
            *(f"/api/agents/{agent}" for agent in (boss, child)),
            *(f"/api/agents/{agent}/variables" for agent in (boss, child)),
            *(f"/api/agents/{agent}/history?limit=500" for agent in (boss, child)),
            *(f"/api/agents/{agent}/messages" for agent in (boss, child)),
            f"/api/agents/{boss}/tree",
        ):
            await kept(door, places, path)
        watching.cancel()
        places["prompts"] = repr(door.script.requests)
        places["command lines"] = repr(list(command_lines()))
        store = door.engine.store
        assert isinstance(store, SqliteStore)
        ids = [AgentId(boss), AgentId(child)]
        await export_to(tmp_path / "export.tar.gz", store, store.data_dir, ids)
    places["events"] = "".join(events)
    places["log"] = "".join(f"{vars(record)} {record.getMessage()}" for record in caplog.records)
    places |= dict(files_of(tmp_path))
    assert holders(places) == []
    for proof in ("[secret ACCOUNT]", "[secret CREATED]", "[secret CHANGED]"):
        assert proof in places[f"/api/agents/{boss}/history?limit=500"]
        assert proof in places["prompts"]
        assert proof in places["events"]
        assert proof in places["log"]
    assert any("retinue.db" in place for place in places)
    assert any("state.json" in place for place in places)
    assert any("unpacked" in place for place in places)
