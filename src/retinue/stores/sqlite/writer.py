"""The writer thread: all waiting operations share one transaction and one sync."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

from retinue.agents.descriptor import identity_of
from retinue.errors import RetinueError, StoreDamagedError, StoreFullError
from retinue.failpoints import IS_ARMED, reach
from retinue.stores.port import NO_EFFECTS, Change, Commit, NewAgent, Post
from retinue.stores.sqlite.artifact_writes import KnownArtifacts
from retinue.stores.sqlite.batch import Batch, prepare
from retinue.stores.sqlite.database_file import connect, store_error
from retinue.stores.sqlite.group import Group, Loaders
from retinue.stores.sqlite.preconditions import KnownKeys
from retinue.stores.sqlite.queries import READING, WRITING
from retinue.stores.sqlite.requests import KnownRequests
from retinue.stores.sqlite.restore import stored_identity, stored_keys
from retinue.stores.sqlite.rows import item_of
from retinue.stores.sqlite.schedules import KnownSchedules
from retinue.stores.sqlite.write_operations import (
    Admit,
    Apply,
    Checkpoint,
    Claim,
    Create,
    DeleteAgent,
    Execute,
    Fire,
    Restore,
    RestoreAll,
    ScheduleOperation,
    SettleRequest,
    WriteOperation,
)
from retinue.stores.sqlite.writer_cache import Counters, WriterCache

_GROUP = 1024
_PRUNE = 4096
_ALONE = (DeleteAgent, RestoreAll)  # run in a transaction of their own

Outcome = tuple[WriteOperation, object, BaseException | None]
Settle = Callable[[Sequence[Outcome], Sequence[Change]], None]

_encode = msgspec.json.encode


def _reach(operations: Sequence[WriteOperation], point: str) -> None:
    for operation in operations:
        reach(f"{operation.name}:{point}")


class Needs:
    """The rows that a group must load before it can be computed."""

    def __init__(self, operations: Sequence[WriteOperation], warm: WriterCache) -> None:
        self._warm = warm
        self.ids: set[str] = set()
        self.identities: set[tuple[str, str]] = set()
        self.keys: set[tuple[str, str]] = set()
        self.schedules: list[ScheduleOperation] = []
        self.requests: set[str] = set()
        self.asking: set[str] = set()  # agents whose pending requests are needed
        for operation in operations:
            if not (isinstance(operation, Apply) and self._is_plain(operation.commit)):
                self._add(operation)

    def _is_plain(self, commit: Commit) -> bool:
        """Whether the commit affects only its own, cached agent: the common case."""
        if commit.agent_id not in self._warm or commit.begins is not None:
            return False
        effects = commit.effects
        return effects is NO_EFFECTS or not (
            effects.items or effects.creates or effects.redescribed or effects.voids
        )

    def _add(self, operation: WriteOperation) -> None:
        match operation:
            case Apply(commit=commit):
                self._add_commit(commit)
            case Admit(post=post):
                self._add_post(post)
            case Create(new=new):
                self._add_new(new)
            case (
                Claim(agent_id=agent_id)
                | DeleteAgent(agent_id=agent_id)
                | Execute(agent_id=str(agent_id))
            ):
                self.ids.add(agent_id)
            case Restore(stored=stored):
                self.ids.add(stored.id)
                self.identities.add((stored.owner, stored_identity(stored)))
                self.keys.update((stored.owner, key) for key in stored_keys(stored))
            case SettleRequest(agent_id=agent_id, decision=decision, notices=notices):
                self.ids.add(agent_id)
                self.requests.add(decision.request_id)
                for post, _ in notices:
                    self._add_post(post)
            case ScheduleOperation():
                self.schedules.append(operation)
                if isinstance(operation, Fire):
                    for post, _ in operation.posts:
                        self._add_post(post)
            case _:
                pass

    def _add_commit(self, commit: Commit) -> None:
        if commit.agent_id not in self._warm:
            self.ids.add(commit.agent_id)
        effects = commit.effects
        for voiding in effects.voids:
            self.asking.add(commit.agent_id)
            self.requests.update(voiding.requests or ())
        if commit.begins is not None:
            self._add_post(commit.begins)
        for post in effects.items:
            self._add_post(post)
        for new in effects.creates:
            self._add_new(new)
        for new in effects.redescribed:
            self.ids.add(new.agent_id)
            self.identities.add((new.owner, identity_of(new.descriptor)))

    def _add_post(self, post: Post) -> None:
        if isinstance(post.to, NewAgent):
            self._add_new(post.to)
        elif post.to not in self._warm:
            self.ids.add(post.to)
        key = post.item.dedupe_key
        if key is not None:
            self.keys.add((post.owner, key))

    def _add_new(self, new: NewAgent) -> None:
        self.ids.add(new.id)
        self.identities.add((new.owner, identity_of(new.descriptor)))


class Writer:
    """Owns the only connection that writes to the database."""

    def __init__(
        self,
        data: Path,
        connection: sqlite3.Connection,
        settle: Settle,
        *,
        changes_kept: int,
        has_index: bool,
    ) -> None:
        self._data = data
        self._connection = connection
        self._settle = settle
        self._changes_kept = changes_kept
        self._has_index = has_index
        self._waiting: SimpleQueue[WriteOperation | None] = SimpleQueue()
        self._warm = WriterCache()
        self._counters = self._read_counters()
        prepare(connection)
        for row in connection.execute(WRITING["load_set_aside"]):
            self._warm.set_aside(*row)
        self._thread = threading.Thread(target=self._run, name="retinue-store", daemon=True)
        self.groups = 0  # number of transactions

    def start(self) -> None:
        self._thread.start()

    def submit(self, operation: WriteOperation) -> None:
        self._waiting.put(operation)

    def stop(self) -> None:
        """Finish waiting operations, end the thread, and mark the shutdown as clean."""
        self._waiting.put(None)
        self._thread.join()
        try:
            self._connection.execute(WRITING["set_meta"], ("clean", "1"))
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error:
            pass  # the disk is full: the next start treats this as a crash, which is safe
        finally:
            self._connection.close()

    # -- the thread

    def _run(self) -> None:
        is_open = True
        held: WriteOperation | None = None
        while is_open:
            first = held or self._waiting.get()
            held = None
            if first is None:
                break
            operations = [first]
            while len(operations) < _GROUP:
                try:
                    following = self._waiting.get_nowait()
                except Empty:
                    break
                if following is None:
                    is_open = False
                    break
                if isinstance(following, _ALONE) or isinstance(first, _ALONE):
                    held = following
                    break
                operations.append(following)
            self._process(operations)
        if held is not None:
            self._process([held])

    def _process(self, operations: Sequence[WriteOperation]) -> None:
        if IS_ARMED:
            _reach(operations, "before")
        try:
            outcomes, changes = self._attempt(operations)
        except Exception as error:  # noqa: BLE001  (the thread must survive and answer all)
            self._forget()
            cause = error if isinstance(error, RetinueError) else store_error(error, self._data)
            if len(operations) > 1 and not isinstance(cause, StoreFullError | StoreDamagedError):
                for operation in operations:
                    self._process([operation])
                return
            cause.__cause__ = None if cause is error else error
            outcomes, changes = [(operation, None, cause) for operation in operations], []
        else:
            if IS_ARMED:
                _reach(operations, "after")
        self._settle(outcomes, changes)

    def _attempt(self, operations: Sequence[WriteOperation]) -> tuple[list[Outcome], list[Change]]:
        connection = self._connection
        match operations:
            case [RestoreAll() as restoring]:
                return self._restore_all(restoring)
            case _:
                group = self._group(operations)
        outcomes: list[Outcome] = []
        has_checkpoint = False
        for operation in operations:
            try:
                outcomes.append((operation, group.run(operation), None))
            except (RetinueError, UnicodeError, msgspec.MsgspecError) as error:
                outcomes.append((operation, None, error))
            has_checkpoint = has_checkpoint or isinstance(operation, Checkpoint)
        if not group.batch.is_empty:
            self._commit(group.batch, operations)
            self.groups += 1
        if has_checkpoint:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        changes = group.changes()
        self._warm.trim(group.used())
        return outcomes, changes

    def _restore_all(self, operation: RestoreAll) -> tuple[list[Outcome], list[Change]]:
        """Write each agent as it is read; an error rolls all of them back."""
        changes: list[Change] = []
        self._connection.execute("BEGIN IMMEDIATE")
        for stored in operation.agents:
            one = Restore(None, stored)
            group = self._group([one])
            group.run(one)
            group.batch.write(self._connection)
            changes += group.changes()
            self._warm.trim(group.used())
        self._prune()
        if IS_ARMED:
            _reach([operation], "written")
        self._connection.execute("COMMIT")
        self.groups += 1
        return [(operation, None, None)], changes

    def _group(self, operations: Sequence[WriteOperation]) -> Group:
        """Start a group with everything these operations refer to loaded."""
        connection = self._connection
        needs = Needs(operations, self._warm)
        if needs.ids or needs.identities:
            self._warm.load(connection, needs.ids, needs.identities)
        return Group(
            self._warm,
            self._counters,
            self._known_keys(needs.keys),
            Loaders(
                schedules=lambda: KnownSchedules(connection, needs.schedules),
                requests=lambda: KnownRequests(connection, needs.requests, needs.asking),
                artifacts=lambda: KnownArtifacts(connection, has_index=self._has_index),
            ),
        )

    def _commit(self, batch: Batch, operations: Sequence[WriteOperation]) -> None:
        """Write the group to disk; a single statement is its own transaction."""
        connection = self._connection
        is_single = not (batch.is_unusual or self._has_old_changes or IS_ARMED)
        if is_single:
            batch.write(connection)
            return
        connection.execute("BEGIN IMMEDIATE")
        batch.write(connection)
        self._prune()
        if IS_ARMED:
            _reach(operations, "written")
        connection.execute("COMMIT")

    def _known_keys(self, wanted: set[tuple[str, str]]) -> KnownKeys:
        keys = KnownKeys()
        if wanted:
            rows = self._connection.execute(
                WRITING["load_keys"], (_encode(list(wanted)).decode(),)
            ).fetchall()
            for row in rows:
                keys.take(row[13], row[14], item_of(row), row[15])
            self._warm.load(self._connection, {row[2] for row in rows}, set())
        return keys

    @property
    def _has_old_changes(self) -> bool:
        """Whether enough changes are old enough to prune."""
        old = self._counters.cursor - self._changes_kept - self._counters.floor
        return old >= (_PRUNE if self._changes_kept >= _PRUNE else 1)

    def _prune(self) -> None:
        if self._has_old_changes:
            oldest = self._counters.cursor - self._changes_kept
            self._connection.execute(WRITING["prune_changes"], (oldest,))
            self._connection.execute(WRITING["set_meta"], ("feed_floor", str(oldest)))
            self._counters.floor = oldest

    def _read_counters(self) -> Counters:
        agent, item, cursor = self._connection.execute(WRITING["load_counters"]).fetchone()
        _, floor = self._connection.execute(READING["feed_bounds"]).fetchone()
        return Counters(agent, item, max(cursor, floor), floor)

    def _forget(self) -> None:
        """Drop all cached data after a failure, as only the disk is reliable."""
        self._warm.clear()
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self._counters = self._read_counters()
        except sqlite3.Error:
            self._reopen()

    def _reopen(self) -> None:
        try:
            connection = connect(self._data, is_writer=True)
            prepare(connection)
        except (sqlite3.Error, OSError):
            return
        self._connection.close()
        self._connection = connection
        self._counters = self._read_counters()
