"""Keeps the agents' folders in sync with the store, in a thread of its own.

The store's listener records which agents changed; rounds write them. An agent is written at most
a few times per second, and within one second of its commit, or four under heavy load, which leaves
more time to the agents. `mirror.json` stores the cursor up to which everything is on disk, so a
start only looks at later changes.
"""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Protocol

import msgspec

from retinue.failpoints import reach
from retinue.ids import AgentId, OwnerId
from retinue.repeated_log import RepeatedLog
from retinue.stores.agent_export import StoredAgent, WholeReader
from retinue.stores.folders.artifact_files import ArtifactFiles
from retinue.stores.folders.atomic_files import (
    append,
    put_in_place,
    spare_of,
    sync_file_system,
    sync_paths,
    write_spare,
)
from retinue.stores.folders.layout import (
    AGENTS,
    DESCRIPTOR,
    FATES,
    HISTORY,
    STATE,
    agent_folder,
    move_fates,
    repair_tail,
    state_file,
)
from retinue.stores.folders.removal import remove_folder
from retinue.stores.folders.schedule_file import schedule_file
from retinue.stores.folders.variable_file import variable_file
from retinue.stores.port import NOBODY, Change
from retinue.stores.schedule_port import ScheduleStore
from retinue.stores.variable_port import VariableStore

logger = logging.getLogger(__name__)

_SHORTEST_PAUSE = 0.2
_LONGEST_PAUSE = 0.7
_BUSY_PAUSE = 3.5  # after a long round, so that the mirror does not slow down the agents
_BUSY_SECONDS = 0.05
_FEW = 8  # agents whose files are synced one by one; more share one sync
_CHUNK = 512
_LAST_SECONDS = 3.0  # of writing after a stop; the next start writes the rest
_KNOWN = 20_000  # agents whose last lines are cached
_VERSION = 2  # of the folders: those of an older version are written again


class MirroredStore(Protocol):
    """The store operations that the mirror uses."""

    @property
    def data_dir(self) -> Path: ...

    def whole_reader(self) -> WholeReader: ...

    def listen(self, listener: Callable[[Sequence[Change]], None]) -> Callable[[], None]: ...

    @property
    def schedules(self) -> ScheduleStore: ...

    @property
    def variables(self) -> VariableStore: ...


_Tails = tuple[int | None, int | None]
"""The last seq in `history.jsonl` and in `fates.jsonl`; None if the last line has none."""


class _Written:
    """Files written in a round that are not durable yet."""

    def __init__(self) -> None:
        self.replaced: list[str] = []  # their spares are written
        self.appended: list[str] = []

    def add(self, other: "_Written") -> None:
        self.replaced += other.replaced
        self.appended += other.appended


class MirrorFile(msgspec.Struct, kw_only=True, rename="camel"):
    """`mirror.json`."""

    cursor: int
    offsets: dict[str, str] = {}
    v: int = _VERSION


