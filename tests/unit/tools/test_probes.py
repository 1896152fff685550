"""What watches see, and what they must not see."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from retinue.agents.watch import Watch
from retinue.errors import NotFoundError, RefusedError, RetinueError, UsageError
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId, new_agent_id
from retinue.settings import ToolsSettings
from retinue.stores.file_trees import LocalFileTrees
from retinue.tools.probes import WatchProbe

AGENT = new_agent_id()


async def no_grants(owner: OwnerId, agent_id: AgentId) -> Sequence[str]:
    return []


class Lists:
    """Lists of which each has one item."""

    async def due(self, owner: OwnerId, name: str) -> str:
        return f"- {name} of {owner}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".retinue").mkdir(mode=0o700)
    (tmp_path / ".retinue" / "token").write_text("secret", encoding="utf-8")
    (tmp_path / "notes.md").write_text("milk", encoding="utf-8")
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.fixture
def probe(project: Path) -> WatchProbe:
    return WatchProbe(
        project_dir=project,
        data_dir=project / ".retinue",
        trees=LocalFileTrees(project / ".retinue"),
        grants=no_grants,
        settings=ToolsSettings(),
        lists=Lists(),
    )


async def test_the_owner_watches_files_of_the_project(probe: WatchProbe) -> None:
    assert await probe.look(Watch(file="notes.md"), owner=LOCAL_OWNER, agent_id=None) == "milk"


@pytest.mark.parametrize("name", [".retinue/token", "../other", "/etc/passwd", "link"])
async def test_data_and_what_is_outside_the_project_are_not_seen(
    probe: WatchProbe, project: Path, name: str
) -> None:
    (project / "link").symlink_to(project / ".retinue" / "token")
    with pytest.raises(UsageError, match="is not a file of the project"):
        await probe.look(Watch(file=name), owner=LOCAL_OWNER, agent_id=None)


async def test_a_missing_file_is_told_by_name(probe: WatchProbe) -> None:
    with pytest.raises(NotFoundError, match=r"the project has no file 'gone\.md'"):
        await probe.look(Watch(file="gone.md"), owner=LOCAL_OWNER, agent_id=None)


async def test_an_agent_watches_its_own_files_only(probe: WatchProbe, project: Path) -> None:
    await LocalFileTrees(project / ".retinue").tree(AGENT).write("mine.md", b"own")
    assert await probe.look(Watch(file="mine.md"), owner=LOCAL_OWNER, agent_id=AGENT) == "own"
    with pytest.raises(RetinueError):
        await probe.look(Watch(file="notes.md"), owner=LOCAL_OWNER, agent_id=AGENT)


async def test_an_agent_watches_pages_with_the_grant_only(probe: WatchProbe) -> None:
    with pytest.raises(RefusedError, match="@network"):
        await probe.look(Watch(url="https://example.org"), owner=LOCAL_OWNER, agent_id=AGENT)


async def test_a_list_is_seen_as_its_owner_has_it(probe: WatchProbe) -> None:
    seen = await probe.look(Watch(list="todo"), owner=LOCAL_OWNER, agent_id=None)
    assert seen == "- todo of local"


@pytest.mark.sandbox
async def test_a_command_reads_the_project_but_not_its_data(
    probe: WatchProbe, project: Path
) -> None:
    command = Watch(command="cat /project/notes.md; ls -A /project/.retinue | wc -l")
    assert await probe.look(command, owner=LOCAL_OWNER, agent_id=None) == "milk0\n"
    writing = Watch(command="echo no > /project/notes.md")
    with pytest.raises(UsageError, match="exit code"):
        await probe.look(writing, owner=LOCAL_OWNER, agent_id=None)
    assert (project / "notes.md").read_text("utf-8") == "milk"


@pytest.mark.sandbox
async def test_a_command_that_fails_says_how(probe: WatchProbe) -> None:
    with pytest.raises(UsageError, match="exit code 3: oh"):
        await probe.look(Watch(command="echo oh; exit 3"), owner=LOCAL_OWNER, agent_id=None)
