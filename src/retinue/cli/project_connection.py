"""Decides who answers a command: the server that runs on the project, or this process itself."""

import asyncio
import fcntl
import os
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from retinue.cli.shared_options import data_directory, environment
from retinue.errors import BusyError, UsageError

if TYPE_CHECKING:
    from retinue.cli.client import Client

T = TypeVar("T")

_PATIENCE_SECONDS = 3.0  # another command may hold the directory for a moment
_PAUSE_SECONDS = 0.1


class RunningServer(Struct, frozen=True, kw_only=True, rename="camel"):
    """What `serve` writes down so that commands find it."""

    pid: int
    url: str
    has_own_token: bool = False  # the operator's, from the settings


def run_with_client(
    project: Path,
    work: "Callable[[Client], Awaitable[T]]",
    *,
    needs_engine: bool = False,
) -> T:
    """Run one command's work against the project."""

    async def whole() -> T:
        async with connected(project, needs_engine=needs_engine) as client:
            return await work(client)

    return asyncio.run(whole())


@asynccontextmanager
async def connected(project: Path, *, needs_engine: bool) -> "AsyncGenerator[Client]":
    """Give the server's client, or one that has opened the store in this process."""
    require_project(project)
    client = await _connect(project, needs_engine=needs_engine)
    try:
        yield client
    finally:
        await client.close()


async def _connect(project: Path, *, needs_engine: bool) -> "Client":
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _PATIENCE_SECONDS
    while True:
        server = find_server(project)
        if server is not None:
            from retinue.cli.channel import Channel
            from retinue.cli.client import Client

            return Client(Channel.to_server(server.url, read_token(project, server)))
        try:
            return await _open(project, is_working=needs_engine)
        except BusyError:
            # Either a short command or a server that has not written down where it listens yet.
            if loop.time() > deadline:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)


async def _open(project: Path, *, is_working: bool) -> "Client":
    """Open the project in this process, behind the same app that a server has.

    Nobody else can reach that app: it listens nowhere, and its token is random, never written
    down, and gone with the process.
    """
    from retinue.assembly import open_app
    from retinue.cli.channel import Channel
    from retinue.cli.client import Client
    from retinue.cli.logs import keep_quiet
    from retinue.server.app import create_app
    from retinue.server.options import ServerOptions

    keep_quiet()
    app = await open_app(project, environment(), starts=is_working)
    token = secrets.token_urlsafe()
    options = ServerOptions.of(app.settings, is_in_process=True)
    try:
        web = create_app(app.engine, token=token, options=options)
    except BaseException:
        await app.close()
        raise
    return Client(Channel.in_process(web, token), app=app, is_working=is_working)


def require_project(project: Path) -> None:
    """Refuse a directory that is no project, before anything is created in it."""
    if not project.is_dir():
        raise UsageError(
            f"there is no directory {project}: give --dir, or run: retinue init {project}"
        )
    if not any(
        (project / name).exists() for name in ("retinue.toml", "agents", "packages", ".retinue")
    ):
        raise UsageError(
            f"{project} is no Retinue project (no retinue.toml, agents/ or .retinue/ in it).\n"
            "Run `retinue init` there, or give the project with --dir."
        )


def server_file(project: Path) -> Path:
    return data_directory(project) / "server.json"


def find_server(project: Path) -> RunningServer | None:
    """Find the server of the project; a note left behind by a dead one is not believed."""
    import msgspec

    data = data_directory(project)
    try:
        server = msgspec.json.decode(server_file(project).read_bytes(), type=RunningServer)
        holder = int((data / "lock").read_text("ascii"))
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return server if holder == server.pid and _is_held(data / "lock") else None


def _is_held(lock: Path) -> bool:
    """Tell whether a process holds the directory; its number alone could be a stranger's by now."""
    try:
        descriptor = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def read_token(project: Path, server: RunningServer) -> str:
    """The token that the server takes: as set for it, else the one that it made."""
    if server.has_own_token:
        from retinue.settings import load_settings

        chosen = load_settings(project, environment()).server.token
        if chosen is None:
            raise UsageError(
                "the server was started with a token of its own: set RETINUE_SERVER__TOKEN to it"
            )
        return chosen.reveal()
    file = data_directory(project) / "token"
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise UsageError(
            f"the server's token cannot be read from {file} ({error.strerror}): "
            "run this as the user who started the server"
        ) from error
