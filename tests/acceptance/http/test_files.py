"""An agent's files through HTTP: inside its tree and never out of it."""

import tracemalloc
from collections.abc import AsyncGenerator

import pytest

from tests.acceptance.http.support import TOKEN, Door

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_file_is_written_read_listed_and_deleted(door: Door) -> None:
    agent = await door.new_agent()
    path = f"/api/agents/{agent}/files/notes/ä b.txt"
    written = await door.client.put(path, content=b"hello")
    assert written.status_code == 201
    assert written.json()["path"] == "/notes/ä b.txt"
    assert written.json()["size"] == 5
    assert (await door.client.get(path)).content == b"hello"
    for address, params in [
        (f"/api/agents/{agent}/files", {"path": "/notes"}),
        (f"/api/agents/{agent}/files", {"recursive": "true"}),
        (f"/api/agents/{agent}/files/notes/", {}),
    ]:
        listed = (await door.client.get(address, params=params)).json()["files"]
        assert "/notes/ä b.txt" in [file["path"] for file in listed]
    assert (await door.client.delete(path)).status_code == 204
    assert (await door.client.get(path)).status_code == 404


async def test_a_download_can_never_run_in_the_app(door: Door) -> None:
    agent = await door.new_agent()
    path = f"/api/agents/{agent}/files/page.html"
    await door.client.put(path, content=b"<script>alert(1)</script>")
    headers = (await door.client.get(path)).headers
    assert headers["content-disposition"] == "attachment; filename*=UTF-8''page.html"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "..%2fsecret",
        "%2e%2e/secret",
        "%2e%2e%2f%2e%2e%2fsecret",
        "a/../../secret",
        "a/%2e%2e/b",
        "a%00b",
        "..%5csecret",
        "C:%5csecret",
        ".",
        "%ff",
    ],
)
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_a_path_that_leaves_the_tree_is_refused(door: Door, path: str, method: str) -> None:
    agent = await door.new_agent()
    outside = door.project / ".retinue" / "agents" / agent / "secret"
    outside.parent.mkdir(parents=True, exist_ok=True)
    outside.write_bytes(b"secret")
    answer = await door.raw(
        f"{method} /api/agents/{agent}/files/{path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
    )
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert outside.read_bytes() == b"secret"


async def test_a_folder_outside_the_tree_is_not_listed(door: Door) -> None:
    agent = await door.new_agent()
    answer = await door.client.get(f"/api/agents/{agent}/files", params={"path": "/../.."})
    assert answer.status_code == 400


async def test_a_link_out_of_the_tree_is_not_followed(door: Door) -> None:
    agent = await door.new_agent()
    await door.client.put(f"/api/agents/{agent}/files/a.txt", content=b"x")
    tree = door.project / ".retinue" / "agents" / agent / "files"
    (tree / "out").symlink_to("/etc")
    answer = await door.client.get(f"/api/agents/{agent}/files/out/hostname")
    assert answer.status_code in (400, 403, 404)


async def test_an_upload_that_is_too_long_leaves_nothing(door: Door) -> None:
    agent = await door.new_agent()
    path = f"/api/agents/{agent}/files/big.bin"

    async def chunks() -> AsyncGenerator[bytes]:
        for _ in range(20):
            yield b"x" * 100_000

    declared = await door.client.put(path, content=b"x" * 1_000_001)
    assert declared.status_code == 413
    streamed = await door.client.put(path, content=chunks())
    assert streamed.status_code == 413
    assert (await door.client.get(path)).status_code == 404
    assert (await door.client.put(path, content=b"x" * 1_000_000)).status_code == 201


async def test_an_upload_that_breaks_off_leaves_nothing(door: Door) -> None:
    agent = await door.new_agent()
    head = (
        f"PUT /api/agents/{agent}/files/cut.txt HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: 100\r\n\r\nhalf"
    )
    reader, writer = await door.connect()
    writer.write(head.encode())
    await writer.drain()
    writer.close()
    await reader.read()
    assert (await door.client.get(f"/api/agents/{agent}/files/cut.txt")).status_code == 404


async def test_a_file_of_an_agent_that_is_not_there_is_not_found(door: Door) -> None:
    path = f"/api/agents/{'a' * 24}/files/x"
    assert (await door.client.put(path, content=b"x")).status_code == 404
    assert (await door.client.get(path)).status_code == 404


async def test_writing_to_a_folder_is_refused(door: Door) -> None:
    agent = await door.new_agent()
    await door.client.put(f"/api/agents/{agent}/files/sub/a.txt", content=b"x")
    for path in ("", "sub/", "sub"):
        answer = await door.client.put(f"/api/agents/{agent}/files/{path}", content=b"x")
        assert answer.status_code in (400, 409), path


async def test_a_folder_lists_its_folders_and_files_with_or_without_a_slash(door: Door) -> None:
    agent = await door.new_agent()
    await door.client.put(f"/api/agents/{agent}/files/sub/deep/a.txt", content=b"abc")
    await door.client.put(f"/api/agents/{agent}/files/top.txt", content=b"x")
    top = (await door.client.get(f"/api/agents/{agent}/files/")).json()
    assert [folder["path"] for folder in top["folders"]] == ["/sub"]
    assert [file["name"] for file in top["files"]] == ["top.txt"]
    for path in ("sub/deep", "sub/deep/"):
        answer = await door.client.get(f"/api/agents/{agent}/files/{path}")
        assert answer.status_code == 200
        (file,) = answer.json()["files"]
        assert (file["name"], file["size"], file["mimeType"]) == ("a.txt", 3, "text/plain")
        assert file["modifiedAt"].startswith("20")
    assert (await door.client.get(f"/api/agents/{agent}/files/nothing")).status_code == 404


async def test_a_large_file_is_streamed_and_never_held_whole(door: Door) -> None:
    agent = await door.new_agent()
    await door.client.put(f"/api/agents/{agent}/files/small.txt", content=b"x")
    large = door.project / ".retinue" / "agents" / agent / "files" / "large.bin"
    size = 300_000_000
    with large.open("wb") as file:
        file.truncate(size)
    path = f"/api/agents/{agent}/files/large.bin"
    assert (await door.client.head(path)).headers["content-length"] == str(size)
    tracemalloc.start()
    try:
        taken = 0
        async with door.client.stream("GET", path) as answer:
            assert answer.headers["content-length"] == str(size)
            async for piece in answer.aiter_raw():
                taken += len(piece)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken == size
    assert peak < 50_000_000
