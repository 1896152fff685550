"""Files that go along: always as copies, under names of the tree that they come to."""

import asyncio
import re
from pathlib import Path

import pytest

from retinue.errors import FencedError, NotFoundError
from retinue.ids import AgentId
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer
from retinue.stores.file_trees import FileTree, LocalFileTrees
from retinue.stores.port import Commit, Committed
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import quiet
from tests.unit.engine.subagents.support import (
    TASK_SCHEMA,
    Play,
    begin,
    call,
    children,
    notices,
    on_go,
    only_child,
    tool_result,
)
from tests.unit.engine.support import said

LOCAL_NAME = re.compile(r"/attachments/picture-[0-9a-f]{8}\.png")


def draws(request: ModelRequest) -> Answer:
    if isinstance(request.messages[-1], ToolMessage):
        return "here it is"
    return call("draw", name="picture.png")


def hands_back(_: ModelRequest) -> Answer:
    return call("approve", summary="done", files=["/attachments/picture.png"])


@pytest.mark.parametrize("entry", ["pair", "{name: pair, blocking: false}"])
async def test_what_the_child_returns_is_copied_to_the_parent_under_a_new_name(
    start: Start, tmp_path: Path, entry: str
) -> None:
    trees = LocalFileTrees(tmp_path / ".retinue")
    play = Play(on_go(call("pair", message="draw")), worker=draws, reviewer=hands_back)
    kit = await begin(start, play, entry, trees=trees)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    files = [f for n in await notices(kit, boss) for f in n.files]
    files += (await tool_result(kit, boss)).files
    (file,) = files
    assert LOCAL_NAME.fullmatch(file.path)
    assert await trees.tree(boss.id).read(file.path) == b"picture.png"
    assert any(file.path in text for text in said(play.last("boss")))
    child = await only_child(kit, boss)
    assert await trees.tree(child.id).read("/attachments/picture.png") == b"picture.png"


async def test_what_the_parent_attaches_is_copied_to_the_child_under_a_new_name(
    start: Start, tmp_path: Path
) -> None:
    trees = LocalFileTrees(tmp_path / ".retinue")
    go = call("pair", task="look", pictures=["/attachments/picture.png"])
    entry = "{name: pair, initUserMessageProperty: task, initAttachmentsProperty: pictures}"
    play = Play(on_go(go))
    kit = await begin(start, play, entry, schema=TASK_SCHEMA, trees=trees)
    boss = await kit.agent("boss")
    await trees.tree(boss.id).write("/attachments/picture.png", b"data")
    await kit.ask(boss, "go")
    child = await only_child(kit, boss)
    listed = await trees.tree(child.id).list("/", recursive=True)
    (file,) = listed
    assert LOCAL_NAME.fullmatch(file.path)
    assert await trees.tree(child.id).read(file.path) == b"data"
    assert any(file.path in text for text in said(play.last("worker")))


@pytest.mark.parametrize(
    "path", ["/attachments/missing.png", "/../../secret", "/attachments/link.png", "/attachments"]
)
async def test_a_path_that_cannot_be_copied_is_told_and_nobody_is_started(
    start: Start, tmp_path: Path, path: str
) -> None:
    trees = LocalFileTrees(tmp_path / ".retinue")
    go = call("subagent_create", agent="pair", name="x", message="look", attachments=["/ok", path])
    kit = await begin(start, Play(on_go(go)), "{name: pair, resumable: true}", trees=trees)
    boss = await kit.agent("boss")
    tree = trees.tree(boss.id)
    await tree.write("/ok", b"fine")
    await tree.write("/attachments/real.png", b"secret")
    real = Path(tree.real_path("/attachments/real.png"))
    (real.parent / "link.png").symlink_to("/etc/hostname")
    await kit.ask(boss, "go")
    result = await tool_result(kit, boss)
    assert result.status == "error"
    assert "attachments:" in result.text
    assert "Nothing was sent" in result.text
    assert await children(kit, boss) == []
    assert [p.name for p in (tmp_path / ".retinue" / "agents").iterdir()] == [boss.id]


async def test_a_missing_path_keeps_the_child_from_ending(start: Start) -> None:
    def reviewer(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            assert "missing.png" in last.text
            return call("approve", summary="without it")
        return call("approve", summary="done", files=["/attachments/missing.png"])

    kit = await begin(start, Play(on_go(call("pair", message="draw")), reviewer=reviewer))
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert (await tool_result(kit, boss)).text == "without it"


async def test_a_file_that_vanishes_before_it_is_handed_over_is_told(
    start: Start, tmp_path: Path
) -> None:
    trees = Vanishing(tmp_path / ".retinue")
    play = Play(on_go(call("pair", message="draw")), worker=draws, reviewer=hands_back)
    kit = await begin(start, play, trees=trees)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    result = await tool_result(kit, boss)
    assert "done\nAn attachment could not be handed over" in result.text
    assert result.files == []


class Unreadable(FileTree):
    """Its files can be seen and not read."""

    async def read(self, path: str) -> bytes:
        raise NotFoundError(f"no file {path}")


class Vanishing(LocalFileTrees):
    """Trees of such files."""

    def __init__(self, data_dir: Path) -> None:
        super().__init__(data_dir)
        self._data_dir = data_dir

    def tree(self, agent_id: AgentId) -> FileTree:
        return Unreadable(self._data_dir / "agents" / agent_id / "files")


async def test_after_a_crash_the_copies_have_the_same_names_and_nothing_is_left_over(
    start: Start, tmp_path: Path
) -> None:
    trees = LocalFileTrees(tmp_path / ".retinue")
    died = asyncio.Event()
    go = call("subagent_create", agent="pair", name="x", message="look", attachments=["/a.txt"])
    kit = await begin(start, Play(on_go(go)), "{name: pair, resumable: true}", trees=trees)
    boss = await kit.agent("boss")
    await trees.tree(boss.id).write("/a.txt", b"data")
    write = kit.store.commit

    async def dying(commit: Commit) -> Committed:
        if commit.effects.posts:
            died.set()
            raise FencedError("the process died before this commit")
        return await write(commit)

    kit.store.commit = dying
    receipt = await kit.post(boss, "go")
    await died.wait()
    await kit.crash()
    await kit.outcome(receipt)
    child = await only_child(kit, boss)
    folders = {p.name for p in (tmp_path / ".retinue" / "agents").iterdir()}
    assert folders == {boss.id, child.id}
    assert len(await trees.tree(child.id).list("/", recursive=True)) == 1
