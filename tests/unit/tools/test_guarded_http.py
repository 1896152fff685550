import asyncio
import gzip
import os
import time
import zlib
from collections.abc import AsyncIterator, Sequence

import pytest

from retinue.errors import RefusedError, UsageError
from retinue.tools.addresses import not_public
from retinue.tools.guarded_http import Fetched, FetchError, GuardedClient
from tests.unit.tools.web_server import Send, WebServer


@pytest.fixture
async def web() -> AsyncIterator[WebServer]:
    server = WebServer()
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listener.sockets[0].getsockname()[1]
    async with listener:
        yield server


async def fetch(web: WebServer, path: str, **limits: float) -> Fetched:
    client = GuardedClient(
        allowed_hosts=(web.host,),
        max_bytes=int(limits.get("max_bytes", 10_000)),
        timeout_seconds=limits.get("seconds", 5),
    )
    return await client.fetch(web.url(path))


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.1.2.3",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "::ffff:0:7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "100::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:808:808::",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "not a valid URL",
    ],
)
def test_an_address_that_is_not_public_is_known(address: str) -> None:
    assert not_public(address) is not None


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "8.8.8.8", "100.63.255.255", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8",
     "64:ff9b::808:808", "2a00:1450::1"],
)  # fmt: skip
def test_a_public_address_is_known(address: str) -> None:
    assert not_public(address) is None


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://LOCALHOST.:{port}/",
        "http://0x7f.1:{port}/",
        "http://2130706433:{port}/",
        "http://0177.0.0.1:{port}/",
        "http://0:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://[::ffff:7f00:1]:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1%25lo]:{port}/",
        "http://user:pass@127.0.0.1:{port}/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:{port}/",
        "ftp://127.0.0.1/",
    ],
)
async def test_nothing_that_is_not_public_is_reached(web: WebServer, url: str) -> None:
    web.page("/", b"secret")
    with pytest.raises((RefusedError, UsageError, FetchError)):
        await GuardedClient(timeout_seconds=5).fetch(url.format(port=web.port))
    assert web.requests == []


@pytest.mark.parametrize("url", ["", "no address", "http://", "http://[::1", "http://a b/"])
async def test_what_is_no_address_is_said_to_be_none(url: str) -> None:
    with pytest.raises((UsageError, RefusedError, FetchError)):
        await GuardedClient(timeout_seconds=5).fetch(url)


async def test_an_allowed_host_is_reached_on_its_port_only(web: WebServer) -> None:
    web.page("/", b"hello")
    assert (await fetch(web, "/")).body == b"hello"
    other = GuardedClient(allowed_hosts=("127.0.0.1:1", "*.example.org"), timeout_seconds=5)
    with pytest.raises(RefusedError, match="loopback"):
        await other.fetch(web.url("/"))
    for pattern in ("127.0.0.1", "127.*", f"*:{web.port}"):
        assert (await GuardedClient(allowed_hosts=(pattern,)).fetch(web.url("/"))).status == 200


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_redirects_are_followed(web: WebServer, status: int) -> None:
    web.redirect("/a", "b?c=1", status)
    web.page("/b?c=1", b"there")
    fetched = await fetch(web, "/a")
    assert (fetched.url, fetched.body) == (web.url("/b?c=1"), b"there")


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost:{port}/secret",
        "http://[::ffff:127.0.0.1]:{port}/secret",
        "//localhost:{port}/secret",
        "http://169.254.169.254/",
        "http://10.0.0.1/",
        "file:///etc/passwd",
        "https://user@example.org/",
    ],
)
async def test_a_redirect_to_a_guarded_place_is_refused(web: WebServer, target: str) -> None:
    web.redirect("/a", target.format(port=web.port))
    web.page("/secret", b"secret")
    with pytest.raises(RefusedError):
        await fetch(web, "/a")
    assert len(web.requests) == 1


async def test_endless_redirects_end(web: WebServer) -> None:
    web.redirect("/a", "/a")
    with pytest.raises(FetchError, match="more than 5 times"):
        await fetch(web, "/a")
    assert len(web.requests) == 6


async def test_credentials_do_not_follow_to_another_host(web: WebServer) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    web.redirect("/a", f"http://other.test:{web.port}/b")
    web.page("/b", b"")
    client = GuardedClient(allowed_hosts=("*",), resolve=resolve)
    await client.fetch(
        f"http://first.test:{web.port}/a", headers={"Authorization": "Bearer x", "X-Kept": "1"}
    )
    assert "Bearer x" in web.requests[0]
    assert "Bearer x" not in web.requests[1]
    assert "X-Kept" in web.requests[1]


