"""`retinue serve` and `retinue open`: the server, and the way into it."""

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
    host: Annotated[str | None, typer.Option(help="The address to listen on.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="The port; 0 takes any free one.")
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open the web app.")] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Set a damaged database aside; rebuild from the folders."),
    ] = False,
) -> int:
    """Start the server and the web app, and print the link that logs you in."""
    from retinue.cli.logs import set_up_logs

    set_up_logs(is_json=common.is_json, is_debug="--debug" in sys.argv)
    try:
        asyncio.run(_serve(common, host=host, port=port, is_opening=browser, is_rebuilding=rebuild))
    except KeyboardInterrupt:
        print_note("Stopped at once; what was running goes on at the next start.")
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
        _begin_project(common.project)  # now that nothing is in its way
        async with _opened(common.project, is_rebuilding=is_rebuilding) as app:
            web = _web_app(app, host)
            link = _login_link(web, address_of(sockets, host))

            beside = [asyncio.create_task(_say_when_stopping(web))]

            def ready(url: str) -> None:
                write_server_file(app, url)
                _greet(app, url, link, is_json=common.is_json)
                beside.append(asyncio.create_task(app.engine.contexts.prepare()))
                if is_opening:
                    typer.launch(link)

            try:
                await listen(web, host, 0, on_ready=ready, sockets=sockets)
            finally:
                for task in beside:
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
            f"a server runs on {project} already: {server.url}, process {server.pid}.\n"
            "`retinue open` prints a link into it.",
            details={"pid": server.pid, "url": server.url},
        )


def make_project_directory(project: Path) -> None:
    """Create the project where it is missing, and complain early where it cannot be used."""
    try:
        project.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UsageError(f"{project} is a file: give a directory with --dir") from None
    except OSError as error:
        raise UsageError(
            f"{project} cannot be made ({error.strerror}): give another directory with --dir"
        ) from None
    if not os.access(project, os.W_OK | os.X_OK):
        raise UsageError(
            f"{project} cannot be written by this user: give another directory with --dir, "
            "or change its owner"
        )


def _begin_project(project: Path) -> None:
    """Fill a directory that is empty, so that there is something to look at and to change."""
    from retinue.cli.init import write_project

    if any(
        not entry.name.startswith(".") or entry.name == ".retinue" for entry in project.iterdir()
    ):
        return
    written = write_project(project, "offline").written
    print_note(f"Wrote a small project into {project}: {', '.join(written)}")


@contextlib.asynccontextmanager
async def _opened(project: Path, *, is_rebuilding: bool) -> "AsyncGenerator[App]":
    gc.disable()  # what is loaded stays
    try:
        from retinue.assembly import open_app, tune_process
        from retinue.cli.logs import without

        with without("retinue.definitions.catalog"):  # the greeting tells what does not load
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


async def _say_when_stopping(web: "Starlette") -> None:
    live = web.state.services.live
    leave = live.join()
    try:
        await leave.wait()
        print_note("Stopping… (Ctrl-C again does not wait)")
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
    needs_key = " (built in; `retinue init` tells about others)"
    say(f"Retinue {__version__}")
    say(f"  data   {app.settings.data_dir}")
    say(f"  model  {app.settings.model}{needs_key if app.settings.model == 'offline' else ''}")
    say(f"  open   {link}")
    say("  stop   Ctrl-C")
    if app.rebuilt is not None:
        say(f"Rebuilt {plural(app.rebuilt.agents, 'agent')} from the folders.")
        for problem in app.rebuilt.problems:
            print_note(f"not rebuilt: {problem}")
    for problem in problems:
        print_note(problem_line(problem))
    sys.stdout.flush()


def write_server_file(app: "App", url: str) -> None:
    """Write down where this server is, for commands of the same user."""
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
    """Print a fresh link that logs a browser in to the running server."""
    from retinue.cli.project_connection import find_server, read_token, require_project

    require_project(common.project)
    server = find_server(common.project)
    if server is None:
        raise NotFoundError(
            f"no server runs on {common.project}: `retinue serve` starts one and prints a link"
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
