"""Listening and leaving: the port, the signals, the address to open."""

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

import httpx2
import pytest

from retinue.errors import BusyError, UsageError
from retinue.server.guard import check_bind
from retinue.server.http_server import address_of, bind
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.http.support import TOKEN, make_project

SERVER = """
import asyncio, os, sys
from pathlib import Path
from retinue.assembly import open_app
from retinue.server.app import create_app
from retinue.server.http_server import serve

async def main() -> None:
    app = await open_app(Path(sys.argv[1]), os.environ)
    try:
        asgi = create_app(app.engine, token=app.token)
        await serve(asgi, "127.0.0.1", 0, on_ready=lambda url: print(url, flush=True))
    finally:
        await app.close()
        print("closed", flush=True)

asyncio.run(main())
"""


def test_a_port_in_use_is_told_with_what_to_do() -> None:
    taken = bind("127.0.0.1", 0)
    port = taken[0].getsockname()[1]
    with pytest.raises(BusyError) as refused:
        bind("127.0.0.1", port)
    assert str(port) in refused.value.message
    assert "--port" in refused.value.message
    taken[0].close()
    bind("127.0.0.1", port)[0].close()


def test_a_host_that_is_not_ours_is_told() -> None:
    with pytest.raises(UsageError, match="--host"):
        bind("192.0.2.1", 0)
    with pytest.raises(UsageError, match="--host"):
        bind("no-such-host.invalid", 0)


@pytest.mark.parametrize(
    ("host", "start"),
    [
        ("127.0.0.1", "http://127.0.0.1:"),
        ("0.0.0.0", "http://127.0.0.1:"),
        ("::1", "http://[::1]:"),
    ],
)
def test_the_address_is_one_that_people_can_open(host: str, start: str) -> None:
    if ":" in host and not socket.has_ipv6:
        pytest.skip("there is no IPv6 here")
    sockets = bind(host, 0)
    port = sockets[0].getsockname()[1]
    assert address_of(sockets, host) == f"{start}{port}"
    for taken in sockets:
        taken.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.9.9.9"])
def test_this_machine_alone_needs_no_chosen_token(host: str) -> None:
    check_bind(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_other_machines_are_let_in_only_with_a_chosen_token(host: str) -> None:
    with pytest.raises(UsageError, match=r"no token is set.*RETINUE_SERVER__TOKEN"):
        check_bind(host, None)
    for guessable in ("", "secret", "x" * 15):
        with pytest.raises(UsageError, match="fewer than 16 characters"):
            check_bind(host, guessable)
    check_bind(host, "x" * 16)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_server_in_order(tmp_path: Path, number: signal.Signals) -> None:
    """Also while clients wait and watch: they are let go, and the exit is clean."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        SERVER,
        make_project(tmp_path),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "RETINUE_SERVER__TOKEN": TOKEN, "RETINUE_MODEL": "offline"},
    )
    assert process.stdout is not None
    url = (await process.stdout.readline()).decode().strip()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(
        base_url=url, headers=headers, timeout=PATIENCE_SECONDS
    ) as client:
        assert (await client.get("/api/health")).status_code == 200
        async with client.stream("GET", "/api/events") as stream:
            lines = stream.aiter_lines()
            await anext(lines)
            process.send_signal(number)
            async for _ in lines:
                pass
    assert await process.wait() == 0
    assert (await process.stdout.read()).decode().strip() == "closed"
