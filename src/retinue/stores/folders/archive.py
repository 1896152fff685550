"""Agents as one file: their folders in a `.tar.gz` with a manifest."""

import asyncio
import gzip
import io
import os
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
from msgspec import Struct

from retinue.errors import ConflictError, NotFoundError, RetinueError, UsageError
from retinue.ids import AgentId, OwnerId, is_agent_id
from retinue.stores.folders.layout import (
    DESCRIPTOR,
    FILES,
    HISTORY,
    STATE,
    agent_folder,
    parse_folder,
    state_file,
)
from retinue.stores.trees import LARGEST_FILE, FileTrees, parts_of
from retinue.stores.whole import StoredAgent, WholeStore

_MANIFEST = "manifest.json"
_LARGEST_PART = 1 << 30
_LARGEST_ARCHIVE = 16 << 30
_MEMBER = re.compile(
    r"agents/([a-z0-9]{24})/(descriptor\.json|state\.json|history\.jsonl|files/.+)"
)


class Manifest(Struct, kw_only=True, rename="camel"):
    """What an archive holds."""

    agents: list[str]
    v: int = 1


class _Parts:
    """The files of one agent, as an archive holds them."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}


async def export_to(
    path: Path, store: WholeStore, data_dir: Path, agent_ids: Sequence[AgentId]
) -> None:
    """Write these agents, whole, into a new archive."""
    await asyncio.to_thread(_export, path, store, data_dir, agent_ids)


def _export(path: Path, store: WholeStore, data_dir: Path, agent_ids: Sequence[AgentId]) -> None:
    draft = path.with_name(path.name + ".part")
    reader = store.whole_reader()
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
            _add(archive, _MANIFEST, msgspec.json.encode(Manifest(agents=list(agent_ids))))
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
    """Load an archive's agents, for their own owner or for another.

    Raises `ConflictError` that names the agents that are here already, before it loads any.
    """
    agents = await asyncio.to_thread(_read_archive, path)
    stored = {agent_id: _stored(path, agent_id, parts) for agent_id, parts in agents.items()}
    await asyncio.to_thread(_refuse_known, store, list(stored))
    trees = FileTrees(data_dir, largest_file=_LARGEST_PART)
    done: list[AgentId] = []
    for agent_id, whole in stored.items():
        for name, data in agents[agent_id].files.items():
            await trees.tree(agent_id).write(name, data)
        await store.restore(_owned(whole, owner))
        done.append(agent_id)
    return done


def _owned(stored: StoredAgent, owner: OwnerId | None) -> StoredAgent:
    return stored if owner is None else replace(stored, owner=owner)


def _refuse_known(store: WholeStore, agent_ids: Sequence[AgentId]) -> None:
    reader = store.whole_reader()
    try:
        known = [one for one in agent_ids if reader.read(one, after=1 << 62) is not None]
    finally:
        reader.close()
    if known:
        raise ConflictError(
            f"these agents are here already: {', '.join(known)}; delete them first, "
            "or import into another directory",
            details={"agents": known},
        )


def _stored(path: Path, agent_id: AgentId, parts: _Parts) -> StoredAgent:
    missing = {DESCRIPTOR, STATE, HISTORY} - parts.content.keys()
    if missing:
        raise UsageError(f"{path}: agent {agent_id} has no {', '.join(sorted(missing))}")
    content = parts.content
    try:
        stored = parse_folder(
            content[DESCRIPTOR], content[STATE], content[HISTORY], path / agent_id
        )
    except RetinueError as error:
        raise UsageError(f"{path} cannot be imported: {error}") from error
    if stored.id != agent_id:
        raise UsageError(f"{path}: the folder {agent_id} holds the agent {stored.id!r}")
    return stored


def _read_archive(path: Path) -> dict[AgentId, _Parts]:
    agents: dict[AgentId, _Parts] = {}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for name, data in _members(archive, path):
                match = _MEMBER.fullmatch(name)
                if match is None or not is_agent_id(match[1]):
                    raise UsageError(f"{path} has an entry that is not an agent's: {name!r}")
                parts = agents.setdefault(AgentId(match[1]), _Parts())
                kind, _, inner = match[2].partition("/")
                if kind == FILES:
                    parts_of(inner)
                    parts.files[inner] = data
                else:
                    parts.content[kind] = data
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {str(path)!r}") from None
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, OSError) as error:
        raise UsageError(f"{path} is not an archive of Retinue: {error}") from error
    return agents


def _members(archive: tarfile.TarFile, path: Path) -> Iterator[tuple[str, bytes]]:
    """Give the plain files; links, devices and absurd sizes are refused, nothing is unpacked."""
    total = 0
    for member in archive:
        if member.isdir():
            continue
        total += member.size
        largest = LARGEST_FILE if f"/{FILES}/" in member.name else _LARGEST_PART
        if not member.isreg() or member.size > largest or total > _LARGEST_ARCHIVE:
            raise UsageError(f"{path} has an entry that is not allowed: {member.name!r}")
        content = archive.extractfile(member)
        if content is not None and member.name != _MANIFEST:
            yield member.name, content.read()
