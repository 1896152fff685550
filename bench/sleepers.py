"""A data directory as years of use leave it: sleeping agents, with their folders in step."""

import asyncio
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from retinue.agents.descriptor import UserDescriptor
from retinue.agents.state import AgentState
from retinue.clock import SystemClock
from retinue.ids import LOCAL_OWNER, AgentId, new_agent_id
from retinue.stores.folders.layout import AGENTS, DESCRIPTOR, HISTORY, STATE, state_file
from retinue.stores.folders.mirror import MirrorFile
from retinue.stores.port import NewAgent
from retinue.stores.sqlite.store import SqliteStore

_AT_ONCE = 2_000


async def add_sleepers(data: Path, count: int) -> None:
    """Put that many more agents to sleep."""
    store = SqliteStore(data)
    await store.open()
    try:
        ids: list[AgentId] = []
        sleepers = _sleepers(count, first=(await store.facts()).agents)
        while chunk := list(islice(sleepers, _AT_ONCE)):
            await asyncio.gather(*(store.create(new) for new in chunk))
            ids += [new.id for new in chunk]
        await asyncio.to_thread(_write_folders, store, ids)
    finally:
        await store.close()


def _sleepers(count: int, *, first: int) -> Iterator[NewAgent]:
    now = SystemClock().now()
    for number in range(first, first + count):
        yield NewAgent(
            id=new_agent_id(),
            owner=LOCAL_OWNER,
            descriptor=UserDescriptor(connector="bench", user_id="b", channel_id=str(number)),
            definition="assistant",
            state=AgentState(created_at=now, updated_at=now, name=f"Conversation {number}"),
        )


def _write_folders(store: SqliteStore, ids: list[AgentId]) -> None:
    """Leave what the mirror leaves, without its care: nobody pulls the plug here."""
    reader = store.whole_reader()
    try:
        cursor = reader.cursor()
        agents = store.data_dir / AGENTS
        agents.mkdir(mode=0o700, exist_ok=True)
        for agent_id in ids:
            stored = reader.read(agent_id, after=0)
            if stored is None:
                raise RuntimeError(f"{agent_id} was not stored")
            folder = f"{agents}/{agent_id}"
            os.mkdir(folder, 0o700)  # noqa: PTH102  (hundreds of thousands of times)
            _write(f"{folder}/{DESCRIPTOR}", stored.descriptor + b"\n")
            _write(f"{folder}/{STATE}", state_file(stored, cursor))
            _write(f"{folder}/{HISTORY}", stored.history)
        mirror = MirrorFile(cursor=cursor)
        (store.data_dir / "mirror.json").write_bytes(msgspec.json.encode(mirror))
    finally:
        reader.close()


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(descriptor, data)
    os.close(descriptor)
