"""The tasks in `heartbeat/*.md`; a file that does not load keeps its last good version."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import ClassVar

import msgspec

from retinue.agents.watch import Watch, check_watch
from retinue.definitions.formats import read_markdown
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


Stamp = tuple[int, int]


class HeartbeatFiles:
    """Follows the folder; looking is cheap while nothing changes."""

    def __init__(self, project_dir: Path, every: timedelta) -> None:
        self._folder = project_dir / "heartbeat"
        self._every = every
        self._stamps: dict[str, Stamp] = {}
        self._good: dict[str, HeartbeatTask] = {}
        self._problems: dict[str, TaskProblem] = {}
        self.revision = 0  # grows when something was read anew

    @property
    def tasks(self) -> Sequence[HeartbeatTask]:
        """By title, then by id."""
        return sorted(self._good.values(), key=lambda task: (task.title.casefold(), task.id))

    @property
    def problems(self) -> Sequence[TaskProblem]:
        return [self._problems[name] for name in sorted(self._problems)]

    def has_news(self) -> bool:
        return self._look() != self._stamps

    def refresh(self) -> None:
        """Read what changed."""
        stamps = self._look()
        self.revision += stamps != self._stamps
        for name in [name for name in self._stamps if name not in stamps]:
            self._good.pop(name, None)
            self._problems.pop(name, None)
        for name in [name for name in stamps if self._stamps.get(name) != stamps[name]]:
            self._read(name)
        self._stamps = stamps

    def _look(self) -> dict[str, Stamp]:
        stamps: dict[str, Stamp] = {}
        try:
            for path in self._folder.glob("*.md"):
                facts = path.stat()
                stamps[path.name] = (facts.st_mtime_ns, facts.st_size)
        except OSError:
            return self._stamps  # it is being changed: look again later
        return stamps

    def _read(self, name: str) -> None:
        try:
            self._good[name] = self._task(self._folder / name)
            self._problems.pop(name, None)
        except (RetinueError, OSError, UnicodeDecodeError) as error:
            self._problems[name] = TaskProblem(
                file=f"heartbeat/{name}",
                message=str(error),
                is_using_last_good=name in self._good,
            )

    def _task(self, path: Path) -> HeartbeatTask:
        file = f"heartbeat/{path.name}"
        if path.stat().st_size > _LARGEST:
            raise DefinitionError(f"is larger than {_LARGEST} bytes", file=file)
        text = clean_text(path.read_bytes().decode("utf-8-sig"))
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


def _heading(prompt: str) -> str:
    first = prompt.lstrip().partition("\n")[0]
    return first.lstrip("# ").strip() if first.startswith("#") else ""
