"""A data directory as years of use leave it: sleeping agents, with their folders in step."""

import asyncio
import os
from collections.abc import Iterator, Sequence
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
        sleepers = _sleepers(count, first=(await store.facts()).agents)
        while chunk := list(islice(sleepers, _AT_ONCE)):
            await asyncio.gather(*(store.create(new) for new in chunk))
            await asyncio.to_thread(_write_folders, store, [new.id for new in chunk])
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


def _write_folders(store: SqliteStore, ids: Sequence[AgentId]) -> None:
    """Leave as many folders as the mirror would, and its word that they are in step.

    A start does not read them, so that one agent's files serve for all: new ones would take longer
    to make than everything that is measured.
    """
    reader = store.whole_reader()
    try:
        stored = reader.read(ids[0], after=0)
        if stored is None:
            raise RuntimeError(f"{ids[0]} was not stored")
        cursor = reader.cursor()
    finally:
        reader.close()
    agents = store.data_dir / AGENTS
    agents.mkdir(mode=0o700, exist_ok=True)
    model = agents / ids[0]
    model.mkdir(mode=0o700)
    (model / DESCRIPTOR).write_bytes(stored.descriptor + b"\n")
    (model / STATE).write_bytes(state_file(stored, cursor))
    (model / HISTORY).write_bytes(stored.history)
    for agent_id in ids[1:]:
        folder = f"{agents}/{agent_id}"
        os.mkdir(folder, 0o700)  # noqa: PTH102  (a hundred thousand times)
        for name in (DESCRIPTOR, STATE, HISTORY):
            os.link(f"{model}/{name}", f"{folder}/{name}")
    mirror = msgspec.json.encode(MirrorFile(cursor=cursor))
    (store.data_dir / "mirror.json").write_bytes(mirror)