async def test_one_private_address_among_public_ones_is_refused() -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["93.184.215.14", "127.0.0.1"]

    with pytest.raises(RefusedError, match=r"127\.0\.0\.1"):
        await GuardedClient(resolve=resolve).fetch("http://mixed.test/")


async def test_the_checked_address_is_the_one_that_is_used(web: WebServer) -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    web.page("/", b"pinned")
    client = GuardedClient(allowed_hosts=("pinned.test",), resolve=resolve)
    fetched = await client.fetch(f"http://pinned.test:{web.port}/")
    assert fetched.body == b"pinned"
    assert fetched.url == f"http://pinned.test:{web.port}/"
    assert asked == ["pinned.test"]
    assert f"host: pinned.test:{web.port}" in web.requests[0].lower()


async def test_tls_names_the_host_and_not_its_address() -> None:
    hello = asyncio.get_running_loop().create_future()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.set_result(await reader.read(4096))
        writer.close()

    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        client = GuardedClient(allowed_hosts=("*",), resolve=resolve)
        with pytest.raises(FetchError):
            await client.fetch(f"https://named.test:{port}/")
    assert b"named.test" in await hello


async def test_another_address_is_tried_when_the_first_does_not_answer(web: WebServer) -> None:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.2", "127.0.0.1"]  # nothing listens on the first

    web.page("/", b"second")
    client = GuardedClient(allowed_hosts=("*",), resolve=resolve)
    assert (await client.fetch(f"http://two.test:{web.port}/")).body == b"second"


async def test_a_long_body_is_cut_and_marked(web: WebServer) -> None:
    web.page("/", b"x" * 20_000)
    fetched = await fetch(web, "/")
    assert (len(fetched.body), fetched.is_cut) == (10_000, True)
    web.page("/", b"x" * 10_000)
    fetched = await fetch(web, "/")
    assert (len(fetched.body), fetched.is_cut) == (10_000, False)


async def test_an_endless_body_is_not_read_to_its_end(web: WebServer) -> None:
    async def endless(send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await send(b"x" * 65_536)

    web.answers["/"] = endless
    assert (await fetch(web, "/")).is_cut


async def test_gzip_is_unpacked(web: WebServer) -> None:
    web.page("/", gzip.compress(b"hello " * 100), "text/plain", "Content-Encoding: gzip")
    assert (await fetch(web, "/")).body == b"hello " * 100
    assert "accept-encoding: gzip\r\n" in web.requests[0].lower()


def memory_bytes() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def test_a_decompression_bomb_is_cut_in_little_memory_and_time(web: WebServer) -> None:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1_000_000)
    bomb = b"".join(packer.compress(zeros) for _ in range(100)) + packer.flush()
    web.page("/", bomb, "text/plain", "Content-Encoding: gzip")
    before, began = memory_bytes(), time.process_time()
    fetched = await fetch(web, "/")
    assert (len(fetched.body), fetched.is_cut) == (10_000, True)
    assert memory_bytes() - before < 20_000_000
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("br", b"x"), ("deflate", b"x"), ("gzip", b"not gzip"), ("gzip, gzip", b"")],
)
async def test_an_encoding_that_was_not_asked_for_is_an_error(
    web: WebServer, encoding: str, body: bytes
) -> None:
    web.page("/", body, "text/plain", f"Content-Encoding: {encoding}")
    with pytest.raises(FetchError):
        await fetch(web, "/")


async def test_a_server_that_dawdles_is_given_up(web: WebServer) -> None:
    async def drip(send: Send) -> None:
        await send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            await send(b"x")
            await asyncio.sleep(0.1)

    web.answers["/"] = drip
    began = time.monotonic()
    with pytest.raises(FetchError, match=r"longer than 0\.5 seconds"):
        await fetch(web, "/", seconds=0.5)
    assert time.monotonic() - began < 50


@pytest.mark.parametrize(
    "answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 500_000]
)
async def test_an_answer_that_is_not_http_is_an_error(web: WebServer, answer: bytes) -> None:
    web.answers["/"] = answer
    with pytest.raises(FetchError):
        await fetch(web, "/")


async def test_a_port_where_nobody_listens_is_an_error() -> None:
    with pytest.raises(FetchError):
        await GuardedClient(allowed_hosts=("*",), timeout_seconds=5).fetch("http://127.0.0.1:1/")


async def test_a_host_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(FetchError, match="not known"):
        await GuardedClient(timeout_seconds=20).fetch("http://no-such-host.invalid/")


async def test_the_proxy_of_the_environment_is_not_used(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    web.page("/", b"direct")
    assert (await fetch(web, "/")).body == b"direct"
