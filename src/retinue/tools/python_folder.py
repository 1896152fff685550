"""A folder of Python files, reloaded when they change."""

import hashlib
import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from importlib.machinery import FileFinder, SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path, PurePosixPath
from types import CodeType, ModuleType
from typing import Generic, TypeVar

from retinue.definitions.declarations import LOAD_SECONDS, NOT_LOADED, Declared, collecting
from retinue.definitions.kept_sources import (
    NOTHING_KEPT,
    GoodFile,
    KeptSources,
    Stamp,
    stamp_of,
)
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.tools.execution import describe

logger = logging.getLogger(__name__)

T = TypeVar("T")
_copies: dict[str, bytes] = {}  # by the path of the file that each stands in for

GROUP = "does not load"
"""The message of exception groups that hold all errors of one file."""

Make = Callable[[ModuleType, Sequence[Declared]], Mapping[str, T]]
"""Builds objects from a module; raises one `DefinitionError` or a group of them."""


@dataclass(slots=True)
class LoadedFile(Generic[T]):
    """One file: the objects of its last good version, and current errors."""

    stamp: Stamp
    made: Mapping[str, T] = field(default_factory=dict[str, T])
    problems: Sequence[LoadProblem] = ()
    was_good: bool = False


class _FreshLoader(SourceFileLoader):
    """Compiles every time, since bytecode timestamps in whole seconds miss quick edits.

    While a broken file is loaded from its copy, `_copies` stand in for the files of its folder.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        data = _copies.get(path)
        return self.source_to_code(self.get_data(path) if data is None else data, path)


class PythonFolder(Generic[T]):
    """Objects built from the files of a folder.

    A file that fails to load keeps the objects of its last good version. Files whose name starts
    with an underscore are helpers, imported by the others (`from ._shop import ...`).
    """

    def __init__(
        self,
        directory: Path,
        make: Make[T],
        *,
        word: str,
        shown_in: str = "",
        kept: KeptSources = NOTHING_KEPT,
    ) -> None:
        self._directory = directory.absolute()
        self._make = make
        self._word = word  # the name of one object, for messages
        self._kept = kept
        self._project = self._directory.parent
        self._shown_in = PurePosixPath(shown_in)
        digest = hashlib.sha256(str(self._directory).encode()).hexdigest()[:12]
        self._package = f"retinue_project_{self._directory.name}_{digest}"
        self._finder = FileFinder(str(self._directory), (_FreshLoader, [".py"]))
        self._stamps: Mapping[str, Stamp] = {}
        self.files: Mapping[str, LoadedFile[T]] = {}

    def refresh(self) -> bool:
        """Load what changed; False when nothing did. Blocking, for one thread at a time."""
        stamps = self._scan()
        if stamps == self._stamps:
            return False
        self._refresh(stamps)
        return True

    def names(self) -> list[str]:
        """Every file there is, as people know it."""
        return [self.shown(self._directory / name) for name in self._stamps]

    def good_files(self) -> list[GoodFile]:
        """Those whose present version is in use; helpers, when nothing fails that uses them."""
        failing = {name for name, file in self.files.items() if file.problems}
        return [
            GoodFile(
                file=self.shown(self._directory / name), path=self._directory / name, stamp=stamp
            )
            for name, stamp in self._stamps.items()
            if name not in failing and not (failing and name.startswith("_"))
        ]

    def _scan(self) -> Mapping[str, Stamp]:
        try:
            with os.scandir(self._directory) as entries:
                return dict(sorted(_stamps(entries)))
        except OSError:
            return {}  # no folder, or one that is being replaced

    def _refresh(self, stamps: Mapping[str, Stamp]) -> None:
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
                files[name] = self._load(name, stamp, known)
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

    def _load(self, name: str, stamp: Stamp, known: LoadedFile[T] | None) -> LoadedFile[T]:
        path = self._directory / name
        loaded = self._bounded(path)
        if isinstance(loaded, Mapping):
            return LoadedFile(stamp=stamp, made=loaded, was_good=True)
        made = known.made if known is not None and known.was_good else None
        if known is None:
            made = self._from_copy(path)
        problems = [replace(problem, using_last_good=made is not None) for problem in loaded]
        for problem in problems:
            logger.warning(
                "%s file not loaded",
                self._word,
                extra={"file": problem.file, "problem": str(problem)},
            )
        failed = LoadedFile[T](stamp=stamp, problems=problems, was_good=made is not None)
        if made is not None:
            failed.made = made
        return failed

    def _from_copy(self, path: Path) -> Mapping[str, T] | None:
        """Load the last good version that an earlier process kept, with its helpers if needed."""
        own = self._kept.read(self.shown(path))
        if own is None:
            return None
        loaded = self._bounded(path, {str(path): own})
        if isinstance(loaded, Mapping):
            return loaded
        helpers = {
            str(self._directory / name): data
            for name in self._scan()
            if name.startswith("_")
            and (data := self._kept.read(self.shown(self._directory / name))) is not None
        }
        loaded = self._bounded(path, {str(path): own, **helpers}) if helpers else None
        return loaded if isinstance(loaded, Mapping) else None

    def _bounded(
        self, path: Path, copies: Mapping[str, bytes] | None = None
    ) -> Mapping[str, T] | Sequence[LoadProblem]:
        """Import a file; one that never ends is left behind, so that the others can go on."""
        loaded: list[Mapping[str, T] | Sequence[LoadProblem]] = []
        copies = copies or {}
        _copies.update(copies)
        context = copy_context()
        thread = threading.Thread(
            target=lambda: context.run(lambda: loaded.append(self._loaded(path))),
            name=f"load {self._word}s",
            daemon=True,
        )
        thread.start()
        thread.join(LOAD_SECONDS)
        for name in copies:
            _copies.pop(name, None)
        if not loaded:
            return [self._problem(path, None, NOT_LOADED.format(LOAD_SECONDS))]
        return loaded[0]

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


def _stamps(entries: Iterator["os.DirEntry[str]"]) -> Iterator[tuple[str, Stamp]]:
    for entry in entries:
        # A deleted file or a symlink loop must not hide the others.
        with suppress(OSError):
            if entry.name.endswith(".py") and entry.is_file():
                yield entry.name, stamp_of(entry.stat())


def _helpers(stamps: Mapping[str, Stamp]) -> Mapping[str, Stamp]:
    return {name: stamp for name, stamp in stamps.items() if name.startswith("_")}
