"""Reads a project's definitions, prompts, templates and hooks; unchanged files stay as they are."""

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from retinue.definitions.catalog import Catalog
from retinue.definitions.definition import BUILTIN_NAME
from retinue.definitions.file_scan import FoundFile, scan
from retinue.definitions.kept_sources import NOTHING_KEPT, GoodFile, KeptSources, Stamp
from retinue.definitions.last_good import Generation, advance, with_builtin
from retinue.definitions.package_names import is_private, qualified
from retinue.definitions.package_scope import Unpacked, gathered
from retinue.definitions.packages import (
    Package,
    PackageCatalog,
    PackagePlace,
    Shelved,
)
from retinue.definitions.reference_targets import ModelChecks
from retinue.definitions.source_files import SourceFile, read_source
from retinue.problems import LoadProblem

logger = logging.getLogger(__name__)

T = TypeVar("T")

DEFAULT_MODEL_FILE = "retinue.toml"
AGENTS_FOLDER = "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTools:
    """What files may name as tools: those of a project, and those that packages share with it."""

    names: frozenset[str] | None = None
    """names and patterns; None when references to tools are not checked"""
    shared: frozenset[str] = frozenset()

    def inside(self, package: Package) -> frozenset[str] | None:
        """Give what the files of a package may name."""
        if self.names is None:
            return None
        prefix = qualified(package.name, "")
        own = (name.removeprefix(prefix) for name in self.names if name.startswith(prefix))
        return frozenset({*self.shared, *package.manifest.needs.tools, *own})

    @property
    def outside(self) -> frozenset[str] | None:
        if self.names is None:
            return None
        return frozenset(name for name in self.names if not is_private(name))


UNCHECKED = KnownTools()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tracked:
    """A file as it was last read."""

    found: FoundFile
    source: SourceFile


