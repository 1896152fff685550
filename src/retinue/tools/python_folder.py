"""A folder of Python files whose contents are loaded again when they change."""

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
"""Groups of errors with this message tell everything that is wrong with a file at once."""

Make = Callable[[ModuleType, Sequence[Declared]], Mapping[str, T]]
"""Takes out of a module what the folder is for; raises `DefinitionError`s, alone or in a group."""


@dataclass(slots=True)
class LoadedFile(Generic[T]):
    """One file: what it last gave, and why its present text gives nothing."""

    stamp: _Stamp
    made: Mapping[str, T] = field(default_factory=dict[str, T])
    problems: Sequence[LoadProblem] = ()
    was_good: bool = False


class _FreshLoader(SourceFileLoader):
    """Compiles each time: cached bytecode is told apart by whole seconds, and edits are faster."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class PythonFolder(Generic[T]):
    """What the files of a folder make.

    A file that does not load keeps what its last good version made. Files whose name starts with an
    underscore make nothing; the others import from them relatively (`from ._shop import ...`).
    """

    def __init__(self, directory: Path, make: Make[T], *, word: str, shown_in: str = "") -> None:
        self._directory = directory.absolute()
        self._make = make
        self._word = word  # what one of the things is called
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
        """Load what changed; False when nothing did."""
        if self._scan() == self._stamps:
            self._has_looked = True
            return False
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS if self._has_looked else None):
                await self._lock.acquire()
        except TimeoutError:
            return False  # somebody waits for a file that takes long; the last versions serve
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
        """Make the package that the files are in, forgetting the helpers that it held."""
        for name in [name for name in sys.modules if name.startswith(f"{self._package}.")]:
            del sys.modules[name]
        package = ModuleType(self._package)
        package.__path__ = [str(self._directory)]
        sys.modules[self._package] = package
        sys.path_importer_cache[str(self._directory)] = self._finder

    async def _load(self, name: str, stamp: _Stamp, known: LoadedFile[T] | None) -> LoadedFile[T]:
        path = self._directory / name
        was_good = known is not None and known.was_good
        # Importing runs code of unknown length; the loop goes on meanwhile.
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
                pass  # it took too long, and another version is there by now
            elif before is None:
                del sys.modules[name]
            else:
                sys.modules[name] = before
            raise

    def _problems_of(self, path: Path, error: BaseException) -> Sequence[LoadProblem]:
        """Say where and why, by the author's own lines."""
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
        """Name a file as it is named from the project's folder."""
        if not path.is_relative_to(self._project):
            return str(path)
        return (self._shown_in / path.relative_to(self._project).as_posix()).as_posix()


def _stamps(entries: Iterator["os.DirEntry[str]"]) -> Iterator[tuple[str, _Stamp]]:
    for entry in entries:
        # One that is gone by now, or that leads in circles, must not hide the others.
        with suppress(OSError):
            if entry.name.endswith(".py") and entry.is_file():
                yield entry.name, _stamp(entry.stat())


def _stamp(stat: os.stat_result) -> _Stamp:
    return (stat.st_mtime_ns, stat.st_size, stat.st_ino)


def _helpers(stamps: Mapping[str, _Stamp]) -> Mapping[str, _Stamp]:
    return {name: stamp for name, stamp in stamps.items() if name.startswith("_")}
