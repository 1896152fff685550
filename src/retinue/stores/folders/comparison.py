"""Compares the agents' folders with the store."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from retinue.errors import StoreDamagedError
from retinue.stores.agent_export import EndedItem, StoredAgent, WholeReader, WholeStore
from retinue.stores.folders.artifact_layout import owner_folder, owners_of, read_owner_folder
from retinue.stores.folders.layout import agent_folder, folder_ids, read_folder
from retinue.stores.folders.schedule_file import SCHEDULES, read_schedules

_CHECKS: Sequence[tuple[str, Callable[[StoredAgent], object]]] = (
    ("descriptor", lambda agent: agent.descriptor),
    ("owner", lambda agent: agent.owner),
    ("definition", lambda agent: agent.definition),
    ("lifecycle", lambda agent: agent.lifecycle),
    ("state", lambda agent: msgspec.json.decode(agent.state)),
    ("inbox", lambda agent: msgspec.json.decode(agent.inbox)),
    ("fates", lambda agent: msgspec.json.decode(agent.ended, type=list[EndedItem])),
    ("outbox", lambda agent: msgspec.json.decode(agent.outbox)),
    ("requests", lambda agent: msgspec.json.decode(agent.requests)),
    ("history", lambda agent: agent.history),
)


async def compare(store: WholeStore, data_dir: Path) -> Sequence[str]:
    """List the differences; in the seconds after a commit there may be some."""
    return await asyncio.to_thread(_compare, store, data_dir)


def _compare(store: WholeStore, data_dir: Path) -> list[str]:
    reader = store.whole_reader()
    try:
        known = set(reader.ids())
        differences: list[str] = []
        for agent_id in sorted(known):
            stored = reader.read(agent_id, after=0)
            if stored is not None:
                differences += _differences(stored, agent_folder(data_dir, agent_id))
        for agent_id in folder_ids(data_dir):
            if agent_id not in known:
                differences.append(f"{agent_folder(data_dir, agent_id)} is not in the store")
        differences += _schedule_differences(reader, data_dir)
        return differences + _artifact_differences(reader, data_dir)
    finally:
        reader.close()


def _schedule_differences(reader: WholeReader, data_dir: Path) -> list[str]:
    try:
        is_same = read_schedules(data_dir) == reader.schedules()
    except StoreDamagedError as error:
        return [str(error)]
    return [] if is_same else [f"{data_dir / SCHEDULES} differs from the store"]


def _artifact_differences(reader: WholeReader, data_dir: Path) -> list[str]:
    differences: list[str] = []
    for owner in sorted({*reader.artifacts.owners(), *owners_of(data_dir)}):
        folder = owner_folder(data_dir, owner)
        mirrored, problems = read_owner_folder(folder, owner)
        differences += [reason for _, reason in problems]
        stored = {one.artifact.id: one for one in reader.artifacts.kept(owner, 0).artifacts}
        there = {one.artifact.id: one for one in mirrored.artifacts}
        names = [one for one in {*stored, *there} if stored.get(one) != there.get(one)]
        differences += [f"{folder}: {name} differs from the store" for name in sorted(names)]
    return differences


def _differences(stored: StoredAgent, folder: Path) -> list[str]:
    try:
        mirrored = read_folder(folder)
    except StoreDamagedError as error:
        return [str(error)]
    return [
        f"{folder}: {name} differs from the store"
        for name, value in _CHECKS
        if value(stored) != value(mirrored)
    ]
