"""No file of the project is looked at because of a message."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from retinue.models.scripted import Call, Reply
from retinue.project.watcher import THREAD
from tests.unit.project.house import HELPER, TOOL, House

CALLS = Reply(calls=[Call(name="version")])
EVENTS = frozenset({"open", "os.listdir", "os.scandir"})


class Looks:
    """Looks at a folder, except for those of the watcher and those at its data directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.seen: list[str] = []
        self.is_counting = False
        sys.addaudithook(self._audit)  # it cannot be taken away again

    def note(self, event: str, path: object) -> None:
        if not self.is_counting or threading.current_thread().name == THREAD:
            return
        if isinstance(path, str | Path):
            file = Path(path)
            is_private = file.is_relative_to(self._folder / ".retinue")
            if file.is_relative_to(self._folder) and not is_private:
                self.seen.append(f"{event} {file}")

    def _audit(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in EVENTS and arguments:
            self.note(event, arguments[0])


@pytest.fixture
def looks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looks:
    made = Looks(tmp_path)

    def counted(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *given: Any, **named: Any) -> Any:
            made.note(name, path)
            return original(path, *given, **named)

        return call

    for name in ("stat", "lstat"):  # these have no audit events
        monkeypatch.setattr(os, name, counted(name, getattr(os, name)))
    return made


async def test_a_message_with_a_tool_call_looks_at_no_file(house: House, looks: Looks) -> None:
    house.write("agents/helper.toml", HELPER.format(1, 'toolExposure = "mixed"'))
    house.write("tools/version.py", TOOL.format(1))
    house.write("prompts/base.md", "The base.")
    house.write("skills/letters/SKILL.md", "---\nname: letters\ndescription: d\n---\n")
    await house.open(
        [Reply(calls=[Call(name="version")]), "one", Reply(calls=[Call(name="version")]), "two"]
    )
    agent = await house.agent()
    looks.is_counting = True
    await house.say(agent)
    await house.say(agent)
    assert looks.seen == []
    await house.look()
    looks.is_counting = False
    assert house.results() == ["code 1", "code 1"]


async def test_the_count_sees_what_it_is_for(house: House, looks: Looks) -> None:
    house.write("agents/helper.toml", "")
    looks.is_counting = True
    (house.folder / "agents" / "helper.toml").stat()
    list((house.folder / "agents").iterdir())
    (house.folder / "agents" / "helper.toml").read_text()
    assert [one.partition(" ")[0] for one in looks.seen] == ["stat", "os.listdir", "open"]
