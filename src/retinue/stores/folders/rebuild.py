"""Rebuilds a missing or damaged database from the folders."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

import msgspec

from retinue.agents.descriptor import decode_descriptor, identity_of
from retinue.errors import RetinueError, StoreDamagedError
from retinue.ids import AgentId, OwnerId
from retinue.stores.agent_export import StoredAgent, WholeStore
from retinue.stores.folders.artifact_layout import owner_folder, owners_of, read_owner_folder
from retinue.stores.folders.atomic_files import cut_after
from retinue.stores.folders.layout import (
    DESCRIPTOR,
    FATES,
    HISTORY,
    agent_folder,
    folder_ids,
    read_folder,
    read_owner,
    read_state_cursor,
    settled_fates,
)
from retinue.stores.folders.mirror import read_mirror_file
from retinue.stores.folders.schedule_file import SCHEDULES, read_schedules
from retinue.stores.folders.variable_file import VARIABLES, read_variable_file

_DATABASE_FILES = ("retinue.db", "retinue.db-wal", "retinue.db-shm")
_AT_ONCE = 64
# Larger than what a database can advance between two writes of the folders.
_CURSOR_GAP = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """The result of a rebuild."""

    agents: int
    problems: Sequence[str]


class OpenableStore(WholeStore, Protocol):
    """A store that can be opened."""

    @property
    def data_dir(self) -> Path: ...

    def hold(self) -> None:
        """Lock the data directory. Raises `BusyError` if another process uses it."""
        ...

    async def open(self) -> None: ...


def needs_rebuild(data_dir: Path) -> bool:
    """Whether the folders hold agents without a database, or a rebuild was interrupted."""
    if _marker(data_dir).exists():
        return True
    # The database is checked first: if it exists, the folders need not be listed.
    return _is_without_database(data_dir) and (
        bool(folder_ids(data_dir))
        or any((data_dir / name).exists() for name in (SCHEDULES, VARIABLES))
        or bool(owners_of(data_dir))
    )


def _is_without_database(data_dir: Path) -> bool:
    """Whether the database is missing or empty; a failed copy leaves an empty file."""
    try:
        return (data_dir / _DATABASE_FILES[0]).stat().st_size == 0
    except FileNotFoundError:
        return True


def quarantine(data_dir: Path) -> Path | None:
    """Move a damaged database aside; returns its new path."""
    if not (data_dir / _DATABASE_FILES[0]).exists():
        return None
    suffix = f".damaged-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}"
    for name in _DATABASE_FILES:
        with suppress(FileNotFoundError):
            (data_dir / name).rename(data_dir / (name + suffix))
    return data_dir / (_DATABASE_FILES[0] + suffix)


async def open_or_rebuild(store: OpenableStore, *, is_forced: bool = False) -> Rebuilt | None:
    """Open the store; if its database is missing, rebuild it from the folders.

    With `is_forced`, an existing database is moved aside first. An interrupted rebuild leaves its
    marker and starts over: until it finishes, the folders are the source of truth.
    """
    data_dir = store.data_dir
    if not is_forced and not needs_rebuild(data_dir):
        await store.open()
        return None
    store.hold()
    if _marker(data_dir).exists():
        for name in _DATABASE_FILES:
            (data_dir / name).unlink(missing_ok=True)
    elif is_forced:
        quarantine(data_dir)
    _marker(data_dir).touch(mode=0o600)
    await store.open()
    report = await rebuild(store)
    _marker(data_dir).unlink()
    return report


async def rebuild(store: OpenableStore) -> Rebuilt:
    """Restore all agents from the folders to an empty store; reserves the ids of unreadable ones.

    The folders may lack the last second of the old store. A reply delivered in that second is sent
    again with the same key, as it is unknown whether it was delivered.
    """
    data_dir = store.data_dir
    mirror = read_mirror_file(data_dir)
    cursor = mirror.cursor if mirror is not None else 0
    problems: list[str] = []
    ids = folder_ids(data_dir)
    for start in range(0, len(ids), _AT_ONCE):
        chunk = ids[start : start + _AT_ONCE]
        results = await asyncio.gather(*(_restore(store, data_dir, one) for one in chunk))
        for reached, problem in results:
            cursor = max(cursor, reached)
            if problem is not None:
                problems.append(problem)
    unreadable = len(problems)
    problems += await _restore_schedules(store, data_dir)
    problems += await _restore_variables(store, data_dir)
    problems += await _restore_artifacts(store, data_dir)
    offsets = mirror.offsets if mirror is not None else {}
    await store.restore_feed(cursor + _CURSOR_GAP, offsets)
    return Rebuilt(agents=len(ids) - unreadable, problems=problems)


async def _restore(store: WholeStore, data_dir: Path, agent_id: AgentId) -> tuple[int, str | None]:
    folder = agent_folder(data_dir, agent_id)
    try:
        stored = await asyncio.to_thread(_repaired, folder)
        if stored.id != agent_id:
            raise StoreDamagedError(f"{folder} holds another agent, {stored.id!r}")
        await store.restore(stored)
        return await asyncio.to_thread(read_state_cursor, folder), None
    except (RetinueError, OSError, msgspec.MsgspecError) as error:
        reason = str(error)
        owner, identity = await asyncio.to_thread(_identity, folder)
        await store.set_aside(agent_id, owner=owner, identity=identity, reason=reason)
        return 0, reason


async def _restore_schedules(store: WholeStore, data_dir: Path) -> list[str]:
    try:
        kept = await asyncio.to_thread(read_schedules, data_dir)
    except StoreDamagedError as error:
        return [_put_aside(data_dir / SCHEDULES, error)]
    await store.schedules.restore(kept)
    return []


async def _restore_variables(store: WholeStore, data_dir: Path) -> list[str]:
    try:
        kept = await asyncio.to_thread(read_variable_file, data_dir)
    except StoreDamagedError as error:
        return [_put_aside(data_dir / VARIABLES, error)]
    await store.variables.restore(kept)
    return []


async def _restore_artifacts(store: WholeStore, data_dir: Path) -> list[str]:
    problems: list[str] = []
    for owner in owners_of(data_dir):
        folder = owner_folder(data_dir, owner)
        kept, unreadable = await asyncio.to_thread(read_owner_folder, folder, owner)
        problems += [_put_aside(path, reason) for path, reason in unreadable]
        await store.artifacts.restore(kept)
    return problems


def _put_aside(path: Path, error: StoreDamagedError | str) -> str:
    """Rename an unreadable file, because the mirror would overwrite it."""
    aside = path.with_name(f"{path.name}.aside")
    for number in count(2):
        if not aside.exists():
            break
        aside = path.with_name(f"{path.name}.aside{number}")
    path.replace(aside)
    return f"{error}; the file is kept as {aside.name}"


def _repaired(folder: Path) -> StoredAgent:
    """Read an agent and cut off lines beyond its state, because new ones will be appended."""
    stored = read_folder(folder)
    cut_after(str(folder / HISTORY), len(stored.history))
    cut_after(str(folder / FATES), len(settled_fates(folder)))
    return stored


def _identity(folder: Path) -> tuple[OwnerId | None, str | None]:
    """Read the owner and identity of an unreadable agent as far as possible."""
    owner: OwnerId | None = None
    identity: str | None = None
    with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
        owner = read_owner(folder)
    with suppress(OSError, RetinueError):
        identity = identity_of(decode_descriptor((folder / DESCRIPTOR).read_bytes()))
    return owner, identity


def _marker(data_dir: Path) -> Path:
    return data_dir / "rebuilding"
