"""The definitions and prompts of a project as they are now: follows the files, cheaply."""

import logging
import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from retinue.clock import Clock
from retinue.definitions.declared import DeclaredTool, Hook
from retinue.definitions.definition import BUILTIN_NAME, Definition
from retinue.definitions.prompt import Prompt
from retinue.definitions.references import ModelProblem
from retinue.definitions.retention import Generation, advance
from retinue.definitions.sources import FOLDERS, Folder, SourceFile, read_source
from retinue.errors import NotFoundError
from retinue.problems import LoadProblem
from retinue.settings.keys import nearest

logger = logging.getLogger(__name__)

RESCAN_SECONDS = 0.2

KnownTools = Collection[str] | Callable[[], Collection[str]] | None
"""Names or patterns of tools; None when references to tools are not to be checked."""

DEFAULT_MODEL_FILE = "retinue.toml"

_Signature = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModels:
    """How the models that files name are checked, and which one serves those that name none."""

    problem: ModelProblem
    default: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tracked:
    """A file as it was last read."""

    signature: _Signature
    source: SourceFile


class Catalog:
    """Serves definitions and prompts by name; `refresh` takes up what changed on disk."""

    def __init__(
        self,
        project_dir: Path,
        clock: Clock,
        known_tools: KnownTools = None,
        *,
        known_models: KnownModels | None = None,
    ) -> None:
        self._project_dir = project_dir
        self._clock = clock
        self._known_tools = known_tools
        self._known_models = known_models
        self._model_problems: dict[str, str | None] = {}  # of the models that files name
        self._lock = threading.Lock()
        self._scanned_at: float | None = None
        self._tracked: dict[str, _Tracked] = {}
        self._tools: frozenset[str] | None = None
        self._revision = 0
        # Replaced as a whole, so that readers in other threads never see half a reload.
        self._generation = Generation()
        self.refresh()

    @property
    def revision(self) -> int:
        """A number that grows with every change that was taken up."""
        return self._revision

    def definition(self, name: str) -> Definition:
        generation = self._generation
        found = generation.definitions.get(name)
        if found is None:
            raise _not_found("definition", name, generation.definitions, generation.problems)
        return found

    def definitions(self) -> tuple[Definition, ...]:
        """List all of them by name."""
        return tuple(one for _, one in sorted(self._generation.definitions.items()))

    def default(self, preferred: str | None = None) -> Definition:
        """Give the definition for whoever names none."""
        if preferred is not None:
            return self.definition(preferred)
        definitions = self.definitions()
        visible = (one.name for one in definitions if one.ui_visible and one.kind == "ai_human")
        has_builtin_name = any(one.name == BUILTIN_NAME for one in definitions)
        return self.definition(BUILTIN_NAME if has_builtin_name else next(visible, BUILTIN_NAME))

    def prompt(self, name: str) -> Prompt:
        generation = self._generation
        found = generation.prompts.get(name)
        if found is None:
            raise _not_found("prompt", name, generation.prompts, generation.problems)
        return found

    def hooks(self) -> Mapping[str, Hook]:
        return self._generation.hooks

    def tools(self) -> Mapping[str, DeclaredTool]:
        """The tools that files of definitions, prompts and hooks define."""
        return self._generation.tools

    def errors(self) -> tuple[LoadProblem, ...]:
        """Tell everything that is wrong with the files, warnings included."""
        return self._generation.problems

    def has_news(self) -> bool:
        """Tell whether a refresh would take anything up; none of the files' code runs here."""
        if self._is_fresh():
            return False
        if (
            self._current_tools() != self._tools
            or self._current_model_problems() != self._model_problems
        ):
            return True
        signatures = {path: signature for path, _, signature in _scan(self._project_dir)}
        if signatures != {path: one.signature for path, one in self._tracked.items()}:
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
        tracked = {
            path: self._current(path, folder, signature)
            for path, folder, signature in _scan(self._project_dir)
        }
        is_as_before = (
            tools == self._tools
            and tracked == self._tracked
            and self._current_model_problems() == self._model_problems
        )
        if self._revision and is_as_before:
            return False
        self._tracked, self._tools, self._model_problems = tracked, tools, {}
        sources = [one.source for one in tracked.values()]
        generation = advance(self._generation, sources, tools, self._model_problem())
        generation = replace(
            generation, problems=(*generation.problems, *self._default_model_problems())
        )
        _announce(self._generation.problems, generation.problems)
        self._generation = generation
        self._revision += 1
        return True

    def _model_problem(self) -> ModelProblem | None:
        """Give the check, remembering what it said about which names."""
        known = self._known_models
        if known is None:
            return None

        def problem(name: str) -> str | None:
            if name not in self._model_problems:
                self._model_problems[name] = known.problem(name)
            return self._model_problems[name]

        return problem

    def _default_model_problems(self) -> list[LoadProblem]:
        problem = self._model_problem()
        message = problem(self._known_models.default) if problem and self._known_models else None
        if message is None:
            return []
        return [
            LoadProblem(file=DEFAULT_MODEL_FILE, field="model", message=message, severity="warning")
        ]

    def _current_model_problems(self) -> dict[str, str | None]:
        known = self._known_models
        return {name: known.problem(name) for name in self._model_problems} if known else {}

    def _current_tools(self) -> frozenset[str] | None:
        known = self._known_tools() if callable(self._known_tools) else self._known_tools
        return None if known is None else frozenset(known)

    def _current(self, path: str, folder: Folder, signature: _Signature) -> _Tracked:
        known = self._tracked.get(path)
        if known is not None and known.signature == signature:
            return known
        return _Tracked(
            signature=signature, source=read_source(Path(path), self._project_dir, folder)
        )


def _scan(project_dir: Path) -> Iterator[tuple[str, Folder, _Signature]]:
    """Find the files, in a fixed order: of two that define one name, the first wins."""
    for folder in FOLDERS:
        try:
            with os.scandir(project_dir / folder.path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            if not _is_left_alone(entry.name):
                signature = _signature(entry)
                if signature is not None:
                    yield entry.path, folder, signature


def _is_left_alone(name: str) -> bool:
    return name.startswith((".", "_")) or name.upper().startswith("README.")


def _signature(entry: "os.DirEntry[str]") -> _Signature | None:
    """Tell the states of a file apart; what is no regular file has none, for a pipe would block."""
    try:
        status = entry.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


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
