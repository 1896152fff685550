"""Binds the port, serves requests and shuts down in order."""

import asyncio
import errno
import logging
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from retinue.errors import BusyError, UsageError
from retinue.server.endpoints import RouteServices

WS_MESSAGE_BYTES = 64 * 1024
_GRACE_SECONDS = 5
_BACKLOG = 512
# Logged by uvicorn after a WebSocket is refused with a status instead of a handshake.
_NO_HANDSHAKE = "ASGI callable returned without completing handshake."


def bind(host: str, port: int) -> list[socket.socket]:
    """Bind the port on every address of the host."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host!r}: {error.strerror}; check `--host`", details={"host": host}
        ) from error
    sockets: list[socket.socket] = []
    try:
        for family, address in dict.fromkeys((entry[0], entry[4][0]) for entry in found):
            sockets.append(_listening(family, str(address), port))
            port = sockets[0].getsockname()[1]
    except BaseException:
        for taken in sockets:
            taken.close()
        raise
    return sockets


def _listening(family: int, address: str, port: int) -> socket.socket:
    # Without IPPROTO_TCP, asyncio leaves Nagle's algorithm on and each response takes 40 ms.
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            taken.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        taken.bind((address, port))
        taken.listen(_BACKLOG)
        taken.setblocking(False)
    except OSError as error:
        taken.close()
        raise _bind_error(error, address, port) from error
    return taken


def _bind_error(error: OSError, address: str, port: int) -> BusyError | UsageError:
    details = {"host": address, "port": port}
    if error.errno == errno.EADDRINUSE:
        return BusyError(
            f"port {port} on {address} is already in use, maybe by another Retinue server:"
            " stop it, or choose another port with `--port` (0 picks a free one)",
            details=details,
        )
    if error.errno == errno.EACCES:
        return UsageError(
            f"no permission to use port {port}: choose one above 1023 with `--port`",
            details=details,
        )
    return UsageError(
        f"cannot listen on {address!r} port {port}: {error.strerror}; check `--host`",
        details=details,
    )


def address_of(sockets: Sequence[socket.socket], host: str) -> str:
    """Return the URL to open in a browser."""
    port = sockets[0].getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host, host)
    return f"http://{f'[{name}]' if ':' in name and '[' not in name else name}:{port}"


def _is_worth_logging(record: logging.LogRecord) -> bool:
    return record.msg != _NO_HANDSHAKE


class _Server(uvicorn.Server):
    """uvicorn, with live clients disconnected before it shuts down."""

    def __init__(
        self, config: uvicorn.Config, services: RouteServices, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._services = services
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        await self._services.live.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        # uvicorn raises a caught signal again when it has finished, which would end the process
        # before the engine has stopped.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


async def serve(
    app: Starlette,
    host: str,
    port: int,
    *,
    on_ready: Callable[[str], None] | None = None,
    sockets: list[socket.socket] | None = None,
) -> None:
    """Serve until a signal arrives; `on_ready` receives the URL once the server responds.

    Pass `sockets` if they are already bound. The caller stops the engine afterwards.
    """
    sockets = sockets or bind(host, port)
    address = address_of(sockets, host)
    config = uvicorn.Config(
        app,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws_max_size=WS_MESSAGE_BYTES,
        ws_max_queue=8,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        timeout_keep_alive=30,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_worth_logging)
    server = _Server(config, app.state.services, lambda: on_ready(address) if on_ready else None)
    try:
        await server.serve(sockets)
    except asyncio.CancelledError:
        await server.shutdown(sockets)
        raise
