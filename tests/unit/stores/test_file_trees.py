"""An agent's files: nothing gets out of the tree, and nothing half-written stays."""

import os
from pathlib import Path

import pytest

from retinue.errors import NotFoundError, RetinueError, UsageError
from retinue.ids import AgentId, new_agent_id
from retinue.stores.file_trees import FileTree, LocalFileTrees
from retinue.stores.folders.removal import remove_folder


@pytest.fixture
def tree(tmp_path: Path) -> FileTree:
    return LocalFileTrees(tmp_path, largest_file=1000).tree(new_agent_id())


async def test_what_is_written_is_read_and_listed(tree: FileTree) -> None:
    written = await tree.write("/notes/a.txt", b"one")
    await tree.append("notes/a.txt", b" two")
    await tree.write("b.png", b"x")
    assert await tree.read("notes/a.txt") == b"one two"
    assert (written.path, written.mime_type, written.size) == ("/notes/a.txt", "text/plain", 3)
    assert [file.path for file in await tree.list()] == ["/b.png"]
    everything = await tree.list(recursive=True)
    assert [file.path for file in everything] == ["/b.png", "/notes/a.txt"]
    assert (await tree.stat("/notes/a.txt")).size == 7
    await tree.delete("/b.png")
    with pytest.raises(NotFoundError):
        await tree.read("/b.png")


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "/a/../../x",
        "a\\b",
        "a\x00b",
        "a\nb",
        "x" * 1025,
        f"/{'x' * 256}",
        "/",
        "",
        ".",
        "a\ud800b",
        "a\udc80b",
    ],
)
async def test_a_path_that_could_leave_or_hide_is_refused(tree: FileTree, path: str) -> None:
    with pytest.raises(UsageError):
        await tree.write(path, b"x")
    with pytest.raises(RetinueError):
        await tree.read(path)


async def test_links_are_never_followed(tree: FileTree, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "file").write_bytes(b"secret")
    await tree.write("a.txt", b"x")
    root = Path(tree.real_path("/"))
    (root / "folder").symlink_to(secret)
    (root / "file").symlink_to(secret / "file")
    for path in ("folder/file", "file"):
        with pytest.raises(UsageError):
            await tree.read(path)
        with pytest.raises(UsageError):
            await tree.write(path, b"overwritten")
        with pytest.raises(UsageError):
            tree.real_path(path)
    assert [file.path for file in await tree.list(recursive=True)] == ["/a.txt"]
    assert (secret / "file").read_bytes() == b"secret"


async def test_a_name_that_is_not_text_does_not_spoil_a_listing(tree: FileTree) -> None:
    await tree.write("a.txt", b"x")
    (Path(tree.real_path("/")) / os.fsdecode(b"\xff\xfe")).write_bytes(b"x")
    assert [file.name for file in await tree.list()] == ["a.txt"]


async def test_a_file_that_is_too_large_is_refused(tree: FileTree) -> None:
    await tree.write("a", b"x" * 1000)
    for refused in (tree.write("b", b"x" * 1001), tree.append("a", b"x")):
        with pytest.raises(UsageError, match="1001"):
            await refused
    assert [file.name for file in await tree.list()] == ["a"]


async def test_folders_and_pipes_are_not_files(tree: FileTree) -> None:
    await tree.write("folder/a", b"x")
    os.mkfifo(Path(tree.real_path("/")) / "pipe")
    for path in ("folder", "pipe"):
        with pytest.raises(RetinueError):
            await tree.read(path)
    with pytest.raises(UsageError):
        await tree.write("folder", b"x")
    with pytest.raises(UsageError):
        await tree.write("folder/a/b", b"x")


def test_only_an_agent_has_a_tree(tmp_path: Path) -> None:
    with pytest.raises(RetinueError):
        LocalFileTrees(tmp_path).tree(AgentId("../../etc"))


async def test_a_folder_of_any_depth_is_listed_as_far_as_paths_reach(tree: FileTree) -> None:
    await tree.write("/d/near.txt", b"x")
    root = Path(tree.real_path("/"))
    descriptor = os.open(root / "d", os.O_RDONLY)
    for _ in range(1_500):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)
    assert [file.path for file in await tree.list(recursive=True)] == ["/d/near.txt"]
    remove_folder(root)


async def test_a_file_that_is_too_large_to_hold_is_refused_and_can_be_taken_in_pieces(
    tmp_path: Path,
) -> None:
    agent, data = new_agent_id(), b"0123456789" * 100_000
    await LocalFileTrees(tmp_path).tree(agent).write("/large.bin", data)
    tree = LocalFileTrees(tmp_path, largest_file=1000).tree(agent)
    with pytest.raises(
        UsageError, match="has 1000000 bytes; whole files are read up to 1000 bytes"
    ):
        await tree.read("/large.bin")
    stream = await tree.stream("/large.bin")
    pieces = [piece async for piece in stream.pieces]
    assert stream.size == 1_000_000
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) < 500_000


async def test_folders_are_listed_with_files(tree: FileTree) -> None:
    await tree.write("/notes/deep/a.txt", b"one")
    await tree.write("/b.txt", b"x")
    here = await tree.entries("/")
    assert [(entry.path, entry.file is None) for entry in here] == [
        ("/b.txt", False),
        ("/notes", True),
    ]
    everything = await tree.entries("/", recursive=True)
    assert [entry.path for entry in everything] == [
        "/b.txt",
        "/notes",
        "/notes/deep",
        "/notes/deep/a.txt",
    ]


async def test_what_a_dead_process_left_half_written_is_no_file_and_goes_in_time(
    tree: FileTree,
) -> None:
    await tree.write("/a.txt", b"whole")
    folder = Path(tree.real_path("/a.txt")).parent
    fresh, old = (folder / f".draft{digit * 32}" for digit in "ab")
    for draft in (fresh, old):
        draft.write_bytes(b"hal")
    os.utime(old, (0, 0))
    assert [entry.path for entry in await tree.entries()] == ["/a.txt"]
    assert (fresh.exists(), old.exists()) == (True, False)
