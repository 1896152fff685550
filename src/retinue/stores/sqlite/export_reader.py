"""Reads complete agents from the database for the folders and for exports."""

import sqlite3
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from retinue.ids import AgentId
from retinue.stores.agent_export import StoredAgent, Touched
from retinue.stores.schedule_port import KeptSchedules
from retinue.stores.sqlite.artifacts import SqliteArtifactReader
from retinue.stores.sqlite.database_file import connect, store_error
from retinue.stores.sqlite.queries import READING
from retinue.stores.sqlite.reader import feed_entries
from retinue.stores.sqlite.rows import Row
from retinue.stores.sqlite.schedules import read_kept
from retinue.stores.sqlite.variables import read_variables
from retinue.stores.variable_port import KeptVariables


class SqliteWholeReader:
    """Implements `WholeReader` on a connection of its own."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._connection = connect(data, is_writer=False)
        self._artifacts = SqliteArtifactReader(self._connection, data)

    def close(self) -> None:
        self._connection.close()

    def cursor(self) -> int:
        newest, floor = self._rows("feed_bounds")[0]
        return max(newest, floor)

    def touched(self, after: int) -> Touched | None:
        newest, floor = self._rows("feed_bounds")[0]
        if after < floor or after > max(newest, floor):
            return None
        numbers: set[int] = set()
        deleted: set[AgentId] = set()
        try:
            for entry in feed_entries(self._connection, after):
                numbers.add(entry.agent)
                if entry.deleted is not None:
                    deleted.add(AgentId(entry.deleted))
        except sqlite3.Error as error:
            raise store_error(error, self._data) from error
        named = self._rows("ids_by_number", msgspec.json.encode(sorted(numbers)).decode())
        changed = frozenset(AgentId(row[1]) for row in named)
        # A deleted agent may exist again after an import.
        return Touched(
            cursor=max(newest, floor), changed=changed, deleted=frozenset(deleted) - changed
        )

    @contextmanager
    def snapshot(self) -> Generator[None]:
        # SQLite keeps read pages cached only within one transaction.
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("COMMIT")

    def ids(self) -> Iterator[AgentId]:
        for row in self._rows("agent_ids"):
            yield row[0]

    def offsets(self) -> Mapping[str, str]:
        return {row[0]: row[1] for row in self._rows("offsets")}

    def schedules(self) -> KeptSchedules:
        try:
            return read_kept(self._connection)
        except sqlite3.Error as error:
            raise store_error(error, self._data) from error

    def variables(self) -> KeptVariables:
        try:
            return read_variables(self._connection)
        except sqlite3.Error as error:
            raise store_error(error, self._data) from error

    @property
    def artifacts(self) -> SqliteArtifactReader:
        return self._artifacts

    def read(self, agent_id: AgentId, *, after: int, settled: int = 0) -> StoredAgent | None:
        rows = self._rows("whole_agent", agent_id, after, settled)
        if not rows:
            return None
        owner, descriptor, definition, lifecycle, context_from, state = rows[0][:6]
        last_seq, last_item, history, inbox, ended, outbox, requests = rows[0][6:]
        return StoredAgent(
            id=agent_id,
            owner=owner,
            descriptor=descriptor,
            definition=definition,
            lifecycle=lifecycle,
            context_from=context_from,
            state=state,
            last_seq=last_seq,
            last_item=last_item,
            history=b"" if history is None else history.encode() + b"\n",
            inbox=inbox.encode(),
            ended=ended.encode(),
            settled=settled,
            outbox=outbox.encode(),
            requests=requests.encode(),
        )

    def _rows(self, name: str, *parameters: Any) -> list[Row]:
        try:
            return self._connection.execute(READING[name], parameters).fetchall()
        except sqlite3.Error as error:
            raise store_error(error, self._data) from error
