"""The tool with which agents read skills."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from retinue.definitions.project_skills import LARGEST_BYTES
from retinue.definitions.skill_file import skill_name
from retinue.engine.collaboration.services import call_of
from retinue.engine.skills.skill_catalog import (
    READING_TOOL,
    skill_commands,
    skill_instructions,
)
from retinue.errors import NotFoundError, RefusedError, UsageError
from retinue.plugins.skill_folders import PLACE
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool, ToolContext
from retinue.tools.threads import in_thread


def reading_tool() -> Mapping[str, Tool]:
    """The tool, by its name."""

    @tool(name=READING_TOOL, effect="pure", capabilities=["skills.read"])
    async def skills_read(ctx: ToolContext, path: str) -> str:
        """Read a file of a skill: first its SKILL.md, then the files it refers to.

        Args:
            path: As listed, such as /skills/letters/SKILL.md; a folder's path lists its files.
        """
        call = call_of(ctx)
        steps = PurePosixPath(path).parts
        if steps[:2] != ("/", PLACE.strip("/")) or len(steps) < 3:
            raise UsageError(f"path: it must begin with {PLACE}/ and the name of a skill")
        definition, tools = call.config.definition, call.config.scoped
        snapshot = call.config.snapshot
        found = skill_instructions(snapshot, definition, tools)
        folders = {one.name: one.folder for one in found}
        folders |= {one.id: one.folder for one in skill_commands(snapshot, definition, tools)}
        folder = folders.get(skill_name(steps[2]))
        if folder is None:
            raise RefusedError(f"there is no skill {steps[2]!r} that you can use")
        inside = PurePosixPath(*steps[3:])
        return await in_thread(lambda: _read(folder, inside, path), name="read skill")

    return {READING_TOOL: skills_read.as_tool(source="skills")}


def _read(folder: Path, inside: PurePosixPath, shown: str) -> str:
    """Read a file in the folder; paths that leave it, by dots or links, do not exist."""
    root = folder.resolve()
    file = (root / inside).resolve()
    if not file.is_relative_to(root) or not file.exists():
        raise NotFoundError(f"there is no {shown}")
    if file.is_dir():
        names = sorted(one.name + ("/" if one.is_dir() else "") for one in file.iterdir())
        return "\n".join(names)
    if not file.is_file():
        raise UsageError(f"{shown} is not a text file")  # reading a pipe could block forever
    if file.stat().st_size > LARGEST_BYTES:
        raise UsageError(f"{shown} is too large to read: more than {LARGEST_BYTES} bytes")
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{shown} is not a text file") from None
