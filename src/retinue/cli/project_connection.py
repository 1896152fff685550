"""Connects a command to the project's running server, or opens the project in this process."""

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

_LOCK_SECONDS = 3.0  # another command may hold the lock for a moment
_PAUSE_SECONDS = 0.1


class RunningServer(Struct, frozen=True, kw_only=True, rename="camel"):
    """The file that `serve` writes so that commands find the server."""

    pid: int
    url: str
    has_own_token: bool = False  # set by the operator in the settings


def run_with_client(
    project: Path,
    work: "Callable[[Client], Awaitable[T]]",
    *,
    needs_engine: bool = False,
) -> T:
    """Run a command's work with a client for the project."""

    async def whole() -> T:
        async with connected(project, needs_engine=needs_engine) as client:
            return await work(client)

    return asyncio.run(whole())


@asynccontextmanager
async def connected(project: Path, *, needs_engine: bool) -> "AsyncGenerator[Client]":
    """Yield a client of the running server, or one that opens the project in this process."""
    require_project(project)
    client = await _connect(project, needs_engine=needs_engine)
    try:
        yield client
    finally:
        await client.close()


async def _connect(project: Path, *, needs_engine: bool) -> "Client":
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _LOCK_SECONDS
    while True:
        server = find_server(project)
        if server is not None:
            from retinue.cli.channel import Channel
            from retinue.cli.client import Client

            return Client(Channel.to_server(server.url, read_token(project, server)))
        try:
            return await _open(project, is_working=needs_engine)
        except BusyError:
            # Another command, or a server that has not written its address yet.
            if loop.time() > deadline:
                raise
            await asyncio.sleep(_PAUSE_SECONDS)


async def _open(project: Path, *, is_working: bool) -> "Client":
    """Open the project in this process, behind the same app that a server uses.

    The app listens on no socket, and its token is random and never stored.
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
    """Refuse a directory that is not a project, before anything is created in it."""
    if not project.is_dir():
        raise UsageError(
            f"no directory {project}. Choose one with --dir, or run: retinue init {project}"
        )
    if not any(
        (project / name).exists() for name in ("retinue.toml", "agents", "packages", ".retinue")
    ):
        raise UsageError(
            f"{project} is not a Retinue project (no retinue.toml, agents/ or .retinue/).\n"
            "Run `retinue init` there, or choose a project with --dir."
        )


def server_file(project: Path) -> Path:
    return data_directory(project) / "server.json"


def find_server(project: Path) -> RunningServer | None:
    """Find the project's running server; a file left behind by a dead one is ignored."""
    import msgspec

    data = data_directory(project)
    try:
        server = msgspec.json.decode(server_file(project).read_bytes(), type=RunningServer)
        holder = int((data / "lock").read_text("ascii"))
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return server if holder == server.pid and _is_held(data / "lock") else None


def _is_held(lock: Path) -> bool:
    """Whether a process holds the lock; its pid alone could belong to another process by now."""
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
    """Return the server's token: from the settings, or the one it generated."""
    if server.has_own_token:
        from retinue.settings import load_settings

        chosen = load_settings(project, environment()).server.token
        if chosen is None:
            raise UsageError(
                "the server was started with its own token: set RETINUE_SERVER__TOKEN to the same"
            )
        return chosen.reveal()
    file = data_directory(project) / "token"
    try:
        return file.read_text("utf-8").strip()
    except OSError as error:
        raise UsageError(
            f"cannot read the server's token from {file} ({error.strerror}): "
            "run this command as the user who started the server"
        ) from error
