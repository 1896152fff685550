"""The tasks in `heartbeat/*.md`; a file that does not load keeps its last good version."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import msgspec

from retinue.agents.watch import Watch, check_watch
from retinue.definitions.formats import read_markdown
from retinue.definitions.kept_sources import (
    NOTHING_KEPT,
    GoodFile,
    KeptSources,
    Stamp,
    stamp_of,
)
from retinue.errors import DefinitionError, RetinueError
from retinue.settings.table_reader import Shape, check, tidy
from retinue.settings.tables import Text, WatchSettings
from retinue.text import clean_text
from retinue.times import interval_of

_LARGEST = 100_000


class TaskShape(Shape):
    """A task as it is written."""

    synonyms: ClassVar[Mapping[str, str]] = {"name": "title"}

    prompt: Text
    title: Text | None = None
    every: Text | None = None
    watch: WatchSettings | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatTask:
    """Something that is to be done again and again."""

    id: str  # the file's name
    title: str
    prompt: str
    every: timedelta
    watch: Watch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProblem:
    """A file that does not load."""

    file: str
    message: str
    is_using_last_good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatTasks:
    """What the files say: the tasks by title, then by id, and the files that do not load."""

    tasks: tuple[HeartbeatTask, ...] = ()
    problems: tuple[TaskProblem, ...] = ()


class HeartbeatFiles:
    """Reads the folder; blocking, for one thread at a time."""

    def __init__(
        self, project_dir: Path, every: timedelta, *, kept: KeptSources = NOTHING_KEPT
    ) -> None:
        self._folder = project_dir / "heartbeat"
        self._every = every
        self._kept = kept
        self._stamps: dict[str, Stamp] = {}
        self._good: dict[str, HeartbeatTask] = {}
        self._problems: dict[str, TaskProblem] = {}
        self._read_last = HeartbeatTasks()

    def read(self) -> HeartbeatTasks:
        """The tasks as the files are now: the same object when nothing changed."""
        stamps = self._look()
        if stamps == self._stamps:
            return self._read_last
        for name in [name for name in self._stamps if name not in stamps]:
            self._good.pop(name, None)
            self._problems.pop(name, None)
        for name in [name for name in stamps if self._stamps.get(name) != stamps[name]]:
            self._read(name, is_new=name not in self._stamps)
        self._stamps = stamps
        self._read_last = HeartbeatTasks(
            tasks=tuple(sorted(self._good.values(), key=_order)),
            problems=tuple(self._problems[name] for name in sorted(self._problems)),
        )
        return self._read_last

    def files(self) -> list[str]:
        """Every file there is, as people know it."""
        return [_shown(name) for name in self._stamps]

    def good_files(self) -> list[GoodFile]:
        """Those whose present version is in use."""
        return [
            GoodFile(file=_shown(name), path=self._folder / name, stamp=stamp)
            for name, stamp in self._stamps.items()
            if name not in self._problems
        ]

    def _look(self) -> dict[str, Stamp]:
        stamps: dict[str, Stamp] = {}
        try:
            for path in sorted(self._folder.glob("*.md")):
                stamps[path.name] = stamp_of(path.stat())
        except OSError:
            return self._stamps  # it is being changed: look again later
        return stamps

    def _read(self, name: str, *, is_new: bool) -> None:
        path = self._folder / name
        try:
            if path.stat().st_size > _LARGEST:
                raise DefinitionError(f"is larger than {_LARGEST} bytes", file=_shown(name))
            self._good[name] = self._task(path, path.read_bytes())
            self._problems.pop(name, None)
        except (RetinueError, OSError, UnicodeDecodeError) as error:
            if is_new:
                self._take_copy(path)
            self._problems[name] = TaskProblem(
                file=_shown(name),
                message=str(error),
                is_using_last_good=name in self._good,
            )

    def _take_copy(self, path: Path) -> None:
        """Use the last good version that an earlier process kept."""
        data = self._kept.read(_shown(path.name))
        if data is not None:
            with suppress(RetinueError, UnicodeDecodeError):
                self._good[path.name] = self._task(path, data)

    def _task(self, path: Path, data: bytes) -> HeartbeatTask:
        file = _shown(path.name)
        text = clean_text(data.decode("utf-8-sig"))
        tidied = tidy(TaskShape, read_markdown(text, file, body_key="prompt"))
        checked = check(TaskShape, tidied.table, tidied.spelling)
        for complaint in (*tidied.errors, *tidied.unknown, *checked.errors):
            message = "has no text" if complaint.path == "prompt" else complaint.message
            raise DefinitionError(message, file=file, field=complaint.path)
        assert checked.value is not None  # without complaints there is one
        shape = checked.value
        try:
            every = self._every if shape.every is None else interval_of(shape.every)
        except RetinueError as error:
            raise DefinitionError(error.message, file=file, field="every") from error
        watch = None
        if shape.watch is not None:
            watch = msgspec.convert(shape.watch.model_dump(), Watch)
            check_watch(watch)
        return HeartbeatTask(
            id=path.stem,
            title=shape.title or _heading(shape.prompt) or path.stem,
            prompt=shape.prompt,
            every=every,
            watch=watch,
        )


def _order(task: HeartbeatTask) -> tuple[str, str]:
    return task.title.casefold(), task.id


def _shown(name: str) -> str:
    return f"heartbeat/{name}"


def _heading(prompt: str) -> str:
    first = prompt.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""
