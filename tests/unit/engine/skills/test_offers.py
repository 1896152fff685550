"""Which skills an agent is offered, and which tools they take the place of."""

import json
from pathlib import Path
from typing import Any

import pytest
from skills_ref.validator import validate  # pyright: ignore[reportMissingTypeStubs]

from retinue.definitions.definition import Definition
from retinue.definitions.project_skills import ProjectSkills
from retinue.engine.skills.skill_catalog import SkillCatalog
from retinue.plugins.operation_function import operation
from retinue.plugins.operation_tools import tools_of
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.skill_folders import SkillFolders
from retinue.project.snapshot import ProjectSnapshot
from retinue.testing.fake_clock import FakeClock
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool
from tests.unit.definitions.project import Project


@operation(effect="pure")
def read() -> str:
    """Read it."""
    return ""


@operation(effect="keyed")
def write(text: str, flag: bool = False) -> str:
    """Write: 100 % of it.

    Args:
        text: What is to be written.
    """
    return text + str(flag)


@tool
def shell() -> None: ...


@tool
def skills_read() -> None: ...


LISTS = define_plugin(id="lists", description='Lists: "of" things.', operations=[read, write])
NOTES = define_plugin(id="notes", description="Notes.", operations=[read, write])
PLUGIN_TOOLS = {"lists_read", "lists_write", "notes_read", "notes_write"}


def helper(folder: Path, **fields: Any) -> Definition:
    """A definition with these fields."""
    project = Project(folder)
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    project.write("agents/helper.toml", "\n".join(['name = "helper"', *lines]))
    return project.definition("helper")


def tools() -> dict[str, Tool]:
    clock = FakeClock()
    made = [*tools_of(LISTS, clock), *tools_of(NOTES, clock)]
    made += [shell.as_tool(source="builtin"), skills_read.as_tool(source="skills")]
    return {one.name: one for one in made}


@pytest.fixture
def folders(tmp_path: Path) -> SkillFolders:
    made = SkillFolders(tmp_path / "data" / "skills")
    made.take({"lists": LISTS, "notes": NOTES})
    return made


@pytest.fixture
def snapshot(folders: SkillFolders, tmp_path: Path) -> ProjectSnapshot:
    for name in ("letters", "notes"):
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Mine.\n---\n")
    skills = ProjectSkills(tmp_path / "skills", tmp_path / "data").look()
    return ProjectSnapshot(skills=skills, plugin_skills=folders.skills)


@pytest.mark.parametrize(
    ("fields", "without", "skills", "hidden"),
    [
        ({}, "", ["letters"], set[str]()),
        ({"toolExposure": "tools"}, "", ["letters"], set[str]()),
        ({"toolExposure": "skills"}, "", ["lists", "notes", "letters"], PLUGIN_TOOLS),
        ({"toolExposure": "mixed"}, "", ["lists", "notes", "letters"], PLUGIN_TOOLS),
        (
            {"toolExposure": "skills", "skillAllowlist": ["notes"]},
            "",
            ["notes"],
            PLUGIN_TOOLS,
        ),
        (
            {"toolExposure": "mixed", "skillAllowlist": ["notes"]},
            "",
            ["notes"],
            {"notes_read", "notes_write"},
        ),
        (
            {"toolExposure": "mixed", "skillDenylist": ["n*", "letters"]},
            "",
            ["lists"],
            {"lists_read", "lists_write"},
        ),
        ({"toolExposure": "skills"}, "shell", ["letters"], set[str]()),
        ({"toolExposure": "skills"}, "lists_", ["notes", "letters"], PLUGIN_TOOLS),
        (
            {"toolExposure": "skills", "toolApprovals": ["*_write"]},
            "",
            ["lists", "notes", "letters"],
            {"lists_read", "notes_read"},
        ),
        ({"skillAllowlist": []}, "", [], set[str]()),
        ({}, "s", [], set[str]()),
    ],
)
def test_exposure(
    snapshot: ProjectSnapshot,
    tmp_path: Path,
    fields: dict[str, Any],
    without: str,
    skills: list[str],
    hidden: set[str],
) -> None:
    definition = helper(tmp_path, **fields)
    given = {
        name: one for name, one in tools().items() if not without or not name.startswith(without)
    }
    offer = SkillCatalog().offered(snapshot, definition, given)
    assert [entry.name for entry in offer.entries] == skills
    assert offer.replaces == frozenset(hidden & given.keys())


def test_entries_tell_the_paths_of_the_sandbox(snapshot: ProjectSnapshot, tmp_path: Path) -> None:
    offer = SkillCatalog().offered(snapshot, helper(tmp_path, toolExposure="mixed"), tools())
    lists, _, letters = offer.entries
    assert (lists.file, lists.command) == ("/skills/lists/SKILL.md", "/skills/lists/lists-cli")
    assert (letters.file, letters.command) == ("/skills/letters/SKILL.md", "")
    assert (lists.description, letters.description) == ('Lists: "of" things.', "Mine.")


def test_a_generated_folder_is_a_skill_in_the_public_format(folders: SkillFolders) -> None:
    assert folders.are_written()
    for skill in folders.skills.values():
        assert validate(skill.folder) == []
    folder = folders.skills["lists"].folder
    text = (folder / "SKILL.md").read_text()
    assert "### write\n\nWrite: 100 % of it.\n\nThe same as the tool `lists_write`." in text
    assert "- `--text TEXT`, required: What is to be written." in text
    assert (folder / "lists-cli").stat().st_mode & 0o111


def test_folders_of_plugins_that_are_gone_go_too(folders: SkillFolders) -> None:
    assert folders.are_written()
    (folders.directory / ".DS_Store").touch()
    folders.take({"notes": NOTES})
    assert folders.are_written()
    assert sorted(one.name for one in folders.directory.iterdir()) == [".client", "notes"]
    folders.take({})
    assert not folders.are_written()
    assert list(folders.directory.iterdir()) == []
