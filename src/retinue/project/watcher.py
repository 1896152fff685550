"""The one place that looks at a project's files: it publishes a snapshot whenever they change."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from retinue.clock import Clock
from retinue.definitions.catalog import Catalog
from retinue.problems import LoadProblem
from retinue.project.file_stamps import FileStamp
from retinue.project.reader import ProjectFiles, ProjectReader
from retinue.project.snapshot import ProjectSnapshot
from retinue.tools.combined_tools import combined_tools
from retinue.tools.execution import describe
from retinue.tools.port import Tool, Toolbox
from retinue.tools.threads import in_thread

logger = logging.getLogger(__name__)

WATCH_SECONDS = 1.0
PATIENCE_SECONDS = 5.0
"""How long a door waits for a file that takes long to load; then the last snapshot serves."""

THREAD = "watch project"

Listener = Callable[[ProjectSnapshot], None]


class ProjectWatcher:
    """Reads in a thread, one look at a time; everybody else reads `current` from memory."""

    def __init__(
        self, reader: ProjectReader, *, clock: Clock, live: Sequence[Toolbox] = ()
    ) -> None:
        """`live` are tools that do not come from files: of servers, of the embedding program."""
        self._reader = reader
        self._clock = clock
        self._live = live
        self._own: Mapping[str, Tool] = {}  # the engine's
        self._snapshot: ProjectSnapshot | None = None
        self._files: ProjectFiles | None = None
        self._watched = reader.watched()
        self._stamps: Mapping[str, FileStamp] = {}
        self._listings: Sequence[Mapping[str, Tool]] = ()  # of the live ones
        self._live_problems: tuple[LoadProblem, ...] = ()
        self._failures: tuple[LoadProblem, ...] = ()  # of sources that could not be listed
        self._listeners: list[Listener] = []
        self._running: asyncio.Task[None] | None = None
        self._next: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._keeps = False

    @property
    def current(self) -> ProjectSnapshot:
        """The last snapshot; there is one after the first `look`."""
        assert self._snapshot is not None
        return self._snapshot

    async def look(self) -> ProjectSnapshot:
        """Take up what changed by now; those who ask at the same time share one look."""
        task = self._begun()
        if self._snapshot is None:
            await asyncio.shield(task)
        else:
            await asyncio.wait({task}, timeout=PATIENCE_SECONDS)
        return self.current

    async def catalog_with(self, definition: str | None) -> Catalog:
        """The definitions; the files are looked at only when one of this name is unknown."""
        catalog = self.current.catalog
        if definition is None or definition in catalog.generation.definitions:
            return catalog
        return (await self.look()).catalog

    def look_soon(self) -> None:
        """Take up, without waiting for it, that a server's tools changed."""
        if self._snapshot is not None:
            self._begun()

    def adopt(self, tools: Mapping[str, Tool]) -> None:
        """Add the engine's own tools, which come before all others."""
        self._own = tools
        if self._files is not None:
            self._publish(self._files)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call this with each new snapshot, until the returned function is called."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def start(self) -> None:
        """Begin to watch, and to keep copies of the last good versions."""
        self._keeps = True
        self._watching = asyncio.create_task(self._watch())

    async def stop(self) -> None:
        tasks = [one for one in (self._watching, self._running, self._next) if one is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self) -> None:
        await in_thread(self._reader.keep, name=THREAD)
        while True:
            await self._clock.sleep(WATCH_SECONDS)
            if self._problems_now() != self._live_problems or await in_thread(
                self._has_changed, name=THREAD
            ):
                await self.look()

    def _has_changed(self) -> bool:
        return self._watched.stamps() != self._stamps

    def _begun(self) -> "asyncio.Task[None]":
        """The next look: one that runs already may have missed what the caller knows of."""
        if self._next is None or self._next.done():
            self._next = asyncio.create_task(self._look_after(self._running))
        return self._next

    async def _look_after(self, running: "asyncio.Task[None] | None") -> None:
        if running is not None and not running.done():
            await asyncio.wait({running})
        self._running, self._next = self._next, None
        try:
            await self._look()
        except Exception:
            if self._snapshot is None:
                raise
            logger.exception("the project's files could not be read")

    async def _look(self) -> None:
        listings, failures = await self._listed()
        is_same = len(listings) == len(self._listings) and all(
            new is old for new, old in zip(listings, self._listings, strict=True)
        )

        def read() -> ProjectFiles | None:
            stamps = self._watched.stamps()
            if self._files is not None and is_same and stamps == self._stamps:
                return None
            files = self._reader.read(listings)
            self._watched = self._reader.watched()
            # What was there before the read, and the scripts that are known only now.
            self._stamps = {**replace(self._watched, projects=()).stamps(), **stamps}
            return files

        files = await in_thread(read, name=THREAD)
        problems = self._problems_now()
        has_news = (problems, failures) != (self._live_problems, self._failures)
        self._listings, self._live_problems, self._failures = listings, problems, failures
        known = files or self._files
        assert known is not None
        if self._files is None or has_news or not is_same or not known.is_same_as(self._files):
            self._publish(known)
        if files is not None and self._keeps:
            await in_thread(self._reader.keep, name=THREAD)

    async def _listed(self) -> tuple[Sequence[Mapping[str, Tool]], tuple[LoadProblem, ...]]:
        """The live tools; a source that fails takes no other along."""
        listings: list[Mapping[str, Tool]] = []
        failures: list[LoadProblem] = []
        for source in self._live:
            try:
                listings.append(await source.tools())
            except Exception as error:  # noqa: BLE001  (a source may raise anything)
                name = type(source).__name__
                message = f"{name}: cannot list tools: {describe(error)}"
                failures.append(LoadProblem(message=message))
        return listings, tuple(failures)

    def _problems_now(self) -> tuple[LoadProblem, ...]:
        return tuple(problem for source in self._live for problem in source.problems())

    def _publish(self, files: ProjectFiles) -> None:
        tools, clashes = combined_tools([self._own, *files.earlier, *self._listings, *files.later])
        before = self._snapshot
        snapshot = ProjectSnapshot(
            revision=1 if before is None else before.revision + 1,
            catalog=files.catalog,
            tools=tools,
            plugins=files.plugins,
            plugin_skills=files.plugin_skills,
            skills=files.skills,
            heartbeat=files.heartbeat,
            problems=(
                *files.catalog.errors(),
                *files.plugin_problems,
                *files.skill_problems,
                *files.tool_problems,
                *self._live_problems,
                *self._failures,
                *clashes,
            ),
            plugin_problems=files.plugin_problems,
            skill_problems=files.skill_problems,
        )
        self._files, self._snapshot = files, snapshot
        for listener in list(self._listeners):
            listener(snapshot)
