"""The definitions and prompts of a project as they are now: follows the files, cheaply."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from retinue.clock import Clock
from retinue.definitions.declarations import DeclaredTool, Hook
from retinue.definitions.definition import BUILTIN_NAME, Definition
from retinue.definitions.file_scan import FoundFile, scan
from retinue.definitions.last_good import Generation, advance, with_builtin
from retinue.definitions.package_names import is_private, qualified
from retinue.definitions.package_scope import Unpacked, gathered
from retinue.definitions.packages import Package, PackageCatalog, PackagePlace, Shelved
from retinue.definitions.prompt import Prompt
from retinue.definitions.reference_targets import ModelChecks
from retinue.definitions.source_files import SourceFile, read_source
from retinue.errors import NotFoundError
from retinue.problems import LoadProblem
from retinue.settings.keys import nearest

logger = logging.getLogger(__name__)

T = TypeVar("T")

RESCAN_SECONDS = 0.2

KnownTools = Collection[str] | Callable[[], Collection[str]] | None
"""Names or patterns of tools; None when references to tools are not to be checked."""

DEFAULT_MODEL_FILE = "retinue.toml"
AGENTS_FOLDER = "agents"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tracked:
    """A file as it was last read."""

    found: FoundFile
    source: SourceFile


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tools:
    """What files may name as tools: those of a project, and those that packages share with it."""

    known: frozenset[str] | None = None
    shared: frozenset[str] = frozenset()

    def inside(self, package: Package) -> frozenset[str] | None:
        """Give what the files of a package may name."""
        if self.known is None:
            return None
        prefix = qualified(package.name, "")
        own = (name.removeprefix(prefix) for name in self.known if name.startswith(prefix))
        return frozenset({*self.shared, *package.manifest.needs.tools, *own})

    @property
    def outside(self) -> frozenset[str] | None:
        if self.known is None:
            return None
        return frozenset(name for name in self.known if not is_private(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    """All that there is at one time: what names lead to, and each part by itself."""

    all: Generation = field(default_factory=Generation)
    own: Generation = field(default_factory=Generation)
    packages: dict[str, Unpacked] = field(default_factory=dict[str, Unpacked])


class Catalog:
    """Serves definitions and prompts by name; `refresh` takes up what changed on disk."""

    def __init__(
        self,
        project_dir: Path,
        clock: Clock,
        known_tools: KnownTools = None,
        *,
        known_models: ModelChecks | None = None,
        shared_tools: Callable[[], Collection[str]] = tuple,
        shelf: PackageCatalog | None = None,
    ) -> None:
        """Load everything; `shared_tools` are those that packages may use too."""
        self._project = PackagePlace(directory=project_dir)
        self._shelf = shelf or PackageCatalog(project_dir)
        self._shelved = Shelved()
        self._clock = clock
        self._known_tools = known_tools
        self._shared_tools = shared_tools
        self._known_models = known_models
        self._model_problems: dict[str, str | None] = {}  # of the models that files name
        self._lock = threading.Lock()
        self._scanned_at: float | None = None
        self._tracked: dict[str, _Tracked] = {}
        self._tools: _Tools = _Tools()
        self.revision = 0  # grows with every change that was taken up
        # Replaced as a whole, so that readers in other threads never see half a reload.
        self._served = _Served()
        self.refresh()

    def definition(self, name: str) -> Definition:
        """Give what agents are made from, also if only its package can name it."""
        served = self._served.all
        found = served.definitions.get(name)
        if found is None:
            raise _not_found("definition", name, served.definitions, served.problems)
        return found

    def public(self, name: str) -> Definition:
        """Give a definition that people and other agents may name."""
        if is_private(name):
            served = self._served.all
            raise _not_found("definition", name, served.definitions, served.problems)
        return self.definition(name)

    def definitions(self) -> tuple[Definition, ...]:
        """List by name what people and other agents may name."""
        everything = self._served.all.definitions
        return tuple(one for name, one in sorted(everything.items()) if not is_private(name))

    def everything(self) -> tuple[Definition, ...]:
        """List by name also what only its package can name."""
        return tuple(one for _, one in sorted(self._served.all.definitions.items()))

    def around(self, definition: Definition) -> tuple[Definition, ...]:
        """List by name what a definition may name, in its words: inside a package, only that."""
        home = definition.home
        if home is None:
            return self.definitions()
        unpacked = self._served.packages.get(home.package)
        if unpacked is None:
            return ()
        return tuple(one for _, one in sorted(unpacked.generation.definitions.items()))

    def key(self, definition: Definition, name: str) -> str:
        """Give the name outside of a package for what a definition in it calls so."""
        home = definition.home
        if home is None:
            return name
        private = qualified(home.package, name)
        return private if private in self._served.all.definitions else name

    def sources(self) -> tuple[SourceFile, ...]:
        """Give the project's own files as they were read."""
        return tuple(one.source for one in self._of(self._project))

    def default(self, preferred: str | None = None) -> Definition:
        """Give the definition for whoever names none."""
        if preferred is not None:
            return self.definition(preferred)
        # What a package brings is asked for by name, as long as the project has an agent itself.
        definitions = sorted(self.definitions(), key=lambda one: one.home is not None)
        visible = (one.name for one in definitions if one.ui_visible and one.kind == "ai_human")
        has_builtin_name = any(one.name == BUILTIN_NAME for one in definitions)
        return self.definition(BUILTIN_NAME if has_builtin_name else next(visible, BUILTIN_NAME))

    def prompt(self, name: str) -> Prompt:
        served = self._served.all
        found = served.prompts.get(name)
        if found is None:
            raise _not_found("prompt", name, served.prompts, served.problems)
        return found

    def hooks(self) -> Mapping[str, Hook]:
        return self._served.all.hooks

    def tools(self) -> Mapping[str, DeclaredTool]:
        """The tools that files of definitions, prompts and hooks define."""
        return self._served.all.tools

    def errors(self) -> tuple[LoadProblem, ...]:
        """Tell everything that is wrong with the files, warnings included."""
        return self._served.all.problems

    def has_news(self) -> bool:
        """Tell whether a refresh would take anything up; none of the files' code runs here."""
        if self._is_fresh():
            return False
        if (
            self._current_tools() != self._tools
            or self._current_model_problems() != self._model_problems
        ):
            return True
        if self._shelf.look() is not self._shelved:
            return True
        found = {one.path: one for place in self._places() for one in scan(place)}
        if found != {path: one.found for path, one in self._tracked.items()}:
            return True
        self._scanned_at = self._clock.monotonic()
        return False

    def _is_fresh(self) -> bool:
        scanned_at = self._scanned_at
        return scanned_at is not None and self._clock.monotonic() - scanned_at < RESCAN_SECONDS

    def refresh(self) -> bool:
        """Look at the files, at most five times a second; tell whether anything was taken up."""
        with self._lock:
            if self._is_fresh():
                return False
            has_changed = self._rescan()
            # After the work, so that a large project is not read without a pause.
            self._scanned_at = self._clock.monotonic()
            return has_changed

    def _rescan(self) -> bool:
        tools = self._current_tools()
        before, self._shelved = self._shelved, self._shelf.look()
        tracked = {
            found.path: self._current(found) for place in self._places() for found in scan(place)
        }
        is_as_before = (
            tools == self._tools
            and self._shelved is before
            and tracked == self._tracked
            and self._current_model_problems() == self._model_problems
        )
        if self.revision and is_as_before:
            return False
        self._tracked, self._tools, self._model_problems = tracked, tools, {}
        served = self._advanced(self._served, tools)
        _announce(self._served.all.problems, served.all.problems)
        self._served = served
        self.revision += 1
        return True

    def _advanced(self, before: _Served, tools: _Tools) -> _Served:
        """Load the packages, then the project's own files, which may name their entry agents."""
        packages = {
            package.name: self._unpacked(package, before, tools)
            for package in self._shelved.packages
        }
        own = advance(
            before.own,
            [one.source for one in self._of(self._project)],
            tools.outside,
            self._model_checks(),
            neighbours={
                name: one
                for unpacked in packages.values()
                for name, one in unpacked.offered.items()
            },
        )
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
        return _Served(all=everything, own=own, packages=packages)

    def _unpacked(self, package: Package, before: _Served, tools: _Tools) -> Unpacked:
        known = before.packages.get(package.name)
        is_same = known is not None and known.package.place == package.place
        models = self._model_checks()
        generation = advance(
            known.generation if known is not None and is_same else Generation(),
            [one.source for one in self._of(package.place)],
            tools.inside(package),
            None
            if models is None
            else replace(
                models,
                problem=_of_package(package, models.problem),
                unsupported=_of_package(package, models.unsupported),
            ),
        )
        return Unpacked(package=package, generation=generation)

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

    def _current_tools(self) -> _Tools:
        known = self._known_tools() if callable(self._known_tools) else self._known_tools
        return _Tools(
            known=None if known is None else frozenset(known),
            shared=frozenset(self._shared_tools()),
        )

    def _current(self, found: FoundFile) -> _Tracked:
        known = self._tracked.get(found.path)
        if known is not None and known.found == found:
            return known
        return _Tracked(
            found=found, source=read_source(Path(found.path), found.place, found.folder)
        )


def _not_found(
    kind: str, name: str, known: Iterable[str], problems: Iterable[LoadProblem]
) -> NotFoundError:
    names = sorted(known)
    near = nearest(name, names, limit=3)
    message = f"there is no {kind} {name!r}"
    failing = [
        problem for problem in problems if problem.is_error and Path(problem.file).stem == name
    ]
    if failing:
        message += f", because a file does not load: {failing[0]}"
    elif near:
        message += f"; did you mean {' or '.join(repr(one) for one in near)}?"
    elif names:
        message += f"; there are {', '.join(names[:10])}" + (" ..." if len(names) > 10 else "")
    return NotFoundError(message, details={kind: name, "near": near})


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


def _of_package(package: Package, check: Callable[[str], T]) -> Callable[[str], T]:
    """A check of models by the names that they have in a package."""
    return lambda name: check(package.model(name))
