"""The embedded store."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from retinue.agents.descriptor import Descriptor, identity_of
from retinue.agents.inbox import Item
from retinue.agents.state import encode_state
from retinue.clock import Clock, SystemClock, to_microseconds
from retinue.errors import StoreError, StoreFullError, UsageError
from retinue.ids import AgentId, ItemId, OwnerId, new_id
from retinue.records import AnyRecord, encode_record
from retinue.stores.agent_export import StoredAgent
from retinue.stores.port import (
    NO_EFFECTS,
    Agent,
    AgentPage,
    AgentQuery,
    AuditEntry,
    AuditLine,
    Change,
    Commit,
    Committed,
    Delivery,
    NewAgent,
    Offset,
    Post,
    Receipt,
    Snapshot,
    StoreFacts,
    Waking,
)
from retinue.stores.sqlite import reader
from retinue.stores.sqlite.access import Access, Listeners
from retinue.stores.sqlite.artifacts import SqliteArtifacts, prepare_index
from retinue.stores.sqlite.checkpoints import Checkpoints
from retinue.stores.sqlite.database_file import (
    DATABASE,
    DirectoryLock,
    connect,
    make_directory,
    migrate,
    store_error,
)
from retinue.stores.sqlite.export_reader import SqliteWholeReader
from retinue.stores.sqlite.queries import READING, WRITING
from retinue.stores.sqlite.reader import Readers
from retinue.stores.sqlite.requests import SqliteRequests
from retinue.stores.sqlite.rows import Row, audit_entry, delivery_of
from retinue.stores.sqlite.schedules import SqliteSchedules
from retinue.stores.sqlite.usage import SqliteUsage
from retinue.stores.sqlite.variables import SqliteVariables
from retinue.stores.sqlite.write_operations import (
    Admit,
    Apply,
    Claim,
    Create,
    DeleteAgent,
    Execute,
    Restore,
    RestoreAll,
    SetAside,
    SkipTo,
    WriteOperation,
)
from retinue.stores.sqlite.writer import Outcome, Writer
from retinue.stores.sqlite.writer_cache import Claimed

Listener = Callable[[Sequence[Change]], None]
T = TypeVar("T")

_REFUSAL_SECONDS = 3.0  # longer than the engine waits before it retries a refused commit
_encode = msgspec.json.Encoder().encode

_GIVEN_UP_KEPT = 30 * 24 * 3600 * 1_000_000  # microseconds


class SqliteStore:
    """Implements `Store` with one SQLite file that only this process opens."""

    def __init__(
        self, data_dir: Path, *, clock: Clock | None = None, changes_kept: int = 200_000
    ) -> None:
        self._data = Path(data_dir)
        self._clock = clock or SystemClock()
        self._changes_kept = changes_kept
        self._lock = DirectoryLock(self._data)
        self._listeners = Listeners[Sequence[Change]]()
        self._was_clean = True
        self._schema = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._writer: Writer | None = None
        self._readers: Readers | None = None
        self._checkpoints: Checkpoints | None = None
        self._refusal: StoreFullError | None = None
        self._refusal_counts_until = 0.0
        access = Access(self._future, self._write, self._read)
        self._schedules = SqliteSchedules(access)
        self._requests = SqliteRequests(access)
        self._variables = SqliteVariables(access)
        self._usage = SqliteUsage(self._read)
        self._artifacts = SqliteArtifacts(access)

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(None, self._open)

    def hold(self) -> None:
        """Lock the data directory before opening it or moving files in it."""
        try:
            make_directory(self._data)
            self._lock.take()
        except OSError as error:
            raise store_error(error, self._data) from error

    def _open(self) -> None:
        self.hold()
        try:
            connection = connect(self._data, is_writer=True)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, OSError) as error:
            self._lock.release()
            raise store_error(error, self._data) from error
        except BaseException:
            self._lock.release()
            raise

    def _prepare(self, connection: sqlite3.Connection) -> None:
        self._schema = migrate(connection, self._data)
        row = connection.execute(READING["meta"], ("clean",)).fetchone()
        self._was_clean = row is None or row[0] == "1"
        connection.execute(WRITING["set_meta"], ("clean", "0"))
        self._artifacts.has_index = prepare_index(connection)
        self._writer = Writer(
            self._data,
            connection,
            self._settle_later,
            changes_kept=self._changes_kept,
            has_index=self._artifacts.has_index,
        )
        self._readers = Readers(self._data)
        self._checkpoints = Checkpoints(self._data, self._writer)
        self._writer.start()

    async def close(self) -> None:
        if self._loop is not None and self._writer is not None:
            await self._loop.run_in_executor(None, self._close)

    def _close(self) -> None:
        writer, readers, checkpoints = self._writer, self._readers, self._checkpoints
        self._writer = self._readers = self._checkpoints = None
        if checkpoints is not None:
            checkpoints.stop()
        if readers is not None:
            readers.close()
        if writer is not None:
            writer.stop()
        self._lock.release()

    @property
    def was_clean(self) -> bool:
        return self._was_clean

    @property
    def schedules(self) -> SqliteSchedules:
        return self._schedules

    @property
    def requests(self) -> SqliteRequests:
        return self._requests

    @property
    def variables(self) -> SqliteVariables:
        return self._variables

    @property
    def artifacts(self) -> SqliteArtifacts:
        return self._artifacts

    @property
    def usage(self) -> SqliteUsage:
        return self._usage

    @property
    def data_dir(self) -> Path:
        return self._data

    def listen(self, listener: Listener) -> Callable[[], None]:
        return self._listeners.add(listener)

    # -- writing

    def admit(self, post: Post, *, offset: Offset | None = None) -> Awaitable[Receipt]:
        future = self._future()
        try:
            body = _encode(post.item.body)
        except UnicodeEncodeError as error:
            return _failed(future, error)
        return self._write(Admit(future, post, body, offset))

    async def create(self, new: NewAgent) -> tuple[Agent, bool]:
        return await self._write(Create(self._future(), new))

    async def claim(self, agent_id: AgentId) -> Snapshot:
        claimed: Claimed = await self._write(Claim(self._future(), agent_id))
        records = await self._read(
            reader.read_context, claimed.number, claimed.context_from, claimed.next_seq
        )
        return Snapshot(
            agent=claimed.agent,
            epoch=claimed.epoch,
            next_seq=claimed.next_seq,
            records=records,
            items=claimed.items,
        )

    def commit(self, commit: Commit) -> Awaitable[Committed]:
        future = self._future()
        try:
            state = None if commit.state is None else encode_state(commit.state)
            posts = () if commit.effects is NO_EFFECTS else commit.effects.items
            bodies = [_encode(post.item.body) for post in posts]
            begun = None if commit.begins is None else _encode(commit.begins.item.body)
            records = [encode_record(record) for record in commit.records]
        except UnicodeEncodeError as error:
            return _failed(future, error)
        return self._write(Apply(future, commit, state, records, bodies, begun))

    async def delete(self, owner: OwnerId, agent_id: AgentId) -> None:
        await self._write(DeleteAgent(self._future(), owner, agent_id))

    async def note(self, owner: OwnerId, agent_id: AgentId, line: AuditLine) -> None:
        at = to_microseconds(self._clock.now())
        detail = msgspec.json.encode(line.detail).decode()
        row = (agent_id, owner, at, line.action, detail)
        await self._execute("insert_audit", msgspec.json.encode([row]).decode())

    async def audited(
        self, owner: OwnerId, actions: Sequence[str], *, before: int | None, limit: int
    ) -> Sequence[AuditEntry]:
        wanted = msgspec.json.encode(actions).decode()
        rows = await self._rows("audited", owner, before, wanted, limit)
        return [audit_entry(row) for row in rows]

    # -- export and restore

    def whole_reader(self) -> SqliteWholeReader:
        return SqliteWholeReader(self._data)

    async def restore(self, stored: StoredAgent) -> Agent:
        return await self._write(Restore(self._future(), stored))

    async def restore_all(self, agents: Iterable[StoredAgent]) -> None:
        await self._write(RestoreAll(self._future(), agents))

    async def restore_feed(self, cursor: int, offsets: Mapping[str, str]) -> None:
        for source, value in offsets.items():
            await self._execute("set_offset", source, value)
        if cursor > await self.cursor():
            await self._write(SkipTo(self._future(), cursor))

    async def set_aside(
        self, agent_id: AgentId, *, owner: OwnerId | None, identity: str | None, reason: str
    ) -> None:
        await self._write(SetAside(self._future(), agent_id, owner, identity, reason))

    # -- reading

    async def agent(self, owner: OwnerId, agent_id: AgentId) -> Agent:
        return await self._read(reader.read_agent, owner, agent_id)

    async def find(self, owner: OwnerId, descriptor: Descriptor) -> Agent | None:
        identity = identity_of(descriptor)
        return await self._read(reader.read_one_agent, "agent_by_identity", owner, identity)

    async def agents(self, query: AgentQuery) -> AgentPage:
        return await self._read(reader.read_agents, query)

    async def item(self, owner: OwnerId, item_id: ItemId) -> tuple[Item, int]:
        return await self._read(reader.read_item, owner, item_id)

    async def open_items(self, owner: OwnerId, agent_id: AgentId) -> Sequence[Item]:
        return await self._read(reader.read_open_items, owner, agent_id)

    async def history(
        self, owner: OwnerId, agent_id: AgentId, *, after: int, limit: int
    ) -> Sequence[AnyRecord]:
        return await self._read(reader.read_history, owner, agent_id, after, limit)

    async def context(self, owner: OwnerId, agent_id: AgentId) -> Sequence[AnyRecord]:
        return await self._read(reader.read_current, owner, agent_id)

    async def record(self, owner: OwnerId, agent_id: AgentId, seq: int) -> AnyRecord | None:
        return await self._read(reader.read_record, owner, agent_id, seq)

    async def changes(
        self, owner: OwnerId, *, after: int, agent_id: AgentId | None, limit: int
    ) -> Sequence[Change] | None:
        return await self._read(reader.read_changes, owner, after, agent_id, limit)

    async def cursor(self) -> int:
        newest, floor = await self._row("feed_bounds")
        return max(newest, floor)

    async def most_recent_foreground(self, owner: OwnerId) -> Agent | None:
        return await self._read(reader.read_one_agent, "agent_by_last_user_input", owner)

    async def latest_conversation(
        self, owner: OwnerId, definition: str, *, excluding: Collection[AgentId]
    ) -> Agent | None:
        return await self._read(reader.read_latest, owner, definition, excluding)

    async def children(self, owner: OwnerId, agent_id: AgentId) -> Sequence[Agent]:
        return await self._read(reader.read_children, owner, agent_id)

    async def waking(self) -> Sequence[Waking]:
        rows = await self._rows("waking")
        return [(row[0], "foreground" if row[1] == "user" else "background") for row in rows]

    async def facts(self) -> StoreFacts:
        agents, items, deliveries = await self._row("facts")
        aside = await self._rows("set_aside")
        files = (self._data / f"{DATABASE}{suffix}" for suffix in ("", "-wal"))
        return StoreFacts(
            kind="sqlite",
            schema=self._schema,
            agents=agents,
            items_open=items,
            deliveries_open=deliveries,
            cursor=await self.cursor(),
            bytes=sum(file.stat().st_size for file in files if file.exists()),
            problems=[f"agent {row[0]} is set aside: {row[1]}" for row in aside],
        )

    async def check(self) -> None:
        await self._execute("set_meta", "check", new_id("check"))  # equal values write nothing
        # A small write may succeed while the writes of agents do not.
        if self._refusal is not None and self._clock.monotonic() < self._refusal_counts_until:
            raise self._refusal

    # -- outbox

    async def due_deliveries(self, now: datetime, limit: int) -> Sequence[Delivery]:
        rows = await self._rows("due_deliveries", to_microseconds(now), limit)
        return [delivery_of(row) for row in rows]

    async def delivered(self, delivery_id: int) -> None:
        await self._end_delivery("finish_delivery", delivery_id)

    async def delivery_failed(
        self, delivery_id: int, *, error: str, retry_at: datetime | None
    ) -> None:
        if retry_at is None:
            now = to_microseconds(self._clock.now())
            await self._end_delivery("give_up_delivery", delivery_id, error, now)
            await self._execute("prune_deliveries", now - _GIVEN_UP_KEPT)
        else:
            await self._execute("postpone_delivery", delivery_id, error, to_microseconds(retry_at))

    async def _end_delivery(self, statement: str, delivery_id: int, *parameters: object) -> None:
        row = await self._row("delivery_agent", delivery_id)
        if row is not None:  # otherwise it was deleted with its agent
            values = (delivery_id, *parameters)
            await self._write(Execute(self._future(), statement, values, row[0]))

    async def offset(self, source: str) -> str | None:
        row = await self._row("offset", source)
        return None if row is None else row[0]

    # -- access to the writer and the readers

    def _future(self) -> "asyncio.Future[Any]":
        if self._loop is None:
            raise StoreError("the store is not open")
        return self._loop.create_future()

    def _write(self, operation: WriteOperation) -> "asyncio.Future[Any]":
        if self._writer is None or operation.future is None:
            raise StoreError("the store is not open")
        self._writer.submit(operation)
        return operation.future

    async def _execute(self, statement: str, *parameters: object) -> None:
        await self._write(Execute(self._future(), statement, parameters))

    async def _read(self, query: Callable[..., T], *parameters: object) -> T:
        if self._readers is None:
            raise StoreError("the store is not open")
        return await self._readers.run(query, *parameters)

    async def _rows(self, name: str, *parameters: object) -> list[Row]:
        return await self._read(_fetch, READING[name], parameters)

    async def _row(self, name: str, *parameters: object) -> Any:
        rows = await self._rows(name, *parameters)
        return rows[0] if rows else None

    def _settle_later(self, outcomes: Sequence[Outcome], changes: Sequence[Change]) -> None:
        """Runs in the writer thread: one call to the event loop per group."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._settle, outcomes, changes)

    def _settle(self, outcomes: Sequence[Outcome], changes: Sequence[Change]) -> None:
        for operation, result, error in outcomes:
            future = operation.future
            if future is None or future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                if isinstance(error, StoreFullError) and isinstance(operation, Admit | Apply):
                    self._refusal = error
                    self._refusal_counts_until = self._clock.monotonic() + _REFUSAL_SECONDS
                future.set_exception(error)
        if changes:
            for listener in tuple(self._listeners):
                listener(changes)


def _failed(future: "asyncio.Future[Any]", error: UnicodeEncodeError) -> "asyncio.Future[Any]":
    reason = f"the text contains an invalid character ({error.reason}): clean it first"
    refusal = UsageError(reason)
    refusal.__cause__ = error
    future.set_exception(refusal)
    return future


def _fetch(connection: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> list[Row]:
    return connection.execute(sql, parameters).fetchall()
