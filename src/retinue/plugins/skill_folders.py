"""Skill folders of plugins: SKILL.md and a command that calls the plugin's operations."""

import json
import logging
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from retinue.definitions.skill_file import LONGEST_DESCRIPTION
from retinue.plugins.command_line import options_of
from retinue.plugins.port import Operation, Plugin

logger = logging.getLogger(__name__)

PLACE = "/skills"
"""The path of the folders in sandboxes."""

CLIENT = ".client"
_MODULES = ("command_line.py", "skill_client.py")
_RUN = """\
import sys
from pathlib import Path

here = Path(__file__).parent
sys.path.insert(0, str(here))

from retinue.plugins.skill_client import main  # noqa: E402

sys.exit(main(here.parent / sys.argv[1] / "operations.json", sys.argv[2:]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginSkill:
    """The skill of one plugin."""

    id: str
    description: str
    folder: Path

    @property
    def document(self) -> str:
        """The path of SKILL.md in a sandbox."""
        return f"{PLACE}/{self.id}/SKILL.md"

    @property
    def command(self) -> str:
        """The path of the command in a sandbox."""
        return f"{PLACE}/{self.id}/{self.id}-cli"


class SkillFolders:
    """Writes the folders of plugins to a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.skills: Mapping[str, PluginSkill] = {}
        self._unwritten: Mapping[str, Plugin] | None = None

    def take(self, plugins: Mapping[str, Plugin]) -> None:
        """Replace the skills with those of `plugins`; the folders are written on first use."""
        self.skills = {plugin.id: self._skill(plugin) for plugin in plugins.values()}
        self._unwritten = plugins

    def are_written(self) -> bool:
        """Write the folders if needed; if that fails, there are no skills."""
        if self._unwritten is not None:
            plugins, self._unwritten = self._unwritten, None
            try:
                self._write(plugins)
            except OSError as error:
                self.skills = {}  # agents use the tools instead
                logger.warning("could not write skill folders", extra={"error": str(error)})
        return bool(self.skills)

    def _write(self, plugins: Mapping[str, Plugin]) -> None:
        kept = {CLIENT, *plugins} if plugins else set[str]()
        if self.directory.is_dir():
            for old in self.directory.iterdir():
                if old.name not in kept:
                    _remove(old)
        if plugins:
            self._write_client()
        for plugin in plugins.values():
            folder = self.directory / plugin.id
            _replace(folder / "operations.json", json.dumps(described(plugin), ensure_ascii=False))
            _replace(folder / "SKILL.md", document_of(plugin))
            _replace(folder / f"{plugin.id}-cli", _script(plugin.id), mode=0o755)

    def _write_client(self) -> None:
        place = self.directory / CLIENT
        _replace(place / "run.py", _RUN)
        for name in _MODULES:
            source = files("retinue.plugins").joinpath(name).read_text("utf-8")
            _replace(place / "retinue" / "plugins" / name, source)

    def _skill(self, plugin: Plugin) -> PluginSkill:
        description = " ".join(plugin.description.split())[:LONGEST_DESCRIPTION]
        folder = self.directory / plugin.id
        return PluginSkill(id=plugin.id, description=description, folder=folder)


def described(plugin: Plugin) -> Mapping[str, Any]:
    """Return the description of a plugin for its command."""
    return {
        "id": plugin.id,
        "description": plugin.description,
        "operations": [_operation(one) for one in plugin.operations],
    }


def document_of(plugin: Plugin) -> str:
    """Return the text of SKILL.md, which documents each command."""
    description = " ".join(plugin.description.split())[:LONGEST_DESCRIPTION]
    command = f"{PLACE}/{plugin.id}/{plugin.id}-cli"
    lines = [
        "---",
        f"name: {plugin.id}",
        f"description: {json.dumps(description, ensure_ascii=False)}",
        "---",
        "",
        f"# {plugin.title}",
        "",
        "Run it in the shell:",
        "",
        f"    {command} COMMAND [OPTIONS]",
        "",
        "It prints the result: text unchanged, everything else as JSON; with `--json` always JSON."
        " `COMMAND --help` lists the options. Exit codes: 0 for success, 2 for an invalid command"
        " line, 4 if the operation failed or is not allowed. Errors are printed with the reason.",
        "",
        "## Commands",
    ]
    for operation in plugin.operations:
        lines += _section(plugin, operation)
    return "\n".join(lines) + "\n"


def python_binds() -> Sequence[Path]:
    """Return the paths of Python to mount in a sandbox; none if it is the system's Python."""
    program, prefix = Path(_python()), Path(sys.base_prefix)
    if program.is_relative_to("/usr"):
        return ()
    return (program, prefix / "lib")


def _section(plugin: Plugin, operation: Operation) -> Sequence[str]:
    lines = ["", f"### {operation.id}", "", operation.description, ""]
    lines.append(f"The same as the tool `{plugin.tool_name(operation)}`.")
    options = options_of(_operation(operation))
    if options:
        lines.append("")
    for option in options:
        needed = ", required" if option.is_required else ""
        repeated = ", repeatable" if option.is_repeated else ""
        about = f": {option.text}" if option.text else ""
        lines.append(f"- {option.usage}{needed}{repeated}{about}")
    return lines


def _operation(operation: Operation) -> Mapping[str, Any]:
    return {
        "id": operation.id,
        "summary": operation.summary,
        "description": operation.description,
        "parameters": dict(operation.parameters),
    }


def _script(plugin_id: str) -> str:
    return f"#!/bin/sh\nexec '{_python()}' -I -S -B {PLACE}/{CLIENT}/run.py {plugin_id} \"$@\"\n"


def _python() -> str:
    """Return the path of the interpreter, not the link in a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", sys.executable))


def _remove(path: Path) -> None:
    """Remove a folder or a file."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _replace(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Write a file atomically, unless it is up to date."""
    data = text.encode()
    if path.is_file() and path.read_bytes() == data and path.stat().st_mode & 0o777 == mode:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o755)  # regardless of the umask: sandboxes may run as another user
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(data)
    draft.chmod(mode)
    draft.replace(path)
