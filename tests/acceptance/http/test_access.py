"""Who gets in: the token, browsers, foreign pages, foreign names, guessers."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from websockets.exceptions import InvalidStatus

from retinue.server.app import ENDPOINTS
from retinue.server.endpoints import RouteServices
from retinue.server.options import ServerOptions
from retinue.testing.fake_clock import FakeClock
from tests.acceptance.http.support import TOKEN, Door, opened

pytestmark = pytest.mark.asyncio(loop_scope="module")

EXAMPLES = {
    "agent_id": "a" * 24,
    "message_id": "m" * 27,
    "name": "KEY",
    "operation": "find",
    "path": "a.txt",
    "plugin": "shelf",
    "request_id": "r1",
    "schedule_id": "daily",
    "window_id": "w1",
}


def services(door: Door) -> RouteServices:
    return door.app.state.services


async def browser(door: Door) -> httpx2.AsyncClient:
    """A client that is logged in as the web app is."""
    client = door.stranger(Origin=door.url, **{"X-Retinue": "1"})
    code = services(door).gate.codes.issue()
    answer = await client.post("/api/login", json={"code": code})
    assert answer.status_code == 200, answer.text
    return client


# ---------------------------------------------------------------- the token

GUARDED = [
    (endpoint.method, endpoint.path.replace(":path", "").format(**EXAMPLES))
    for endpoint in ENDPOINTS
    if not endpoint.is_public
] + [("GET", "/api/nothing")]


async def test_only_health_and_login_are_open_to_all() -> None:
    assert [e.path for e in ENDPOINTS if e.is_public] == ["/api/health", "/api/login"]


@pytest.mark.parametrize(("method", "path"), GUARDED)
async def test_nothing_is_told_or_done_without_the_token(
    door: Door, method: str, path: str
) -> None:
    async with door.stranger() as stranger:
        answer = await stranger.request(method, path)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "unauthorized"


@pytest.mark.parametrize(
    "header", ["Bearer wrong", f"Basic {TOKEN}", "Bearer", TOKEN, f"Bearer {TOKEN}x", "Bearer é"]
)
async def test_anything_but_the_token_is_refused(door: Door, header: str) -> None:
    answer = await door.raw(
        f"GET /api/agents HTTP/1.1\r\nHost: localhost\r\nAuthorization: {header}\r\n"
        "Connection: close\r\n\r\n".encode()
    )
    assert answer.startswith((b"HTTP/1.1 401", b"HTTP/1.1 400"))


async def test_the_token_is_not_taken_from_the_address(door: Door) -> None:
    async with door.stranger() as stranger:
        assert (await stranger.get(f"/api/agents?token={TOKEN}")).status_code == 401


async def test_a_right_token_passes_while_somebody_guesses(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        async with door.stranger(Authorization="Bearer wrong") as guesser:
            codes = [(await guesser.get("/api/agents")).status_code for _ in range(12)]
        assert codes[:10] == [401] * 10
        assert codes[-1] == 429
        assert (await door.client.get("/api/agents")).status_code == 200


# ---------------------------------------------------------------- browsers


async def test_a_code_lets_a_browser_in_exactly_once(door: Door) -> None:
    code = services(door).gate.codes.issue()
    async with door.stranger() as first, door.stranger() as second:
        answer = await first.post("/api/login", json={"code": code})
        assert answer.status_code == 200
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie and "samesite=strict" in cookie and "path=/" in cookie
        assert TOKEN.lower() not in cookie
        assert (await first.get("/api/agents")).status_code == 200
        again = await second.post("/api/login", json={"code": code})
        assert again.status_code == 401
        assert (await second.get("/api/agents")).status_code == 401


async def test_a_browser_may_also_log_in_with_the_token(door: Door) -> None:
    async with door.stranger() as client:
        assert (await client.post("/api/login", json={"token": "wrong"})).status_code == 401
        assert (await client.post("/api/login", json={"token": TOKEN})).json() == {"owner": "local"}
        assert (await client.get("/api/agents")).status_code == 200


async def test_only_the_tokens_holder_gets_codes_for_browsers(door: Door) -> None:
    client = await browser(door)
    assert (await client.post("/api/login-codes")).status_code == 403
    await client.aclose()
    answer = await door.client.post("/api/login-codes")
    assert answer.status_code == 201
    async with door.stranger() as other:
        assert (await other.post("/api/login", json=answer.json())).status_code == 200


@pytest.mark.parametrize("body", [{}, {"code": "a", "token": "b"}, {"code": 1}, {"pin": "a"}])
async def test_a_login_needs_a_code_or_a_token(door: Door, body: dict[str, object]) -> None:
    async with door.stranger() as client:
        assert (await client.post("/api/login", json=body)).status_code == 400


async def test_a_code_is_worth_nothing_after_ten_minutes(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as door:
        code = services(door).gate.codes.issue()
        clock.advance(601)
        async with door.stranger() as client:
            answer = await client.post("/api/login", json={"code": code})
            assert answer.status_code == 401
            assert "retinue open" in answer.json()["error"]["message"]


async def test_failed_logins_have_to_wait_and_then_may_try_again(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as door, door.stranger() as client:
        for _ in range(10):
            assert (await client.post("/api/login", json={"token": "no"})).status_code == 401
        answer = await client.post("/api/login", json={"token": TOKEN})
        assert answer.status_code == 429
        clock.advance(int(answer.headers["retry-after"]))
        assert (await client.post("/api/login", json={"token": TOKEN})).status_code == 200


async def test_a_session_outlives_the_server_but_not_thirty_days(tmp_path: Path) -> None:
    clock = FakeClock()
    async with opened(tmp_path, clock=clock) as door:
        client = await browser(door)
        cookies = dict(client.cookies.items())
        await client.aclose()
    async with opened(tmp_path, clock=clock) as door:
        async with door.stranger() as client:
            client.cookies.update(cookies)
            assert (await client.get("/api/agents")).status_code == 200
            clock.advance(31 * 24 * 3600)
            assert (await client.get("/api/agents")).status_code == 401


async def test_a_changed_cookie_is_worth_nothing(door: Door) -> None:
    client = await browser(door)
    ((name, value),) = client.cookies.items()
    await client.aclose()
    for forged in (value[:-1], "9" + value, value.replace(".", ""), "", "....", "1.2.3"):
        async with door.stranger(Cookie=f"{name}={forged}") as stranger:
            assert (await stranger.get("/api/agents")).status_code == 401


async def test_a_logout_ends_the_session_everywhere(door: Door) -> None:
    client = await browser(door)
    cookies = dict(client.cookies.items())
    assert (await client.post("/api/logout")).status_code == 204
    assert not client.cookies
    await client.aclose()
    async with door.stranger() as thief:
        thief.cookies.update(cookies)
        assert (await thief.get("/api/agents")).status_code == 401


async def test_a_logout_outlives_the_server_at_every_door(tmp_path: Path) -> None:
    async with opened(tmp_path) as door:
        client = await browser(door)
        ((name, value),) = client.cookies.items()
        assert (await client.post("/api/logout")).status_code == 204
        await client.aclose()
    async with opened(tmp_path) as door:
        cookie = f"{name}={value}"
        async with door.stranger(Cookie=cookie) as thief:
            assert (await thief.get("/api/agents")).status_code == 401
            assert (await thief.get("/api/events")).status_code == 401
        with pytest.raises(InvalidStatus) as refused:
            async with door.socket(Cookie=cookie, Origin=door.url):
                pass
        assert refused.value.response.status_code == 401


# ---------------------------------------------------------------- foreign pages


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Retinue": "1"},
        {"Origin": "OWN"},
        {"X-Retinue": "1", "Origin": "http://evil.example"},
        {"X-Retinue": "1", "Origin": "null"},
        {"X-Retinue": "0", "Origin": "OWN"},
        {"X-Retinue": "1", "Origin": "http://127.0.0.1:1"},
    ],
)
async def test_a_browsers_change_needs_its_own_origin_and_our_header(
    door: Door, headers: dict[str, str]
) -> None:
    client = await browser(door)
    cookies = dict(client.cookies.items())
    await client.aclose()
    sent = {name: door.url if value == "OWN" else value for name, value in headers.items()}
    async with door.stranger(**sent) as page:
        page.cookies.update(cookies)
        for method, path in [("POST", "/api/agents"), ("DELETE", f"/api/agents/{'a' * 24}")]:
            answer = await page.request(method, path)
            assert answer.status_code == 403
            assert answer.json()["error"]["code"] == "forbidden"


async def test_a_browser_on_our_own_page_may_change_things(door: Door) -> None:
    client = await browser(door)
    answer = await client.post("/api/agents", json={"definition": "helper"})
    await client.aclose()
    assert answer.status_code == 201


async def test_a_foreign_page_can_neither_log_in_nor_use_up_attempts(door: Door) -> None:
    async with door.stranger(Origin="http://evil.example") as page:
        for _ in range(15):
            assert (await page.post("/api/login", json={"token": "no"})).status_code == 403


async def test_no_answer_lets_foreign_pages_read_it(door: Door) -> None:
    answer = await door.client.get("/api/agents", headers={"Origin": "http://evil.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
    preflight = await door.client.options("/api/agents", headers={"Origin": "http://evil.example"})
    assert preflight.status_code == 405


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
async def test_a_foreign_page_gets_no_socket(
    door: Door, origin: str, caplog: pytest.LogCaptureFixture
) -> None:
    client = await browser(door)
    ((name, value),) = client.cookies.items()
    await client.aclose()
    for credential in ({"Cookie": f"{name}={value}"}, {"Authorization": f"Bearer {TOKEN}"}):
        with pytest.raises(InvalidStatus) as refused:
            async with door.socket(Origin=origin, **credential):
                pass
        assert refused.value.response.status_code == 403
    assert "handshake" not in caplog.text


async def test_a_cookie_without_an_origin_gets_no_socket(door: Door) -> None:
    client = await browser(door)
    ((name, value),) = client.cookies.items()
    await client.aclose()
    with pytest.raises(InvalidStatus) as refused:
        async with door.socket(Cookie=f"{name}={value}"):
            pass
    assert refused.value.response.status_code == 403


async def test_nobody_gets_no_socket(door: Door) -> None:
    with pytest.raises(InvalidStatus) as refused:
        async with door.socket(Origin=door.url):
            pass
    assert refused.value.response.status_code == 401
    assert b'"code":"unauthorized"' in (refused.value.response.body or b"")


# ---------------------------------------------------------------- foreign names


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8420", "localhost.evil.example", "127.0.0.1.evil", "", "a b"],
)
@pytest.mark.parametrize("path", ["/", "/api/health", "/api/agents"])
async def test_a_foreign_name_is_refused_everywhere(door: Door, host: str, path: str) -> None:
    answer = await door.raw(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {TOKEN}\r\n"
        "Connection: close\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 400")


async def test_a_foreign_name_gets_no_socket(door: Door) -> None:
    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13"
    answer = await door.raw(
        f"GET /api/ws HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {TOKEN}\r\n"
        f"Connection: Upgrade\r\nUpgrade: websocket\r\n{key}\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"unknown_host" in answer


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1", "[::1]:8420"])
async def test_loopback_names_are_known(door: Door, host: str) -> None:
    answer = await door.client.get("/api/health", headers={"Host": host})
    assert answer.status_code == 200


async def test_a_configured_name_and_origin_are_known(tmp_path: Path) -> None:
    options = ServerOptions(
        allowed_hosts=["retinue.example"], allowed_origins=["https://front.example"]
    )
    async with opened(tmp_path, options=options) as door:
        answer = await door.client.get("/api/health", headers={"Host": "retinue.example"})
        assert answer.status_code == 200
        headers = {"Origin": "https://front.example", "Authorization": f"Bearer {TOKEN}"}
        async with door.socket(**headers):
            pass


async def test_what_a_proxy_claims_changes_nothing(door: Door) -> None:
    async with door.stranger(
        **{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": "localhost", "Host": "evil.example"}
    ) as stranger:
        assert (await stranger.get("/api/health")).status_code == 400


# ---------------------------------------------------------------- headers and the web app


@asynccontextmanager
async def with_app(folder: Path) -> AsyncGenerator[Door]:
    static = folder / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<title>app</title>")
    (static / "assets" / "app-1a2b.js").write_text("1")
    (static / "icon.svg").write_text("<svg/>")
    (folder / "secret.txt").write_text("secret")
    (static / "link.txt").symlink_to(folder / "secret.txt")
    async with opened(folder) as door:
        yield door


async def test_the_web_app_is_served_with_the_right_headers(tmp_path: Path) -> None:
    async with with_app(tmp_path) as door:
        async with door.stranger() as client:
            index = await client.get("/")
            assert index.status_code == 200 and "<title>app" in index.text
            assert index.headers["cache-control"] == "no-store"
            assert index.headers["content-security-policy"].startswith("default-src 'none'; script")
            asset = await client.get("/assets/app-1a2b.js")
            assert "immutable" in asset.headers["cache-control"]
            assert asset.headers["content-type"].startswith("text/javascript")
            assert (await client.get("/icon.svg")).headers["cache-control"] == "no-cache"
            page = await client.get("/some/page", headers={"Accept": "text/html"})
            assert page.status_code == 200 and page.headers["cache-control"] == "no-store"
            assert (await client.get("/assets/old.js")).status_code == 404
            assert (await client.get("/link.txt")).status_code == 404


async def test_without_a_build_the_server_says_how_to_make_one(door: Door) -> None:
    async with door.stranger() as client:
        answer = await client.get("/", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert "make web" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/api/health", "/api/agents", "/api/nothing", "/x"])
async def test_every_answer_carries_the_security_headers(door: Door, path: str) -> None:
    async with door.stranger() as client:
        headers = (await client.get(path)).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers
