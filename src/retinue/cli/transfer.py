"""`retinue export` and `retinue import`: agents as one file, whole."""

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
_PATIENCE_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
_SCHEDULES = "schedules.json"
_PARTS = ("descriptor.json", "state.json", "history.jsonl")


def export(
    common: Common,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write (.tar.gz).")],
    agents: Annotated[
        list[str] | None, typer.Argument(metavar="AGENTS", help="Which ones; else all of them.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Write agents with their histories and files to an archive; also while the server runs."""
    if file.exists() and not force:
        raise UsageError(f"{file} exists already: choose another name, or replace it with --force")
    if not file.absolute().parent.is_dir():
        raise UsageError(f"there is no directory {file.absolute().parent}: make it first")

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
        say(f"{plural(len(ids), 'agent')} in {file} ({size(count)})")


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
                parts = await _whole(client, agent_id, folder)
                await asyncio.to_thread(_add_agent, archive, folder, parts)
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)


class _Held(Struct):
    item: "_Id"


class _Id(Struct):
    id: str


class _State(Struct):
    records: int
    inbox: list[_Held] = []


async def _whole(client: "Client", agent_id: str, folder: Path) -> dict[str, bytes]:
    """Read an agent's folder when it is in step with the store, which it soon is."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE_SECONDS
    while True:
        last = await client.recent(agent_id, limit=1)
        waiting = {item.id for item in (await client.report(agent_id)).messages}
        parts = await asyncio.to_thread(_read, folder)
        if parts is not None:
            state = msgspec.json.decode(parts["state.json"], type=_State)
            is_consistent = parts["history.jsonl"].count(b"\n") == state.records
            is_current = state.records >= (last[-1].seq if last else 0)
            is_current = is_current and {held.item.id for held in state.inbox} == waiting
            # An agent at work may always be a step ahead; then its folder is whole all the same.
            if is_consistent and (is_current or loop.time() > deadline):
                return parts
        if loop.time() > deadline:
            raise StoreError(f"{folder} is behind the store: see `retinue doctor`, then try again")
        await asyncio.sleep(_PAUSE_SECONDS)


def _read(folder: Path) -> dict[str, bytes] | None:
    """Read the parts; None while they are being written."""
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
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An archive that export wrote.")],
) -> None:
    """Read agents from an archive, all of them or none."""
    require_project(common.project)
    server = find_server(common.project)
    if server is not None:
        raise BusyError(
            f"a server runs on {common.project} (process {server.pid}): stop it, import, start it"
        )
    ids = asyncio.run(_import(common.project, file))
    if common.is_json:
        print_json({"agents": ids})
    else:
        say(f"{plural(len(ids), 'agent')} imported")


async def _import(project: Path, file: Path) -> list[str]:
    """Open the store itself: an import needs it alone, and no endpoint takes an archive."""
    from retinue.assembly import open_app
    from retinue.cli.logs import keep_quiet

    keep_quiet()
    app = await open_app(project, environment(), starts=False)
    try:
        return [str(agent_id) for agent_id in await app.import_agents(file)]
    finally:
        await app.close()