class CatalogReader:
    """Reads the files of a project and its packages; blocking, for one thread at a time."""

    def __init__(
        self,
        project_dir: Path,
        *,
        known_models: ModelChecks | None = None,
        packages: PackageCatalog | None = None,
        kept: KeptSources = NOTHING_KEPT,
    ) -> None:
        self._project = PackagePlace(directory=project_dir)
        self._packages = packages or PackageCatalog(project_dir)
        self._kept = kept
        self._shelved = Shelved()
        self._known_models = known_models
        self._model_problems: dict[str, str | None] = {}  # of the models that files name
        self._tracked: dict[str, _Tracked] = {}
        self._tools = UNCHECKED
        self._own: Generation | None = None  # of the last read
        self._catalog: Catalog | None = None

    def read(self, tools: KnownTools = UNCHECKED) -> Catalog:
        """Give the catalog of the files as they are now: the same one when nothing changed."""
        before, self._shelved = self._shelved, self._packages.look()
        if self._known_models is not None:
            self._known_models.refresh()
        tracked = {
            found.path: self._current(found) for place in self._places() for found in scan(place)
        }
        is_as_before = (
            tools == self._tools
            and self._shelved is before
            and tracked == self._tracked
            and self._current_model_problems() == self._model_problems
        )
        if self._catalog is not None and is_as_before:
            return self._catalog
        self._tracked, self._tools, self._model_problems = tracked, tools, {}
        catalog = self._advanced(tools)
        known = self._catalog.errors() if self._catalog is not None else ()
        _announce(known, catalog.errors())
        self._catalog = catalog
        return catalog

    def named_models(self) -> Collection[str]:
        """The models that the files name."""
        return self._model_problems.keys()

    def files(self) -> list[str]:
        """Every file there is, as people know it."""
        return [one.source.file for one in self._tracked.values()]

    def good_files(self) -> list[GoodFile]:
        """Those whose present version is in use."""
        errors = self._catalog.errors() if self._catalog is not None else ()
        failing = {problem.file for problem in errors if problem.is_error}
        return [
            GoodFile(file=one.source.file, path=Path(one.found.path), stamp=_stamp(one.found))
            for one in self._tracked.values()
            if one.source.file not in failing
        ]

    def _advanced(self, tools: KnownTools) -> Catalog:
        """Load the packages, then the project's own files, which may name their entry agents."""
        before = (self._catalog or Catalog()).packages
        packages = {
            package.name: self._unpacked(package, before.get(package.name), tools)
            for package in self._shelved.packages
        }
        neighbours = {
            name: one for unpacked in packages.values() for name, one in unpacked.offered.items()
        }
        models = self._model_checks()

        def load(
            previous: Generation, sources: list[SourceFile], known: frozenset[str] | None
        ) -> Generation:
            return advance(previous, sources, known, models, neighbours=neighbours)

        own = self._own = self._loaded(self._project, self._own, tools.outside, load)
        everything = gathered(with_builtin(own), list(packages.values()))
        everything = replace(
            everything,
            problems=(
                *everything.problems,
                *self._shelved.problems,
                *self._missing_agents(own),
                *self._default_model_problems(),
            ),
        )
        own_sources = tuple(one.source for one in self._of(self._project))
        return Catalog(generation=everything, packages=packages, own_sources=own_sources)

    def _unpacked(self, package: Package, known: Unpacked | None, tools: KnownTools) -> Unpacked:
        is_same = known is not None and known.package.place == package.place
        models = self._model_checks()
        if models is not None:
            models = replace(
                models,
                problem=_of_package(package, models.problem),
                unsupported=_of_package(package, models.unsupported),
            )

        def load(
            previous: Generation, sources: list[SourceFile], names: frozenset[str] | None
        ) -> Generation:
            return advance(previous, sources, names, models)

        previous = known.generation if known is not None and is_same else None
        generation = self._loaded(package.place, previous, tools.inside(package), load)
        return Unpacked(package=package, generation=generation)

    def _loaded(
        self,
        place: PackagePlace,
        previous: Generation | None,
        tools: frozenset[str] | None,
        load: Callable[[Generation, list[SourceFile], frozenset[str] | None], Generation],
    ) -> Generation:
        """Load a place; files that are broken at the first look are replaced by their copies."""
        tracked = self._of(place)
        sources = [one.source for one in tracked]
        loaded = load(previous or Generation(), sources, tools)
        failing = {problem.file for problem in loaded.problems if problem.is_error}
        if previous is not None or not failing:
            return loaded
        copies = [
            self._copied(one) if one.source.file in failing else one.source for one in tracked
        ]
        if copies == sources:
            return loaded
        # Not checked against today's tools: it worked when the copy was made.
        return load(load(Generation(), copies, None), sources, tools)

    def _copied(self, tracked: _Tracked) -> SourceFile:
        """The last good version of a file, or the file as it is when there is no copy."""
        found = tracked.found
        data = self._kept.read(tracked.source.file)
        if data is None:
            return tracked.source
        return read_source(Path(found.path), found.place, found.folder, data)

    def _places(self) -> Iterable[PackagePlace]:
        yield self._project
        for package in self._shelved.packages:
            yield package.place

    def _of(self, place: PackagePlace) -> list[_Tracked]:
        return [one for one in self._tracked.values() if one.found.place == place]

    def _model_checks(self) -> ModelChecks | None:
        """Give the checks, remembering what was said about which names."""
        known = self._known_models
        if known is None:
            return None

        def problem(name: str) -> str | None:
            if name not in self._model_problems:
                self._model_problems[name] = known.problem(name)
            return self._model_problems[name]

        return replace(known, problem=problem)

    def _missing_agents(self, own: Generation) -> list[LoadProblem]:
        """Warn where the built-in agent, which may use every tool, stands in for deleted ones."""
        if not own.is_empty or not (self._project.directory / AGENTS_FOLDER).is_dir():
            return []
        message = (
            f"no file here defines an agent, so the built-in {BUILTIN_NAME!r} answers, with every"
            " tool; put your definitions back, or write one with `retinue init`"
        )
        return [LoadProblem(file=AGENTS_FOLDER, message=message, severity="warning")]

    def _default_model_problems(self) -> list[LoadProblem]:
        models = self._model_checks()
        message = models.problem(models.default) if models is not None else None
        if message is None:
            return []
        return [
            LoadProblem(file=DEFAULT_MODEL_FILE, field="model", message=message, severity="warning")
        ]

    def _current_model_problems(self) -> dict[str, str | None]:
        known = self._known_models
        return {name: known.problem(name) for name in self._model_problems} if known else {}

    def _current(self, found: FoundFile) -> _Tracked:
        known = self._tracked.get(found.path)
        if known is not None and known.found == found:
            return known
        return _Tracked(
            found=found, source=read_source(Path(found.path), found.place, found.folder)
        )


def _announce(before: tuple[LoadProblem, ...], after: tuple[LoadProblem, ...]) -> None:
    known = frozenset(before)
    for problem in after:
        if problem not in known:
            level = logging.ERROR if problem.is_error else logging.WARNING
            facts = {
                "action": "load",
                "file": problem.file,
                "field": problem.field,
                "line": problem.line,
                "problem": problem.message,
                "using_last_good": problem.using_last_good,
            }
            logger.log(level, "load problem: %s", problem, extra=facts)


def _stamp(found: FoundFile) -> Stamp:
    modified, _, size, inode = found.signature
    return modified, size, inode


def _of_package(package: Package, check: Callable[[str], T]) -> Callable[[str], T]:
    """A check of models by the names that they have in a package."""
    return lambda name: check(package.model(name))
