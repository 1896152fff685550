"""The tools of a project: `tools/*.py`, loaded again when they change."""

import asyncio
import hashlib
import logging
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import FileFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

from retinue.errors import DefinitionError
from retinue.tools.execution import describe
from retinue.tools.function import FunctionTool, name_problem
from retinue.tools.port import Tool
from retinue.tools.threads import in_thread

logger = logging.getLogger(__name__)

_Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _File:
    """One file: what it last gave, and why its present text gives nothing."""

    stamp: _Stamp
    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    problem: str | None = None
    was_good: bool = False


class _FreshLoader(SourceFileLoader):
    """Compiles each time: cached bytecode is told apart by whole seconds, and edits are faster."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class ProjectToolbox:
    """Implements `Toolbox` over a folder of Python files.

    A file that does not load keeps the tools of its last good version. Files whose name starts with
    an underscore give no tools; the others import from them relatively (`from ._shop import ...`).
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory.absolute()
        self._project = self._directory.parent
        digest = hashlib.sha256(str(self._directory).encode()).hexdigest()[:12]
        self._package = f"retinue_project_tools_{digest}"
        self._finder = FileFinder(str(self._directory), (_FreshLoader, [".py"]))
        self._stamps: Mapping[str, _Stamp] = {}
        self._files: dict[str, _File] = {}
        self._tools: Mapping[str, Tool] = {}
        self._problems: Sequence[str] = ()
        self._lock = asyncio.Lock()

    async def tools(self) -> Mapping[str, Tool]:
        if self._scan() != self._stamps:
            async with self._lock:
                stamps = self._scan()
                if stamps != self._stamps:
                    # Importing runs code of unknown length; the loop goes on meanwhile.
                    await in_thread(lambda: self._refresh(stamps), name="load tools")
        return self._tools

    def problems(self) -> Sequence[str]:
        return self._problems

    def _scan(self) -> Mapping[str, _Stamp]:
        try:
            with os.scandir(self._directory) as entries:
                return dict(
                    sorted(
                        (entry.name, _stamp(entry.stat()))
                        for entry in entries
                        if entry.name.endswith(".py") and entry.is_file()
                    )
                )
        except OSError:
            return {}  # no folder, or one that is being replaced

    def _refresh(self, stamps: Mapping[str, _Stamp]) -> None:
        helpers_changed = _helpers(stamps) != _helpers(self._stamps)
        if helpers_changed or not self._stamps:
            self._open_package()
        files: dict[str, _File] = {}
        for name, stamp in stamps.items():
            if name.startswith("_"):
                continue
            known = self._files.get(name)
            if known is not None and known.stamp == stamp and not helpers_changed:
                files[name] = known
            else:
                files[name] = self._load(name, stamp, known)
        self._files = files
        self._collect()
        self._stamps = stamps

    def _open_package(self) -> None:
        """Make the package that the files are in, forgetting the helpers that it held."""
        for name in [name for name in sys.modules if name.startswith(f"{self._package}.")]:
            del sys.modules[name]
        package = ModuleType(self._package)
        package.__path__ = [str(self._directory)]
        sys.modules[self._package] = package
        sys.path_importer_cache[str(self._directory)] = self._finder

    def _load(self, name: str, stamp: _Stamp, known: _File | None) -> _File:
        path = self._directory / name
        try:
            tools = self._import(path)
        except BaseException as error:  # noqa: BLE001  (a file may do anything while it is imported)
            was_good = known is not None and known.was_good
            kept = "; its last good version is used" if was_good else ""
            problem = f"{self._reason(path, error)}{kept}"
            logger.warning(
                "tool file not loaded", extra={"file": self._shown(path), "problem": problem}
            )
            failed = _File(stamp=stamp, problem=problem, was_good=was_good)
            if known is not None:
                failed.tools = known.tools
            return failed
        return _File(stamp=stamp, tools=tools, was_good=True)

    def _import(self, path: Path) -> Mapping[str, Tool]:
        name = f"{self._package}.{path.stem}"
        loader = _FreshLoader(name, str(path))
        spec = spec_from_loader(name, loader)
        assert spec is not None
        module = module_from_spec(spec)
        before = sys.modules.get(name)
        self._finder.invalidate_caches()
        sys.modules[name] = module
        try:
            loader.exec_module(module)
            return _tools_in(module)
        except BaseException:
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
            raise

    def _reason(self, path: Path, error: BaseException) -> str:
        """Say where and why, by the author's own line."""
        if isinstance(error, DefinitionError):
            return error.message.replace(error.file, self._shown(Path(error.file)), 1)
        if isinstance(error, SyntaxError) and error.filename is not None:
            return f"{self._shown(Path(error.filename))}:{error.lineno}: {error.msg}"
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if Path(frame.filename).parent == self._directory]
        place = f"{self._shown(Path(own[-1].filename))}:{own[-1].lineno}" if own else ""
        return f"{place or self._shown(path)}: {describe(error)}"

    def _shown(self, path: Path) -> str:
        """Name a file as it is named from the project's folder."""
        is_inside = path.is_relative_to(self._project)
        return path.relative_to(self._project).as_posix() if is_inside else str(path)

    def _collect(self) -> None:
        tools: dict[str, Tool] = {}
        homes: dict[str, str] = {}
        problems = [file.problem for file in self._files.values() if file.problem is not None]
        for name, file in self._files.items():
            for tool in file.tools.values():
                if tool.name in tools:
                    where = self._shown(self._directory / name)
                    problems.append(
                        f"{where}: there is a tool {tool.name!r} already, in "
                        f"{homes[tool.name]}; this one is left out"
                    )
                else:
                    tools[tool.name] = tool
                    homes[tool.name] = name
        self._tools, self._problems = tools, problems


def _tools_in(module: ModuleType) -> Mapping[str, Tool]:
    tools: dict[str, Tool] = {}
    distinct = {id(value): value for value in vars(module).values()}
    for value in distinct.values():
        match value:
            case FunctionTool() if value.function.__module__ == module.__name__:
                made = value.as_tool(source="project")
            case Tool():
                made = replace(value, source="project")
            case _:
                continue
        problem = name_problem(made.name)
        if problem is None and made.name in tools:
            problem = f"there are two tools {made.name!r}"
        if problem is not None:
            raise DefinitionError(problem, file=str(module.__file__))
        tools[made.name] = made
    return tools


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _helpers(stamps: Mapping[str, _Stamp]) -> Mapping[str, _Stamp]:
    return {name: stamp for name, stamp in stamps.items() if name.startswith("_")}
