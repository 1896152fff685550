"""`plugins/*.py`: plugins of a project, loaded again when they change."""

import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from retinue.clock import SystemClock
from retinue.ids import LOCAL_OWNER
from retinue.plugins.port import OperationContext
from retinue.plugins.project_plugins import ProjectPlugins
from retinue.tools import python_folder

PAGE = Path(__file__).parents[3] / "docs" / "plugins.md"
BLOCK = re.compile(r"^```python\n# (plugins/\S+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
GOOD = """\
from retinue import define_plugin, operation

@operation(effect="pure")
def say(text: str = "one") -> str:
    return text

plugin = define_plugin(id="echo", operations=[say])
"""


SLOW = f"import threading\nthreading.released.wait(30)\n{GOOD}"


class Folder:
    """A project's folder of plugins."""

    def __init__(self, project: Path) -> None:
        self.path = project / "plugins"
        self.path.mkdir()
        self.plugins = ProjectPlugins(self.path)
        self._written = 0

    def write(self, name: str, text: str) -> None:
        file = self.path / name
        file.write_text(text)
        self._written += 1
        os.utime(file, ns=(self._written, self._written))

    async def said(self) -> str:
        plugin = self.plugins.read()["echo"]
        context = OperationContext(owner=LOCAL_OWNER, idempotency_key="k", clock=SystemClock())
        return await plugin.operations[0].run(context, {})

    def problems(self) -> list[str]:
        return [str(problem) for problem in self.plugins.problems()]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


async def test_a_file_makes_a_plugin_and_an_edit_another(folder: Folder) -> None:
    assert folder.plugins.read() == {}
    folder.write("echo.py", GOOD)
    assert await folder.said() == "one"
    found = folder.plugins.read()
    assert (found["echo"].file, found["echo"].line) == ("plugins/echo.py", 7)
    assert folder.plugins.read() is found
    folder.write("echo.py", GOOD.replace("one", "two"))
    assert await folder.said() == "two"
    (folder.path / "echo.py").unlink()
    assert folder.plugins.read() == {}


@pytest.mark.parametrize(
    ("bad", "line", "said"),
    [
        ("import nothing_like_this\n", 1, "nothing_like_this"),
        ("\n\ndef broken(:\n", 3, "invalid syntax"),
        (GOOD.replace("text: str", "text: object()"), 3, "no JSON schema"),
        (GOOD.replace('"echo"', '"Echo!"'), 7, "invalid plugin id"),
        ("x = 1\n", None, "no plugin is defined"),
        ("from retinue import define_tool\ndefine_tool(execute=print)\n", 2, "only plugins"),
    ],
)
async def test_a_file_that_does_not_load_keeps_its_last_good_version(
    folder: Folder, bad: str, line: int | None, said: str
) -> None:
    folder.write("echo.py", GOOD)
    folder.plugins.read()
    folder.write("echo.py", bad)
    assert await folder.said() == "one"
    [problem] = folder.plugins.problems()
    assert (problem.file, problem.line) == ("plugins/echo.py", line)
    assert said in problem.message
    assert problem.using_last_good
    folder.write("echo.py", GOOD)
    folder.plugins.read()
    assert folder.problems() == []


@pytest.mark.parametrize("bad", ["raise SystemExit(3)", "raise KeyboardInterrupt"])
async def test_a_file_cannot_end_the_process(folder: Folder, bad: str) -> None:
    folder.write("echo.py", GOOD)
    folder.write("bad.py", f"{bad}\n")
    assert await folder.said() == "one"
    [problem] = folder.plugins.problems()
    assert (problem.file, problem.line) == ("plugins/bad.py", 1)


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """What a file of `SLOW` waits for while it loads."""
    event = threading.Event()
    monkeypatch.setattr(threading, "released", event, raising=False)
    yield event
    event.set()


async def test_a_file_that_never_ends_is_told(
    folder: Folder, release: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("echo.py", GOOD)
    folder.plugins.read()
    monkeypatch.setattr(python_folder, "LOAD_SECONDS", 0.2)
    folder.write("echo.py", SLOW)
    assert await folder.said() == "one"
    [problem] = folder.plugins.problems()
    assert problem.using_last_good
    assert "it did not load within 0.2 seconds" in problem.message
    monkeypatch.setattr(python_folder, "LOAD_SECONDS", 30)
    folder.write("echo.py", GOOD.replace("one", "two"))
    assert await folder.said() == "two"
    assert not release.is_set()
    assert folder.problems() == []


async def test_a_link_that_leads_in_circles_hides_no_other_file(folder: Folder) -> None:
    (folder.path / "circle.py").symlink_to("circle.py")
    folder.write("echo.py", GOOD)
    assert await folder.said() == "one"


async def test_of_two_plugins_with_one_id_the_second_is_told(folder: Folder) -> None:
    folder.write("a.py", GOOD)
    folder.write("b.py", GOOD.replace("one", "two"))
    assert await folder.said() == "one"
    [problem] = folder.problems()
    assert problem.startswith(
        "plugins/b.py:7: the plugin 'echo' is already defined in plugins/a.py"
    )


async def test_the_plugin_of_the_documentation_works(folder: Folder) -> None:
    [(name, text)] = BLOCK.findall(PAGE.read_text("utf-8"))
    folder.write(Path(name).name, text)
    dice = folder.plugins.read()["dice"]
    context = OperationContext(owner=LOCAL_OWNER, idempotency_key="k", clock=SystemClock())
    result = await dice.operations[0].run(context, {"sides": 2, "times": 3})
    assert len(result["rolled"]) == 3
