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
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType

from retinue.definitions.declared import Declared, DeclaredTool, collecting
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.tools.defining import DefinedTool
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
    problems: Sequence[LoadProblem] = ()
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

    def __init__(self, directory: Path, *, shown_in: str = "") -> None:
        self._directory = directory.absolute()
        self._project = self._directory.parent
        self._shown_in = PurePosixPath(shown_in)
        digest = hashlib.sha256(str(self._directory).encode()).hexdigest()[:12]
        self._package = f"retinue_project_tools_{digest}"
        self._finder = FileFinder(str(self._directory), (_FreshLoader, [".py"]))
        self._stamps: Mapping[str, _Stamp] = {}
        self._files: dict[str, _File] = {}
        self._tools: Mapping[str, Tool] = {}
        self._problems: Sequence[LoadProblem] = ()
        self._lock = asyncio.Lock()

    async def tools(self) -> Mapping[str, Tool]:
        if self._scan() != self._stamps:
            async with self._lock:
                stamps = self._scan()
                if stamps != self._stamps:
                    # Importing runs code of unknown length; the loop goes on meanwhile.
                    await in_thread(lambda: self._refresh(stamps), name="load tools")
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
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
        was_good = known is not None and known.was_good
        try:
            tools = self._import(path)
        except BaseException as error:  # noqa: BLE001  (a file may do anything while it is imported)
            problems = [
                replace(problem, using_last_good=was_good)
                for problem in self._problems_of(path, error)
            ]
            for problem in problems:
                logger.warning(
                    "tool file not loaded", extra={"file": problem.file, "problem": str(problem)}
                )
            failed = _File(stamp=stamp, problems=problems, was_good=was_good)
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
            with collecting() as declared:
                loader.exec_module(module)
            _refuse_others(declared, path)
            return self._tools_in(module, declared)
        except BaseException:
            if before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
            raise

    def _tools_in(self, module: ModuleType, declared: Sequence[Declared]) -> Mapping[str, Tool]:
        """Make what the module defines; raises all that is wrong with it at once."""
        tools: dict[str, Tool] = {}
        wrong: list[DefinitionError] = []
        file = str(module.__file__)
        distinct = {id(value): value for value in vars(module).values()}
        distinct |= {id(one.tool): one.tool for one in declared if isinstance(one, DeclaredTool)}
        for value in distinct.values():
            try:
                made = _made(value, module)
            except DefinitionError as error:
                wrong.append(error)
                continue
            if made is None:
                continue
            problem = name_problem(made.name)
            if problem is None and made.name in tools:
                problem = f"there are two tools {made.name!r}"
            if problem is not None:
                wrong.append(DefinitionError(problem, file=file, line=made.line))
            tools[made.name] = replace(made, file=self._shown(Path(file)))
        if wrong:
            raise ExceptionGroup("tools", wrong)
        return tools

    def _problems_of(self, path: Path, error: BaseException) -> Sequence[LoadProblem]:
        """Say where and why, by the author's own lines."""
        match error:
            case ExceptionGroup() if error.message == "tools":
                return [told for one in error.exceptions for told in self._problems_of(path, one)]
            case DefinitionError():
                where, line, message = Path(error.file), error.line, error.reason
                return [self._problem(where, line, message, field=error.field)]
            case SyntaxError(filename=str(name)):
                return [self._problem(Path(name), error.lineno, error.msg)]
            case _:
                frames = traceback.extract_tb(error.__traceback__)
                own = [frame for frame in frames if Path(frame.filename).parent == self._directory]
                where = Path(own[-1].filename) if own else path
                line = own[-1].lineno if own else None
                return [self._problem(where, line, describe(error))]

    def _problem(
        self, path: Path, line: int | None, message: str, *, field: str = ""
    ) -> LoadProblem:
        return LoadProblem(file=self._shown(path), line=line, field=field, message=message)

    def _shown(self, path: Path) -> str:
        """Name a file as it is named from the project's folder."""
        if not path.is_relative_to(self._project):
            return str(path)
        return (self._shown_in / path.relative_to(self._project).as_posix()).as_posix()

    def _collect(self) -> None:
        tools: dict[str, Tool] = {}
        homes: dict[str, str] = {}
        problems = [problem for file in self._files.values() for problem in file.problems]
        for name, file in self._files.items():
            for tool in file.tools.values():
                if tool.name in tools:
                    message = (
                        f"there is a tool {tool.name!r} already, in {homes[tool.name]}; "
                        "this one is left out"
                    )
                    problems.append(LoadProblem(file=tool.file, line=tool.line, message=message))
                else:
                    tools[tool.name] = tool
                    homes[tool.name] = name
        self._tools, self._problems = tools, problems


def _made(value: object, module: ModuleType) -> Tool | None:
    """Make a tool of what a module holds, if it is one of its own."""
    match value:
        case DefinedTool() if value.file == module.__file__:
            return replace(value.as_tool(source="project"), line=value.line)
        case FunctionTool() if value.function.__module__ == module.__name__:
            code = getattr(value.function, "__code__", None)
            return replace(value.as_tool(source="project"), line=code and code.co_firstlineno)
        case Tool():
            return replace(value, source="project")
        case _:
            return None


def _refuse_others(declared: Sequence[Declared], path: Path) -> None:
    for one in declared:
        if not isinstance(one, DeclaredTool):
            message = (
                "only tools are defined here; hooks, prompts and agents have their own folders"
            )
            raise DefinitionError(message, file=str(path), line=one.line)


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _helpers(stamps: Mapping[str, _Stamp]) -> Mapping[str, _Stamp]:
    return {name: stamp for name, stamp in stamps.items() if name.startswith("_")}
