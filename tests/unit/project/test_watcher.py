"""The watcher: one look at a time, off the loop, shared by those who ask."""

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest

from retinue.clock import SystemClock
from retinue.problems import LoadProblem
from retinue.project import watcher as watcher_module
from retinue.project.reader import ProjectFiles, ProjectOptions, ProjectReader
from retinue.project.snapshot import ProjectSnapshot
from retinue.project.watcher import ProjectWatcher
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool
from tests.waiting import eventually


class CountingReader(ProjectReader):
    """Counts its reads, and can be held up in one."""

    def __init__(self, options: ProjectOptions) -> None:
        super().__init__(options)
        self.reads: list[str] = []
        self.release = threading.Event()
        self.release.set()

    def read(self, served: Sequence[Mapping[str, Tool]] = ()) -> ProjectFiles:
        self.reads.append(threading.current_thread().name)
        assert self.release.wait(30)
        return super().read(served)


class Server:
    """A source of tools whose listing changes, or fails."""

    def __init__(self) -> None:
        self.listing: dict[str, Tool] | None = {}

    async def tools(self) -> Mapping[str, Tool]:
        if self.listing is None:
            raise ConnectionError("no line")
        return self.listing

    def problems(self) -> Sequence[LoadProblem]:
        return ()


def write(folder: Path, name: str, text: str) -> None:
    (folder / "agents").mkdir(exist_ok=True)
    (folder / "agents" / name).write_text(text)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def reader(tmp_path: Path) -> CountingReader:
    clock = SystemClock()
    options = ProjectOptions(project_dir=tmp_path, data_dir=tmp_path / ".retinue", clock=clock)
    return CountingReader(options)


@pytest.fixture
async def watcher(reader: CountingReader, server: Server) -> AsyncIterator[ProjectWatcher]:
    made = ProjectWatcher(reader, clock=SystemClock(), live=[server])
    yield made
    reader.release.set()
    await made.stop()


async def test_those_who_ask_at_the_same_time_share_a_look(
    watcher: ProjectWatcher, reader: CountingReader, tmp_path: Path
) -> None:
    await watcher.look()
    write(tmp_path, "a.toml", "")
    found = await asyncio.gather(*(watcher.look() for _ in range(20)))
    assert {snapshot.revision for snapshot in found} == {2}
    assert reader.reads == [watcher_module.THREAD] * 2


async def test_a_file_saved_during_a_look_is_seen_by_the_next_one(
    watcher: ProjectWatcher, reader: CountingReader, tmp_path: Path
) -> None:
    await watcher.look()
    reader.release.clear()
    write(tmp_path, "a.toml", "")
    first = asyncio.create_task(watcher.look())
    await eventually(lambda: len(reader.reads) == 2)
    write(tmp_path, "b.toml", "")
    second = asyncio.create_task(watcher.look())
    reader.release.set()
    await first
    names = {one.name for one in (await second).catalog.definitions()}
    assert names == {"a", "b"}


async def test_a_look_without_a_change_publishes_nothing(
    watcher: ProjectWatcher, reader: CountingReader
) -> None:
    published: list[ProjectSnapshot] = []
    watcher.listen(published.append)
    first = await watcher.look()
    assert await watcher.look() is first
    assert published == [first]
    assert len(reader.reads) == 1


async def test_a_door_waits_only_so_long_for_a_file_that_takes_long(
    watcher: ProjectWatcher,
    reader: CountingReader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = await watcher.look()
    monkeypatch.setattr(watcher_module, "PATIENCE_SECONDS", 0.01)
    reader.release.clear()
    write(tmp_path, "a.toml", "")
    assert await watcher.look() is first
    reader.release.set()
    await eventually(lambda: watcher.current is not first)


async def test_tools_of_servers_come_and_go_without_a_file(
    watcher: ProjectWatcher, server: Server
) -> None:
    @tool
    def far() -> None: ...

    await watcher.look()
    server.listing = {"far": far.as_tool(source="mcp:s")}
    watcher.look_soon()
    await eventually(lambda: "far" in watcher.current.tools)
    server.listing = None
    snapshot = await watcher.look()
    (problem,) = snapshot.problems
    assert str(problem) == "Server: cannot list tools: ConnectionError: no line"
