"""`retinue export` and `retinue import`: agents as an archive."""

import asyncio
import contextlib
import io
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from msgspec import Struct

from retinue.cli.output import print_json, say
from retinue.cli.phrases import plural, size
from retinue.cli.project_connection import find_server, require_project, run_with_client
from retinue.cli.shared_options import Common, data_directory, environment
from retinue.errors import BusyError, StoreError, UsageError

if TYPE_CHECKING:
    from retinue.cli.client import Client

_PAGE = 200
_MIRROR_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
_SCHEDULES = "schedules.json"
_PARTS = ("descriptor.json", "state.json", "history.jsonl")


def export(
    common: Common,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive to write (.tar.gz).")],
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="AGENTS", help="Agents to export.  [default: all]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Export agents with their histories and files; works while the server runs."""
    if file.exists() and not force:
        raise UsageError(f"{file} already exists: choose another name, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"no directory {file.absolute().parent}: create it first")

    async def work(client: "Client") -> list[str]:
        from retinue.cli.agent_lookup import find_agent

        await client.settle_folders()
        ids = [(await find_agent(client, agent)).id for agent in agents or []]
        is_whole = not ids
        ids = ids or await _all_ids(client)
        await _write(client, file, data_directory(common.project), ids, is_whole=is_whole)
        return ids

    ids = run_with_client(common.project, work)
    count = file.stat().st_size
    if common.is_json:
        print_json({"file": str(file), "agents": ids, "bytes": count})
    else:
        say(f"Exported {plural(len(ids), 'agent')} to {file} ({size(count)})")


async def _all_ids(client: "Client") -> list[str]:
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = await client.agents(limit=_PAGE, cursor=cursor)
        ids += [agent.id for agent in page.agents]
        cursor = page.next_cursor
        if cursor is None:
            return ids


async def _write(
    client: "Client", file: Path, data: Path, ids: list[str], *, is_whole: bool
) -> None:
    draft = file.with_name(file.name + ".part")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as raw, tarfile.open(fileobj=raw, mode="w:gz") as archive:
            _add(archive, "manifest.json", msgspec.json.encode({"agents": ids, "v": 1}))
            if is_whole and (data / _SCHEDULES).exists():
                _add(archive, _SCHEDULES, (data / _SCHEDULES).read_bytes())
            for agent_id in ids:
                folder = data / "agents" / agent_id
                parts = await _read_current(client, agent_id, folder)
                await asyncio.to_thread(_add_agent, archive, folder, parts)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


class _InboxEntry(Struct):
    item: "_Id"


class _Id(Struct):
    id: str


class _State(Struct):
    records: int
    inbox: list[_InboxEntry] = []


async def _read_current(client: "Client", agent_id: str, folder: Path) -> dict[str, bytes]:
    """Read an agent's folder once it has caught up with the store."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _MIRROR_SECONDS
    while True:
        last = await client.recent(agent_id, limit=1)
        waiting = {item.id for item in (await client.report(agent_id)).messages}
        parts = await asyncio.to_thread(_read, folder)
        if parts is not None:
            state = msgspec.json.decode(parts["state.json"], type=_State)
            is_consistent = parts["history.jsonl"].count(b"\n") == state.records
            is_current = state.records >= (last[-1].seq if last else 0)
            is_current = is_current and {entry.item.id for entry in state.inbox} == waiting
            # The store of a busy agent may always be a step ahead; a consistent folder will do.
            if is_consistent and (is_current or loop.time() > deadline):
                return parts
        if loop.time() > deadline:
            raise StoreError(f"{folder} is out of date: run `retinue doctor`, then try again")
        await asyncio.sleep(_PAUSE_SECONDS)


def _read(folder: Path) -> dict[str, bytes] | None:
    """Read the files of an agent; None while they are being written."""
    try:
        before = (folder / "state.json").read_bytes()
        parts = {name: (folder / name).read_bytes() for name in _PARTS}
    except FileNotFoundError:
        return None
    return parts if parts["state.json"] == before else None


def _add_agent(archive: tarfile.TarFile, folder: Path, parts: dict[str, bytes]) -> None:
    for name, data in parts.items():
        _add(archive, f"agents/{folder.name}/{name}", data)
    files = folder / "files"
    for found in sorted(files.rglob("*")):
        if found.is_file() and not found.is_symlink():
            name = found.relative_to(files).as_posix()
            with contextlib.suppress(FileNotFoundError):
                _add(archive, f"agents/{folder.name}/files/{name}", found.read_bytes())


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mode = 0o600
    archive.addfile(member, io.BytesIO(data))


def import_(
    common: Common,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Archive written by export.")],
) -> None:
    """Import agents from an archive, all or none; the server must be stopped."""
    require_project(common.project)
    server = find_server(common.project)
    if server is not None:
        raise BusyError(
            f"a server is running on {common.project} (process {server.pid}): stop it first"
        )
    ids = asyncio.run(_import(common.project, file))
    if common.is_json:
        print_json({"agents": ids})
    else:
        say(f"Imported {plural(len(ids), 'agent')}")


async def _import(project: Path, file: Path) -> list[str]:
    """Import into the store directly: it needs exclusive access, and no endpoint offers it."""
    from retinue.assembly import open_app
    from retinue.cli.logs import keep_quiet

    keep_quiet()
    app = await open_app(project, environment(), starts=False)
    try:
        return [str(agent_id) for agent_id in await app.import_agents(file)]
    finally:
        await app.close()
