"""Export and import of agents as one `.tar.gz` file with a manifest.

An archive of all agents also contains the schedules, lists, notes and views; an archive of
selected agents contains only their own data.
"""

import asyncio
import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from retinue.errors import ConflictError, NotFoundError, RetinueError, UsageError
from retinue.ids import AgentId, OwnerId, is_agent_id
from retinue.stores.agent_export import StoredAgent, WholeStore
from retinue.stores.file_trees import LARGEST_FILE, parts_of
from retinue.stores.folders.archived_artifacts import (
    ARTIFACT_MEMBER,
    checked_artifacts,
    encode_artifacts,
)
from retinue.stores.folders.archived_schedules import checked_schedules
from retinue.stores.folders.atomic_files import sync_file_system
from retinue.stores.folders.layout import (
    DESCRIPTOR,
    FILES,
    HISTORY,
    STATE,
    agent_folder,
    parse_folder,
    state_file,
)
from retinue.stores.folders.removal import remove_folder
from retinue.stores.folders.schedule_file import SCHEDULES, encode_schedules

_MANIFEST = "manifest.json"
_LARGEST_PART = 1 << 30
_LARGEST_ARCHIVE = 16 << 30
_KEPT = (DESCRIPTOR, STATE, HISTORY)
_MEMBER = re.compile(
    r"agents/([a-z0-9]{24})/(descriptor\.json|state\.json|history\.jsonl|files/.+)"
)


Keep = Callable[[AgentId, str, bytes], None]
"""Receives one file of an agent: its path in the tree, and its content."""


class ArchiveManifest(Struct, kw_only=True, rename="camel"):
    """The manifest of an archive."""

    agents: list[str]
    v: int = 1


async def export_to(
    path: Path, store: WholeStore, data_dir: Path, agent_ids: Sequence[AgentId]
) -> None:
    """Export these agents to a new archive."""
    await asyncio.to_thread(_export, path, store, data_dir, agent_ids)


def _export(path: Path, store: WholeStore, data_dir: Path, agent_ids: Sequence[AgentId]) -> None:
    draft = path.with_name(path.name + ".part")
    reader = store.whole_reader()
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
            _add(archive, _MANIFEST, msgspec.json.encode(ArchiveManifest(agents=list(agent_ids))))
            if set(reader.ids()) <= set(agent_ids):
                _add(archive, SCHEDULES, encode_schedules(reader.schedules()))
                _add(archive, ARTIFACT_MEMBER, encode_artifacts(reader.artifacts))
            for agent_id in agent_ids:
                stored = reader.read(agent_id, after=0)
                if stored is None:
                    raise NotFoundError(f"there is no agent {agent_id!r}")
                _add_agent(archive, stored, agent_folder(data_dir, agent_id) / FILES)
        draft.replace(path)
    finally:
        reader.close()
        draft.unlink(missing_ok=True)


def _add_agent(archive: tarfile.TarFile, stored: StoredAgent, files: Path) -> None:
    folder = f"agents/{stored.id}"
    _add(archive, f"{folder}/{DESCRIPTOR}", stored.descriptor + b"\n")
    _add(archive, f"{folder}/{STATE}", state_file(stored, 0))
    _add(archive, f"{folder}/{HISTORY}", stored.history)
    for found in sorted(files.rglob("*")):
        if found.is_file() and not found.is_symlink():
            name = found.relative_to(files).as_posix()
            archive.add(found, f"{folder}/{FILES}/{name}", recursive=False)


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mode = 0o600
    archive.addfile(member, io.BytesIO(data))


async def import_from(
    path: Path, store: WholeStore, data_dir: Path, *, owner: OwnerId | None = None
) -> Sequence[AgentId]:
    """Import an archive's agents, all or none, for their own owner or for another.

    The archive is read twice, one agent at a time: first to check that everything can be imported,
    then to import it in one transaction. A crash in between leaves only files, which the next
    import replaces. Raises `ConflictError` with the agents that already exist.
    """
    agent_ids = await asyncio.to_thread(_check, path, store, data_dir)
    # Schedules and artifacts come first: restoring them twice is harmless after a crash.
    schedules = await checked_schedules(path, store.schedules, owner)
    artifacts = await checked_artifacts(path, store.artifacts, owner)
    await store.schedules.restore(schedules)
    for kept in artifacts:
        await store.artifacts.restore(kept)
    unpacker = _Unpacker(path, data_dir)
    try:
        await store.restore_all(_owned(stored, owner) for stored in unpacker)
    except Exception:
        await asyncio.to_thread(unpacker.undo)
        raise
    return agent_ids


