"""`retinue serve` and `retinue open`: starts the server, and prints login links."""

import asyncio
import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.output import print_json, print_json_line, print_note, say
from retinue.cli.shared_options import Common, environment
from retinue.errors import BusyError, NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.applications import Starlette

    from retinue.assembly import App


def serve(
    common: Common,
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the web app in a browser.")] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Replace a damaged database with one from the folders."),
    ] = False,
) -> int:
    """Start the server and the web app, and print a login link."""
    from retinue.cli.logs import set_up_logs

    set_up_logs(is_json=common.is_json, is_debug="--debug" in sys.argv)
    try:
        asyncio.run(_serve(common, host=host, port=port, is_opening=browser, is_rebuilding=rebuild))
    except KeyboardInterrupt:
        print_note("Stopped immediately. Interrupted turns resume at the next start.")
    return 0


async def _serve(
    common: Common, *, host: str | None, port: int | None, is_opening: bool, is_rebuilding: bool
) -> None:
    from retinue.server.guard import check_bind
    from retinue.server.http_server import address_of, bind
    from retinue.server.http_server import serve as listen
    from retinue.settings import load_settings

    make_project_directory(common.project)
    _refuse_second_server(common.project)
    settings = load_settings(common.project, environment())
    for warning in settings.warnings:
        print_note(f"warning: {warning}")
    host = host or settings.server.host
    chosen = settings.server.token
    check_bind(host, None if chosen is None else chosen.reveal())
    sockets = bind(host, settings.server.port if port is None else port)
    try:
        _fill_empty_project(common.project)  # only once everything else is checked
        async with _opened(common.project, is_rebuilding=is_rebuilding) as app:
            web = _web_app(app, host)
            link = _login_link(web, address_of(sockets, host))

            background = [asyncio.create_task(_announce_stop(web))]

            def ready(url: str) -> None:
                write_server_file(app, url)
                _greet(app, url, link, is_json=common.is_json)
                background.append(asyncio.create_task(app.engine.contexts.prepare()))
                if is_opening:
                    typer.launch(link)

            try:
                await listen(web, host, 0, on_ready=ready, sockets=sockets)
            finally:
                for task in background:
                    task.cancel()
                remove_server_file(app.settings.data_dir)
    finally:
        for taken in sockets:
            taken.close()


def _refuse_second_server(project: Path) -> None:
    from retinue.cli.project_connection import find_server

    server = find_server(project)
    if server is not None:
        raise BusyError(
            f"a server is already running on {project}: {server.url}, process {server.pid}.\n"
            "Get a login link with: retinue open",
            details={"pid": server.pid, "url": server.url},
        )


def make_project_directory(project: Path) -> None:
    """Create the project directory if needed; refuse one that cannot be used."""
    try:
        project.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{project} is a file: choose a directory with --dir") from None
    except OSError as error:
        raise UsageError(
            f"cannot create {project} ({error.strerror}): choose another directory with --dir"
        ) from None
    if not os.access(project, os.W_OK | os.X_OK):
        raise UsageError(
            f"{project} is not writable: choose another directory with --dir, or change its owner"
        )


def _fill_empty_project(project: Path) -> None:
    """Write a small project into an empty directory."""
    from retinue.cli.init import write_project

    if any(
        not entry.name.startswith(".") or entry.name == ".retinue" for entry in project.iterdir()
    ):
        return
    written = write_project(project, "offline").written
    print_note(f"Created a project in {project}: {', '.join(written)}")


@contextlib.asynccontextmanager
async def _opened(project: Path, *, is_rebuilding: bool) -> "AsyncGenerator[App]":
    gc.disable()  # what is loaded here stays in memory
    try:
        from retinue.assembly import open_app, tune_process
        from retinue.cli.logs import without

        with without("retinue.definitions.catalog_reader"):  # printed after start-up instead
            app = await open_app(project, environment(), rebuilds=is_rebuilding)
    finally:
        gc.enable()
    tune_process()
    try:
        yield app
    finally:
        await app.close()


def _web_app(app: "App", host: str) -> "Starlette":
    from retinue.server.app import create_app
    from retinue.server.options import ServerOptions

    options = ServerOptions.of(app.settings, host=host)
    return create_app(app.engine, token=app.token, options=options)


def _login_link(web: "Starlette", url: str) -> str:
    return f"{url}/#login={web.state.services.gate.codes.issue()}"


async def _announce_stop(web: "Starlette") -> None:
    live = web.state.services.live
    leave = live.join()
    try:
        await leave.wait()
        print_note("Stopping… (Ctrl-C again to stop immediately)")
    finally:
        live.left(leave)


def _greet(app: "App", url: str, link: str, *, is_json: bool) -> None:
    from retinue import __version__
    from retinue.cli.definitions import problem_line
    from retinue.cli.phrases import plural
    from retinue.server.routes.definitions import problems_of

    problems = problems_of(app.engine)
    if is_json:
        print_json_line(
            {
                "event": "ready",
                "version": __version__,
                "url": url,
                "login": link,
                "data": str(app.settings.data_dir),
                "model": app.settings.model,
                "problems": problems,
            }
        )
        return
    built_in = " (built in; see `retinue init` for others)"
    say(f"Retinue {__version__}")
    say(f"  data   {app.settings.data_dir}")
    say(f"  model  {app.settings.model}{built_in if app.settings.model == 'offline' else ''}")
    say(f"  open   {link}")
    say("  stop   Ctrl-C")
    if app.rebuilt is not None:
        say(f"Rebuilt {plural(app.rebuilt.agents, 'agent')} from their folders.")
        for problem in app.rebuilt.problems:
            print_note(f"not rebuilt: {problem}")
    for problem in problems:
        print_note(problem_line(problem))
    sys.stdout.flush()


def write_server_file(app: "App", url: str) -> None:
    """Write the server's address to a file, for commands of the same user."""
    import msgspec

    from retinue.cli.project_connection import RunningServer

    file = app.settings.data_dir / "server.json"
    server = RunningServer(pid=os.getpid(), url=url, has_own_token=app.has_own_token)
    temporary = file.with_suffix(".tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(msgspec.json.encode(server))
    temporary.replace(file)


def remove_server_file(data: Path) -> None:
    with contextlib.suppress(OSError):
        (data / "server.json").unlink(missing_ok=True)


def open_link(common: Common) -> None:
    """Print a new login link for the running server."""
    from retinue.cli.project_connection import find_server, read_token, require_project

    require_project(common.project)
    server = find_server(common.project)
    if server is None:
        raise NotFoundError(
            f"no server is running on {common.project}. Start one with: retinue serve"
        )

    async def ask() -> str:
        from retinue.cli.channel import Channel
        from retinue.cli.client import Client

        client = Client(Channel.to_server(server.url, read_token(common.project, server)))
        try:
            return await client.login_link()
        finally:
            await client.close()

    link = asyncio.run(ask())
    if common.is_json:
        print_json({"url": link})
    else:
        say(link)
