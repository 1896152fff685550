"""Serves skills' command lines in sandboxes: one socket, one route, per-sandbox tokens."""

import asyncio
import logging
import os
import shutil
import socket
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import uvicorn
from msgspec import field
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from retinue.engine.calls.plugin_calls import Caller, Operations
from retinue.engine.skills.sandbox_mounts import SOCKET
from retinue.engine.skills.sandbox_tokens import SandboxTokens
from retinue.errors import OperationError, RetinueError
from retinue.server.endpoints import answer
from retinue.server.error_responses import error_response, from_starlette, internal_error
from retinue.server.guard import unauthorized
from retinue.server.plugin_wire import OperationResult
from retinue.server.request_decoder import decode_json, read_body
from retinue.server.wire import Asked, Attributes

logger = logging.getLogger(__name__)

_MOST_BYTES = 2_000_000
_READ_SECONDS = 30


class SkillCall(Asked, frozen=True, kw_only=True):
    """The body of a skill's request; its token identifies the caller."""

    arguments: Attributes = field(default_factory=dict)


class SkillDoor:
    """A socket that only sandboxes can reach; opened by the first command that needs it."""

    def __init__(self, operations: Operations, passes: SandboxTokens, data_dir: Path) -> None:
        self._data = data_dir
        self._operations = operations
        self._passes = passes
        self._home: Path | None = None
        self._server: uvicorn.Server | None = None
        self._serving: asyncio.Task[None] | None = None

    async def open(self) -> Path:
        """Return the folder with the socket; its parent is closed to other users."""
        if self._home is None:
            # Not in the data directory, because a socket's path must be short.
            self._home = _new_home(self._data)
            place = self._home / "door"
            place.mkdir(mode=0o755)
            place.chmod(0o755)
            listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listening.bind(str(place / SOCKET))
            (place / SOCKET).chmod(0o666)
            listening.listen()
            listening.setblocking(False)
            self._server = _Server(
                uvicorn.Config(
                    self._app(),
                    lifespan="off",
                    log_config=None,
                    access_log=False,
                    server_header=False,
                    timeout_graceful_shutdown=1,
                )
            )
            self._serving = asyncio.create_task(self._server.serve([listening]))
        return self._home / "door"

    async def close(self) -> None:
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            await self._serving
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
        self._home = self._server = self._serving = None

    def _app(self) -> Starlette:
        path = "/api/plugins/{plugin}/operations/{operation}"
        app = Starlette(
            routes=[Route(path, self._operate, methods=["POST"])],
            exception_handlers={HTTPException: _http_error},
        )
        app.router.redirect_slashes = False
        return app

    async def _operate(self, request: Request) -> Response:
        try:
            with self._passes.used(_token(request)) as caller:
                return await self._answer(request, caller)
        except RetinueError as error:
            return error_response(error)
        except asyncio.CancelledError:
            return error_response(OperationError("the command that called the operation has ended"))
        except Exception:
            logger.exception("a skill's request failed")
            return error_response(internal_error())

    async def _answer(self, request: Request, caller: Caller | None) -> Response:
        if caller is None:
            raise unauthorized("Only commands that an agent runs in its shell can call this.")
        data = await read_body(request, limit=_MOST_BYTES, timeout_seconds=_READ_SECONDS)
        asked = decode_json(data, SkillCall)
        names = request.path_params
        result = await self._operations.call(
            caller, names["plugin"], names["operation"], asked.arguments
        )
        return answer(OperationResult(result=result))


def _token(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _new_home(data: Path) -> Path:
    """Create a folder for the socket, and remove those left by killed processes.

    Only this process has the data directory open, so its older folders are unused.
    """
    prefix = f"retinue-{sha256(os.fsencode(data.resolve())).hexdigest()[:12]}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=prefix))


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(from_starlette(error))


class _Server(uvicorn.Server):
    """uvicorn without signal handlers, which the main server has."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