def read_mirror_file(data: Path) -> MirrorFile | None:
    try:
        return msgspec.json.decode((data / "mirror.json").read_bytes(), type=MirrorFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


class Mirror:
    """Mirrors one store."""

    def __init__(self, store: MirroredStore) -> None:
        self._store = store
        self._data = store.data_dir
        self._agents = str(store.data_dir / AGENTS)
        self._lock = threading.Lock()
        self._changed: set[AgentId] = set()
        self._deleted: set[AgentId] = set()
        self._wake = threading.Event()
        self._is_stopping = False
        self._undo: list[Callable[[], None]] = []
        self._schedules = schedule_file(store.data_dir)
        self._variables = variable_file(store.data_dir)
        self._artifacts = ArtifactFiles(store.data_dir)
        self._thread: threading.Thread | None = None
        self._tails: dict[AgentId, _Tails] = {}
        self._has_caught_up = False
        self._noted = 0  # the cursor up to which every change has been added to the sets
        self._reached = 0  # the cursor of the previous round
        self._durable = 0  # the cursor up to which everything survives a power cut
        self._is_settled = True  # whether the files put in place last are durable
        self._problem = ""
        self._trouble = RepeatedLog(
            logger,
            "the agents' folders are behind the store",
            over="the agents' folders are in sync with the store again",
        )
        self.rounds = 0

    @property
    def problem(self) -> str:
        """Why the folders are behind, or an empty string."""
        return self._problem

    async def start(self) -> None:
        """Start following the store; the backlog is written in the background."""
        self._undo = [
            self._store.listen(self._note),
            self._store.schedules.listen(self._note_schedules),
            self._store.variables.listen(self._note_variables),
        ]
        self._thread = threading.Thread(target=self._run, name="retinue-mirror", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        """Write what is left; call this before the store is closed."""
        for undo in self._undo:
            undo()
        self._is_stopping = True
        self._wake.set()
        if self._thread is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _note(self, changes: Sequence[Change]) -> None:
        with self._lock:
            for change in changes:
                # The latest change wins.
                if change.agent_id == NOBODY:
                    self._artifacts.is_behind = True
                elif change.is_deleted:
                    self._changed.discard(change.agent_id)
                    self._deleted.add(change.agent_id)
                else:
                    self._deleted.discard(change.agent_id)
                    self._changed.add(change.agent_id)
            self._noted = max(self._noted, changes[-1].cursor)
        self._wake.set()

    def _note_schedules(self, _: OwnerId) -> None:
        self._schedules.is_behind = True
        self._wake.set()

    def _note_variables(self, _: OwnerId) -> None:
        self._variables.is_behind = True
        self._wake.set()

    # -- the thread

    def _run(self) -> None:
        reader = self._store.whole_reader()
        try:
            with suppress(Exception):  # the first round retries and reports the error
                self._catch_up(reader)
                self._follow_others(reader)
            if self._changed or self._deleted or not self._has_caught_up:
                self._wake.set()
            while True:
                self._wake.wait(None if self._is_settled else _LONGEST_PAUSE)
                self._wake.clear()
                is_last = self._is_stopping  # read after clear(): a later stop sets the event again
                started = time.monotonic()
                self._round(reader, is_last=is_last)
                if is_last:
                    return
                spent = time.monotonic() - started
                if not self._is_stopping:
                    self._sleep(_pause_after(spent))
        finally:
            reader.close()

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._is_stopping and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _catch_up(self, reader: WholeReader) -> None:
        """Queue the agents that changed since the last run, or all if that is unknown."""
        file = read_mirror_file(self._data)
        touched = None
        cursor = reader.cursor()  # before reading: later commits reach the listener
        if file is not None and file.v == _VERSION:
            self._reached = self._durable = file.cursor
            touched = reader.touched(file.cursor)
        changed = reader.ids() if touched is None else touched.changed
        with self._lock:
            self._noted = max(self._noted, cursor)
            self._changed.update(changed)
            self._deleted |= touched.deleted if touched is not None else set()
        self._has_caught_up = True

    def _round(self, reader: WholeReader, *, is_last: bool) -> None:
        changed: set[AgentId] = set()
        deleted: set[AgentId] = set()
        reach("mirror:before")
        try:
            if not self._has_caught_up:
                self._catch_up(reader)
            with self._lock:
                changed, deleted, noted = self._changed, self._deleted, self._noted
                self._changed, self._deleted = set(), set()
            cursor = reader.cursor()
            for agent_id in deleted:
                self._remove(agent_id)
            self._follow_others(reader)
            was_idle = not changed
            self._write(reader, changed, cursor)
            if changed:
                return  # stopping: the next start continues from the last cursor
            if is_last or was_idle:
                self._settle()
            # Not the reader's cursor: it may include changes not yet noted when the round began.
            self._remember(noted, dict(reader.offsets()))
            if self._problem:
                self._problem = ""
                self._trouble.clear()
            self.rounds += 1
        except Exception as error:  # noqa: BLE001  the thread must survive, or the mirror stops
            self._problem = f"the agents' folders are behind the store: {error}"
            self._trouble.report(error)
            self._tails.clear()
            with self._lock:
                self._changed |= changed
                self._deleted |= deleted
            time.sleep(_LONGEST_PAUSE)
            if not self._is_stopping:
                self._wake.set()
        reach("mirror:after")

    def _follow_others(self, reader: WholeReader) -> None:
        for file in (self._schedules, self._variables):
            if file.is_behind:
                file.follow(reader)
        if self._artifacts.is_behind:
            self._artifacts.follow(reader.artifacts)

    def _write(self, reader: WholeReader, changed: set[AgentId], cursor: int) -> None:
        """Write the agents and remove them from the set; on a stop, stops after a few seconds."""
        stopping_since: float | None = None
        while changed:
            if self._is_stopping:
                stopping_since = stopping_since or time.monotonic()
                if time.monotonic() - stopping_since > _LAST_SECONDS:
                    return
            chunk = list(islice(changed, _CHUNK))
            self._write_agents(reader, chunk, cursor)
            changed.difference_update(chunk)

    def _write_agents(self, reader: WholeReader, agent_ids: Sequence[AgentId], cursor: int) -> None:
        """Write all contents, sync them together, then put them in place.

        With many agents the last step becomes durable only with the next full sync.
        """
        is_few = len(agent_ids) <= _FEW
        written = _Written()
        with reader.snapshot():
            for agent_id in agent_ids:
                written.add(self._write_agent(reader, agent_id, cursor))
        reach("mirror:written")
        folders = {os.path.dirname(path) for path in written.replaced}  # noqa: PTH120
        if is_few and self._is_settled:
            sync_paths(spare_of(path) for path in written.replaced)
            sync_paths(written.appended)
        else:
            sync_file_system(str(self._data))
            self._durable = self._reached
        self._is_settled = False
        for path in written.replaced:
            put_in_place(path)
        if is_few:
            sync_paths([*folders, self._agents])
            self._is_settled = True

    def _write_agent(self, reader: WholeReader, agent_id: AgentId, cursor: int) -> _Written:
        folder = f"{self._agents}/{agent_id}"
        tails = self._tails.get(agent_id)
        is_first = tails is None
        if tails is None:
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            tails = repair_tail(f"{folder}/{HISTORY}"), repair_tail(f"{folder}/{FATES}")
        stored = reader.read(agent_id, after=tails[0] or 0, settled=tails[1] or 0)
        if stored is None:
            return _Written()  # deleted meanwhile; the feed reports it
        if not _match_store(stored, tails):
            stored = self._start_over(reader, folder, stored)
        written = _Written()
        if stored.history:
            written.appended.append(f"{folder}/{HISTORY}")
            append(f"{folder}/{HISTORY}", stored.history)
        stored, lines = move_fates(stored)
        if lines:
            written.appended.append(f"{folder}/{FATES}")
            append(f"{folder}/{FATES}", lines)
        if len(self._tails) >= _KNOWN:
            self._tails.clear()
        self._tails[agent_id] = stored.last_seq, stored.settled
        written.replaced.append(f"{folder}/{STATE}")
        write_spare(f"{folder}/{STATE}", state_file(stored, cursor))
        if _lacks_descriptor(folder, stored, is_first=is_first):
            written.replaced.append(f"{folder}/{DESCRIPTOR}")
            write_spare(f"{folder}/{DESCRIPTOR}", stored.descriptor + b"\n")
        return written

    def _start_over(self, reader: WholeReader, folder: str, stored: StoredAgent) -> StoredAgent:
        """Set aside history files that do not match the store, and write them again."""
        for name in (HISTORY, FATES):
            with suppress(FileNotFoundError):
                Path(folder, name).replace(f"{folder}/{name}.aside-{time.monotonic_ns():x}")
        logger.warning("history set aside", extra={"action": "mirror", "agent_id": stored.id})
        return reader.read(stored.id, after=0) or stored

    def _remove(self, agent_id: AgentId) -> None:
        self._tails.pop(agent_id, None)
        try:
            remove_folder(agent_folder(self._data, agent_id))
        except OSError as error:
            logger.warning("folder not removed", extra={"agent_id": agent_id, "error": str(error)})

    def _settle(self) -> None:
        """Sync the files put in place last, so that the next start need not check them."""
        if not self._is_settled:
            sync_file_system(str(self._data))
            self._is_settled = True

    def _remember(self, cursor: int, offsets: dict[str, str]) -> None:
        self._reached = cursor
        if self._is_settled:
            self._durable = cursor
        file = MirrorFile(cursor=self._durable, offsets=offsets)
        path = str(self._data / "mirror.json")
        write_spare(path, msgspec.json.encode(file) + b"\n")
        put_in_place(path)


def _pause_after(spent: float) -> float:
    """The pause after a round of this duration, in seconds."""
    if spent >= _BUSY_SECONDS:
        return _BUSY_PAUSE
    return min(max(_SHORTEST_PAUSE, 10 * spent), _LONGEST_PAUSE)


def _lacks_descriptor(folder: str, stored: StoredAgent, *, is_first: bool) -> bool:
    """Whether the descriptor must be written; only that of a permanent agent changes."""
    file = Path(folder, DESCRIPTOR)
    if b'"type":"permanent"' in stored.descriptor:
        return not file.exists() or file.read_bytes().strip() != stored.descriptor.strip()
    return is_first and not file.exists()


def _match_store(stored: StoredAgent, tails: _Tails) -> bool:
    """Whether the lines match the store: it has at least as many, all numbered."""
    history, fates = tails
    if history is None or fates is None:
        return False
    return history <= stored.last_seq and fates <= stored.last_item
