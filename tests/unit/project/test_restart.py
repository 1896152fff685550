"""The last good version of each file outlives the process; a deleted file does not."""

from pathlib import Path

import pytest

from retinue.models.scripted import Call, Reply
from tests.unit.project.house import HELPER, TOOL, House
from tests.waiting import eventually

PYTHON = (
    "from retinue import define_agent\ndefine_agent(name='helper', systemPrompt='Version {}.')\n"
)
HELPED = """\
from retinue import tool
from ._words import said

@tool
def version() -> str:
    return said
"""
PLUGIN = """\
from retinue import define_plugin, operation

@operation(effect="pure")
def version() -> str:
    return "code 1"

plugin = define_plugin(id="shop", operations=[version])
"""
CALLS = Reply(calls=[Call(name="version")])


async def kept(house: House, *files: str) -> None:
    """Run a process until it has kept these files, and end it."""
    await house.open([])
    copies = [house.folder / ".retinue" / "last-good" / file for file in files]
    await eventually(lambda: all(copy.exists() for copy in copies))
    await house.close()


async def test_agents_are_served_after_a_restart_with_a_broken_definition(house: House) -> None:
    house.write("agents/helper.toml", HELPER.format(1, ""))
    house.write("agents/other.toml", "")
    await kept(house, "agents/helper.toml")
    house.write("agents/helper.toml", 'description = "Helps."\n= broken\n')
    await house.open(["one"])
    assert (await house.say(await house.agent()))["fate"] == "answered"
    assert "Version 1." in house.model.requests[-1].system
    (problem,) = (await house.look())["problems"]
    assert (problem["file"], problem["line"]) == ("agents/helper.toml", 2)
    assert problem["usingLastGood"]
    house.write("agents/helper.toml", HELPER.format(2, ""))
    assert (await house.look())["problems"] == []


async def test_a_broken_prompt_file_and_a_broken_python_file_are_served_too(house: House) -> None:
    house.write("prompts/base.md", "The base.")
    house.write("agents/uses.toml", 'systemPrompt = "{{include base}}"')
    house.write("agents/helper.py", PYTHON.format(1))
    await kept(house, "prompts/base.md", "agents/helper.py")
    house.write("prompts/base.md", "---\nmodel: [\n---\nNew.")
    house.write("agents/helper.py", "def broken(:\n")
    await house.open(["one", "two"])
    await house.say(await house.agent("uses"))
    assert "The base." in house.model.requests[-1].system
    await house.say(await house.agent("helper"))
    assert "Version 1." in house.model.requests[-1].system
    told = {one["file"]: one["usingLastGood"] for one in (await house.look())["problems"]}
    assert told == {"prompts/base.md": True, "agents/helper.py": True}


@pytest.mark.parametrize(
    ("files", "broken"),
    [
        ({"tools/version.py": TOOL.format(1)}, "tools/version.py"),
        ({"tools/version.py": HELPED, "tools/_words.py": "said = 'code 1'\n"}, "tools/version.py"),
        ({"tools/version.py": HELPED, "tools/_words.py": "said = 'code 1'\n"}, "tools/_words.py"),
    ],
)
async def test_tools_of_a_broken_file_run_from_its_copy(
    house: House, files: dict[str, str], broken: str
) -> None:
    house.write("agents/helper.toml", "")
    for name, text in files.items():
        house.write(name, text)
    await kept(house, *files)
    house.write(broken, "\ndef broken(:\n")
    await house.open([CALLS, "done"])
    await house.say(await house.agent())
    assert house.results() == ["code 1"]
    (problem,) = (await house.look())["problems"]
    assert (problem["file"], problem["line"], problem["usingLastGood"]) == (broken, 2, True)


async def test_plugins_skills_packages_and_heartbeat_tasks_are_kept(house: House) -> None:
    files = {
        "plugins/shop.py": PLUGIN,
        "skills/letters/SKILL.md": "---\nname: letters\ndescription: Letters.\n---\nWrite.",
        "packages/studio/retinue-package.toml": (
            'name = "studio"\nversion = "1"\nentryAgents = ["maker"]\n'
        ),
        "packages/studio/agents/maker.toml": HELPER.format(1, ""),
        "heartbeat/mail.md": "Look at the mail.",
    }
    for name, text in files.items():
        house.write(name, text)
    await kept(house, *files)
    for name in files:
        house.write(name, "---\n: [\n= broken (\n")
    await house.open(["one"])
    current = house.app.engine.project.current
    assert "shop" in current.plugins
    assert current.skills["letters"].description == "Letters."
    assert [task.id for task in current.heartbeat.tasks] == ["mail"]
    await house.say(await house.agent("maker"))
    assert "Version 1." in house.model.requests[-1].system
    served = {one.file for one in current.problems if one.using_last_good}
    assert served == files.keys() - {"heartbeat/mail.md"}
    assert current.heartbeat.problems[0].is_using_last_good


async def test_a_file_that_was_deleted_is_gone(house: House) -> None:
    house.write("agents/helper.toml", HELPER.format(1, ""))
    house.write("agents/other.toml", "")
    house.write("tools/version.py", TOOL.format(1))
    await kept(house, "agents/helper.toml", "tools/version.py")
    house.delete("agents/helper.toml")
    house.delete("tools/version.py")
    await house.open([])
    assert [one["name"] for one in (await house.look())["definitions"]] == ["other"]
    assert "version" not in house.app.engine.project.current.tools
    copies = house.folder / ".retinue" / "last-good"
    await eventually(lambda: not (copies / "agents" / "helper.toml").exists())


async def test_a_file_that_never_loaded_has_no_last_good_version(house: House) -> None:
    house.write("agents/other.toml", "")
    house.write("agents/helper.toml", "= broken")
    await kept(house, "agents/other.toml")
    await house.open([])
    (problem,) = (await house.look())["problems"]
    assert not problem["usingLastGood"]
    assert not (house.folder / ".retinue" / "last-good" / "agents" / "helper.toml").exists()


async def test_copies_are_private(house: House) -> None:
    house.write("agents/helper.toml", HELPER.format(1, ""))
    await kept(house, "agents/helper.toml")
    copies = house.folder / ".retinue" / "last-good"
    assert _mode(copies) == 0o700
    assert _mode(copies / "agents" / "helper.toml") == 0o600


def _mode(path: Path) -> int:
    return path.stat().st_mode & 0o777