def _owned(stored: StoredAgent, owner: OwnerId | None) -> StoredAgent:
    return stored if owner is None else replace(stored, owner=owner)


def _check(path: Path, store: WholeStore, data_dir: Path) -> list[AgentId]:
    """Read and check the whole archive; returns the ids of its agents."""
    agent_ids = [stored.id for stored in _agents(path, _keep_nothing)]
    reader = store.whole_reader()
    try:
        known = [one for one in agent_ids if reader.read(one, after=1 << 62) is not None]
    finally:
        reader.close()
    if known:
        raise ConflictError(
            f"these agents already exist: {', '.join(known)}; delete them first, "
            "or import into another data directory",
            details={"agents": known},
        )
    for agent_id in agent_ids:
        folder = agent_folder(data_dir, agent_id)
        if any((folder / name).exists() for name in _KEPT):
            raise ConflictError(f"{folder} holds an agent that is not in the store: move it away")
    return agent_ids


def _keep_nothing(agent_id: AgentId, name: str, data: bytes) -> None:
    pass


class _Unpacker:
    """Iterates over an archive's agents, and writes their files along the way."""

    def __init__(self, path: Path, data_dir: Path) -> None:
        self._path = path
        self._data = data_dir
        self._begun: set[AgentId] = set()

    def __iter__(self) -> Iterator[StoredAgent]:
        yield from _agents(self._path, self._keep)
        if self._begun:
            sync_file_system(str(self._data))

    def undo(self) -> None:
        for agent_id in self._begun:
            remove_folder(agent_folder(self._data, agent_id))

    def _keep(self, agent_id: AgentId, name: str, data: bytes) -> None:
        folder = agent_folder(self._data, agent_id)
        try:
            if agent_id not in self._begun:
                remove_folder(folder)  # left by an interrupted import
                self._begun.add(agent_id)
            file = folder.joinpath(FILES, *parts_of(name))
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(data)
        except OSError as error:
            raise UsageError(f"{name!r} of {agent_id} cannot be unpacked: {error}") from error


def _agents(path: Path, keep: Keep) -> Iterator[StoredAgent]:
    """Yield the agents one by one; only one of them is in memory, without its files."""
    seen: set[AgentId] = set()
    current: AgentId | None = None
    parts: dict[str, bytes] = {}
    for agent_id, name, data in _members(path):
        if agent_id != current:
            if current is not None:
                yield _stored(path, current, parts)
            if agent_id in seen:
                raise UsageError(f"{path} contains the agent {agent_id} twice")
            seen.add(agent_id)
            current, parts = agent_id, {}
        kind, _, inner = name.partition("/")
        if kind == FILES:
            parts_of(inner)
            keep(agent_id, inner, data)
        else:
            parts[kind] = data
    if current is not None:
        yield _stored(path, current, parts)


def _stored(path: Path, agent_id: AgentId, parts: dict[str, bytes]) -> StoredAgent:
    missing = set(_KEPT) - parts.keys()
    if missing:
        raise UsageError(f"{path}: agent {agent_id} has no {', '.join(sorted(missing))}")
    try:
        stored = parse_folder(parts[DESCRIPTOR], parts[STATE], parts[HISTORY], path / agent_id)
    except RetinueError as error:
        raise UsageError(f"{path} cannot be imported: {error}") from error
    if stored.id != agent_id:
        raise UsageError(f"{path}: the folder {agent_id} holds the agent {stored.id!r}")
    return stored


def _members(path: Path) -> Iterator[tuple[AgentId, str, bytes]]:
    """Yield the agents' files; refuses links, devices, unknown entries and excessive sizes."""
    total = 0
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                if member.isdir() or member.name in (_MANIFEST, SCHEDULES, ARTIFACT_MEMBER):
                    continue
                total += member.size
                match = _MEMBER.fullmatch(member.name)
                if match is None or not is_agent_id(match[1]):
                    raise UsageError(f"{path} contains an unknown entry: {member.name!r}")
                largest = LARGEST_FILE if match[2].startswith(f"{FILES}/") else _LARGEST_PART
                content = archive.extractfile(member) if member.isreg() else None
                if content is None or member.size > largest or total > _LARGEST_ARCHIVE:
                    raise UsageError(f"{path} contains a forbidden entry: {member.name!r}")
                yield AgentId(match[1]), match[2], content.read()
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {str(path)!r}") from None
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, OSError) as error:
        raise UsageError(f"{path} is not a Retinue archive: {error}") from error
