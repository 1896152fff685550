"""What is not a proper request gets a proper answer."""

from contextlib import suppress

import pytest

from tests.acceptance.http.support import TOKEN, Door

pytestmark = pytest.mark.asyncio(loop_scope="module")

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"nonsense", "not JSON"),
        (b'{"definition": "helper",}', "not JSON"),
        (b'{"definition": NaN}', "not JSON"),
        (b'{"definition": "\xff"}', "not valid UTF-8"),
        (b'"text"', "object"),
        (b'{"definition": "helper", "attributes": ' + b'{"a":' * 50_000, "nested"),
        (b"[" * 100_000, "object"),
    ],
)
async def test_a_body_that_is_no_json_object_is_refused(door: Door, body: bytes, word: str) -> None:
    answer = await door.client.post("/api/agents", content=body, headers=JSON)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "invalid"
    assert word in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
async def test_a_body_that_a_form_could_send_is_refused(door: Door, kind: str) -> None:
    answer = await door.client.post(
        "/api/agents", content=b'{"definition": "helper"}', headers={"Content-Type": kind}
    )
    assert answer.status_code == 415
    assert answer.json()["error"]["code"] == "unsupported_media_type"


async def test_a_body_that_is_too_long_is_refused_before_it_is_read(door: Door) -> None:
    answer = await door.client.post(
        "/api/agents", content=b" " * (4 * 1024 * 1024 + 1), headers=JSON
    )
    assert answer.status_code == 413
    assert answer.json()["error"]["code"] == "too_large"


@pytest.mark.parametrize(
    "path", ["/api/nothing", "/api/agents/", "/api", "/api/agents/x/promote", "/nothing.js"]
)
async def test_an_unknown_address_is_not_found_in_json(door: Door, path: str) -> None:
    answer = await door.client.get(path)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/agents", {"GET", "HEAD", "POST"}),
        ("POST", "/api/health", {"GET", "HEAD"}),
        ("GET", "/api/login", {"POST"}),
        ("GET", "/api/logout", {"POST"}),
        ("HEAD", "/api/events", {"GET"}),
        ("POST", "/", {"GET", "HEAD"}),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    door: Door, method: str, path: str, allowed: set[str]
) -> None:
    (door.project / "static").mkdir(exist_ok=True)
    (door.project / "static" / "index.html").write_text("<p>app</p>")
    answer = await door.client.request(method, path)
    assert answer.status_code == 405
    assert {name.strip() for name in answer.headers["allow"].split(",")} == allowed
    if method != "HEAD":
        assert answer.json()["error"]["code"] == "method_not_allowed"


async def test_a_head_request_gets_headers_only(door: Door) -> None:
    answer = await door.client.head("/api/agents")
    assert answer.status_code == 200
    assert answer.content == b""


@pytest.mark.parametrize(
    "path", [b"/api/agents/%ff", b"/api/%00", b"/%2e%2e/%2e%2e/etc/passwd", b"/../etc/passwd"]
)
async def test_a_path_that_is_not_well_formed_is_refused(door: Door, path: bytes) -> None:
    answer = await door.raw(
        b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Authorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
    )
    assert answer.startswith(b"HTTP/1.1 400")
    assert b'"code":"invalid"' in answer


async def test_a_huge_header_costs_only_its_own_connection(door: Door) -> None:
    answer = b""
    with suppress(ConnectionResetError):
        answer = await door.raw(
            b"GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Big: " + b"x" * 200_000
        )
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert (await door.client.get("/api/health")).status_code == 200


async def test_an_error_of_ours_is_logged_and_told_without_details(
    door: Door, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_: object) -> int:
        raise ZeroDivisionError("a secret detail")

    monkeypatch.setattr(door.engine.store, "agents", broken)
    answer = await door.client.get("/api/agents")
    assert answer.status_code == 500
    assert answer.json()["error"]["code"] == "internal"
    assert "secret" not in answer.text
    assert "request failed" in caplog.text
