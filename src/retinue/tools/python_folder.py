"""A folder of Python files, reloaded when they change."""

import asyncio
import hashlib
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.machinery import FileFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType
from typing import Generic, TypeVar

from retinue.definitions.declarations import LOAD_SECONDS, NOT_LOADED, Declared, collecting
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.tools.execution import describe
from retinue.tools.threads import in_thread

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Stamp = tuple[int, int, int]
_PATIENCE_SECONDS = 2.0

GROUP = "does not load"
"""The message of exception groups that hold all errors of one file."""

Make = Callable[[ModuleType, Sequence[Declared]], Mapping[str, T]]
"""Builds objects from a module; raises one `DefinitionError` or a group of them."""


@dataclass(slots=True)
class LoadedFile(Generic[T]):
    """One file: the objects of its last good version, and current errors."""

    stamp: _Stamp
    made: Mapping[str, T] = field(default_factory=dict[str, T])
    problems: Sequence[LoadProblem] = ()
    was_good: bool = False


class _FreshLoader(SourceFileLoader):
    """Compiles every time, since bytecode timestamps in whole seconds miss quick edits."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class PythonFolder(Generic[T]):
    """Objects built from the files of a folder.

    A file that fails to load keeps the objects of its last good version. Files whose name starts
    with an underscore are helpers, imported by the others (`from ._shop import ...`).
    """

    def __init__(self, directory: Path, make: Make[T], *, word: str, shown_in: str = "") -> None:
        self._directory = directory.absolute()
        self._make = make
        self._word = word  # the name of one object, for messages
        self._project = self._directory.parent
        self._shown_in = PurePosixPath(shown_in)
        digest = hashlib.sha256(str(self._directory).encode()).hexdigest()[:12]
        self._package = f"retinue_project_{self._directory.name}_{digest}"
        self._finder = FileFinder(str(self._directory), (_FreshLoader, [".py"]))
        self._stamps: Mapping[str, _Stamp] = {}
        self._lock = asyncio.Lock()
        self._has_looked = False
        self.files: Mapping[str, LoadedFile[T]] = {}

    async def refresh(self) -> bool:
        """Load changed files; return False if nothing changed."""
        if self._scan() == self._stamps:
            self._has_looked = True
            return False
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS if self._has_looked else None):
                await self._lock.acquire()
        except TimeoutError:
            return False  # a slow file is being loaded; the last versions are used meanwhile
        try:
            stamps = self._scan()
            if stamps == self._stamps:
                return False
            await self._refresh(stamps)
            self._has_looked = True
        finally:
            self._lock.release()
        return True

    def _scan(self) -> Mapping[str, _Stamp]:
        try:
            with os.scandir(self._directory) as entries:
                return dict(sorted(_stamps(entries)))
        except OSError:
            return {}  # no folder, or one that is being replaced

    async def _refresh(self, stamps: Mapping[str, _Stamp]) -> None:
        helpers_changed = _helpers(stamps) != _helpers(self._stamps)
        if helpers_changed or not self._stamps:
            self._open_package()
        files: dict[str, LoadedFile[T]] = {}
        for name, stamp in stamps.items():
            if name.startswith("_"):
                continue
            known = self.files.get(name)
            if known is not None and known.stamp == stamp and not helpers_changed:
                files[name] = known
            else:
                files[name] = await self._load(name, stamp, known)
        self.files = files
        self._stamps = stamps

    def _open_package(self) -> None:
        """Create the package of the files, without helpers imported before."""
        for name in [name for name in sys.modules if name.startswith(f"{self._package}.")]:
            del sys.modules[name]
        package = ModuleType(self._package)
        package.__path__ = [str(self._directory)]
        sys.modules[self._package] = package
        sys.path_importer_cache[str(self._directory)] = self._finder

    async def _load(self, name: str, stamp: _Stamp, known: LoadedFile[T] | None) -> LoadedFile[T]:
        path = self._directory / name
        was_good = known is not None and known.was_good
        # Importing runs arbitrary code, so it must not block the loop.
        loading = in_thread(lambda: self._loaded(path), name=f"load {self._word}s")
        try:
            loaded = await asyncio.wait_for(loading, LOAD_SECONDS)
        except TimeoutError:
            loaded = [self._problem(path, None, NOT_LOADED.format(LOAD_SECONDS))]
        if isinstance(loaded, Mapping):
            return LoadedFile(stamp=stamp, made=loaded, was_good=True)
        problems = [replace(problem, using_last_good=was_good) for problem in loaded]
        for problem in problems:
            logger.warning(
                "%s file not loaded",
                self._word,
                extra={"file": problem.file, "problem": str(problem)},
            )
        failed = LoadedFile[T](stamp=stamp, problems=problems, was_good=was_good)
        if known is not None:
            failed.made = known.made
        return failed

    def _loaded(self, path: Path) -> Mapping[str, T] | Sequence[LoadProblem]:
        try:
            return self._import(path)
        except BaseException as error:  # noqa: BLE001  (a file may do anything while it is imported)
            return self._problems_of(path, error)

    def _import(self, path: Path) -> Mapping[str, T]:
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
            return self._make(module, declared)
        except BaseException:
            if sys.modules.get(name) is not module:
                pass  # it took too long and was replaced by a newer version
            elif before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
            raise

    def _problems_of(self, path: Path, error: BaseException) -> Sequence[LoadProblem]:
        """Return the errors with the line in the author's file."""
        match error:
            case ExceptionGroup() if error.message == GROUP:
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
        return LoadProblem(file=self.shown(path), line=line, field=field, message=message)

    def shown(self, path: Path) -> str:
        """Return a file's path relative to the project."""
        if not path.is_relative_to(self._project):
            return str(path)
        return (self._shown_in / path.relative_to(self._project).as_posix()).as_posix()


def _stamps(entries: Iterator["os.DirEntry[str]"]) -> Iterator[tuple[str, _Stamp]]:
    for entry in entries:
        # A deleted file or a symlink loop must not hide the others.
        with suppress(OSError):
            if entry.name.endswith(".py") and entry.is_file():
                yield entry.name, _stamp(entry.stat())


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _helpers(stamps: Mapping[str, _Stamp]) -> Mapping[str, _Stamp]:
    return {name: stamp for name, stamp in stamps.items() if name.startswith("_")}
