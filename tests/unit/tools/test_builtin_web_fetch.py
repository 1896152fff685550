import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from retinue.settings.tables import WebFetchSettings
from retinue.tools.builtin.web_fetch import web_fetch_tool
from retinue.tools.execution import Finished
from tests.unit.tools.support import Context, run
from tests.unit.tools.web_server import WebServer


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    server = WebServer()
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


@pytest.fixture
def granted(ctx: Context) -> Context:
    ctx.grants = ("@network",)
    return ctx


async def get(ctx: Context, web: WebServer, path: str, *, raw: bool = False) -> Finished:
    settings = WebFetchSettings(allowed_hosts=(web.host,), max_bytes=1000, time_limit_seconds=30.0)
    return await run(web_fetch_tool(settings), ctx, url=web.url(path), raw=raw)


def test_it_promises_that_a_page_can_be_fetched_again() -> None:
    made = web_fetch_tool(WebFetchSettings()).as_tool(source="builtin")
    assert (made.effect, made.capabilities) == ("pure", ("web.fetch",))
    assert made.timeout_seconds == 45


async def test_without_the_grant_nothing_is_fetched_and_the_way_to_it_is_told(
    ctx: Context, web: WebServer
) -> None:
    done = await get(ctx, web, "/")
    assert done.status == "refused"
    assert "@network" in done.output.text
    assert "request_permission" in done.output.text
    assert web.requests == []


async def test_a_private_address_is_refused_with_the_grant_too(granted: Context) -> None:
    done = await run(web_fetch_tool(WebFetchSettings()), granted, url="http://127.0.0.1/")
    assert done.status == "refused"
    assert "not on the public internet" in done.output.text


async def test_html_comes_as_text_or_raw(granted: Context, web: WebServer) -> None:
    web.page("/", b"<h1>Tea</h1><p>Green.</p>")
    assert (await get(granted, web, "/")).output.text == (
        f"{web.url('/')} (status 200)\n\n# Tea\n\nGreen."
    )
    assert "<h1>Tea</h1>" in (await get(granted, web, "/", raw=True)).output.text


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain; charset=iso-8859-1", b"caf\xe9"),
        ("text/html", b'<meta charset="latin-1">caf\xe9'),
        ("text/plain; charset=no-such", "café".encode()),
        ("text/plain; charset=zlib", "café".encode()),
        ("application/json", '{"a":"café"}'.encode()),
        ("application/atom+xml", "<a>café</a>".encode()),
    ],
)
async def test_text_is_read_in_its_character_set(
    granted: Context, web: WebServer, kind: str, body: bytes
) -> None:
    web.page("/", body, kind)
    assert "café" in (await get(granted, web, "/")).output.text


async def test_a_page_that_was_cut_says_so(granted: Context, web: WebServer) -> None:
    web.page("/", b"x" * 5000, "text/plain")
    done = await get(granted, web, "/")
    assert "[The response is longer than 1000 bytes; the rest was not read]" in done.output.text


async def test_a_file_that_is_not_text_is_kept(
    granted: Context, web: WebServer, tmp_path: Path
) -> None:
    web.page("/a%2Fb/pic.png?x=1", b"\x89PNG...", "image/png")
    done = await get(granted, web, "/a%2Fb/pic.png?x=1")
    (file,) = done.output.files
    assert file.path == "/attachments/be2974546978-pic.png"
    assert await granted.files.read(file.path) == b"\x89PNG..."


async def test_a_cut_file_is_not_kept(granted: Context, web: WebServer) -> None:
    web.page("/big.bin", bytes(5000), "application/octet-stream")
    done = await get(granted, web, "/big.bin")
    assert "too large" in done.output.text
    assert done.output.files == ()


async def test_an_error_page_is_an_error(granted: Context, web: WebServer) -> None:
    done = await get(granted, web, "/none")
    assert done.status == "error"
    assert "status 404" in done.output.text
