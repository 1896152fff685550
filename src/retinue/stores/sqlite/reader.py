"""Reads on separate connections: they see every finished commit and block none."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from retinue.agents.inbox import Item
from retinue.agents.request import Request
from retinue.errors import NotFoundError, UsageError
from retinue.ids import AgentId, ItemId, OwnerId
from retinue.records import AnyRecord, decode_record
from retinue.stores.artifact_port import ArtifactNews
from retinue.stores.port import Agent, AgentPage, AgentQuery, Change
from retinue.stores.sqlite.database_file import connect, store_error
from retinue.stores.sqlite.queries import READING
from retinue.stores.sqlite.rows import agent_of, item_of, request_of, state_mentions

_encode = msgspec.json.encode
_THREADS = 3
_CANDIDATES = 16
_MOST = (1 << 63) - 1


class FeedEntry(msgspec.Struct, array_like=True):
    """One change of one agent, as stored in the feed."""

    cursor: int
    agent: int
    owner: OwnerId
    first: int | None  # record
    last: int | None
    items: list[int]
    deleted: str | None  # the agent's id
    requests: list[str] = []
    artifacts: list[ArtifactNews] = []  # set only when the agent is 0


_feed = msgspec.json.Decoder(list[FeedEntry])

P = ParamSpec("P")
T = TypeVar("T")


class Readers:
    """A few threads, each with its own connection."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="retinue-read")

    async def run(
        self,
        query: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        def read() -> T:
            try:
                return query(self._connection(), *args, **kwargs)
            except sqlite3.Error as error:
                raise store_error(error, self._data) from error

        return await asyncio.get_running_loop().run_in_executor(self._pool, read)

    def close(self) -> None:
        self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    def _connection(self) -> sqlite3.Connection:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = connect(self._data, is_writer=False)
            connection.create_function("state_mentions", 2, state_mentions, deterministic=True)
            self._connections.append(connection)
        return connection


def read_number(connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId) -> int:
    row = connection.execute(READING["agent_number"], (agent_id, owner)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no agent {agent_id!r}")
    return row[0]


def read_agent(connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId) -> Agent:
    row = connection.execute(READING["agent"], (agent_id, owner)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no agent {agent_id!r}")
    return agent_of(row)


def read_one_agent(connection: sqlite3.Connection, name: str, *parameters: str) -> Agent | None:
    row = connection.execute(READING[name], parameters).fetchone()
    return None if row is None else agent_of(row)


def read_latest(
    connection: sqlite3.Connection, owner: OwnerId, definition: str, excluding: Collection[AgentId]
) -> Agent | None:
    """Choose among the agents that changed last; a change need not be a message."""
    rows = connection.execute(
        READING["conversations"], (owner, definition, _CANDIDATES + len(excluding))
    )
    found = [agent for row in rows if (agent := agent_of(row)).id not in excluding]
    return max(found, key=lambda a: a.state.active_at or a.state.created_at, default=None)


def read_agents(connection: sqlite3.Connection, query: AgentQuery) -> AgentPage:
    after = _position(query.cursor)
    text = query.text.casefold() if query.text else None
    rows = connection.execute(
        READING["agents"],
        (query.owner, *after, query.definition, query.kind, text, query.limit + 1),
    ).fetchall()
    page = rows[: query.limit]
    more = len(rows) > query.limit and page
    return AgentPage(
        agents=[agent_of(row) for row in page],
        next_cursor="-".join(map(str, page[-1][9:12])) if more else None,
    )


def _position(cursor: str | None) -> tuple[int, int, int]:
    if cursor is None:
        return (_MOST, _MOST, _MOST)
    try:
        pinned, active_at, number = map(int, cursor.split("-"))
    except ValueError:
        raise UsageError(
            f"{cursor!r} is not a cursor of this list: pass the `nextCursor` of the previous page"
        ) from None
    return (pinned, active_at, number)


def read_item(connection: sqlite3.Connection, owner: OwnerId, item_id: ItemId) -> tuple[Item, int]:
    row = connection.execute(READING["item"], (item_id, owner)).fetchone()
    if row is None:
        raise NotFoundError(f"there is no message {item_id!r}")
    return item_of(row), row[13]


def read_children(connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId) -> list[Agent]:
    numbers = {row[0] for row in connection.execute(READING["children"], (agent_id, owner))}
    rows = connection.execute(READING["agents_by_number"], (_text(numbers),)).fetchall()
    return [agent_of(row) for row in sorted(rows, key=lambda row: row[11])]


def read_open_items(
    connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId
) -> list[Item]:
    number = read_number(connection, owner, agent_id)
    return [item_of(row) for row in connection.execute(READING["open_items"], (number, agent_id))]


def read_history(
    connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId, after: int, limit: int
) -> list[AnyRecord]:
    number = read_number(connection, owner, agent_id)
    rows = connection.execute(READING["history"], (number, after, limit))
    return [decode_record(body) for (body,) in rows]


def read_current(
    connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId
) -> list[AnyRecord]:
    number = read_number(connection, owner, agent_id)
    return [decode_record(body) for (body,) in connection.execute(READING["current"], (number,))]


def read_record(
    connection: sqlite3.Connection, owner: OwnerId, agent_id: AgentId, seq: int
) -> AnyRecord | None:
    number = read_number(connection, owner, agent_id)
    row = connection.execute(READING["record"], (number, seq)).fetchone()
    return None if row is None else decode_record(row[0])


def read_context(
    connection: sqlite3.Connection, number: int, first: int, end: int
) -> list[AnyRecord]:
    rows = connection.execute(READING["context"], (number, first, end))
    return [decode_record(body) for (body,) in rows]


def read_changes(
    connection: sqlite3.Connection,
    owner: OwnerId,
    after: int,
    agent_id: AgentId | None,
    limit: int,
) -> list[Change] | None:
    connection.execute("BEGIN")  # one snapshot, so that no pruning happens in between
    try:
        newest, floor = connection.execute(READING["feed_bounds"]).fetchone()
        if after < floor or after > max(newest, floor):
            return None
        entries = _entries(connection, owner, after, agent_id)
        changes: list[Change] = []
        while len(changes) < limit:
            chunk = list(islice(entries, limit - len(changes)))
            if not chunk:
                break
            changes += _resolve(connection, chunk)
        return changes
    finally:
        connection.execute("COMMIT")


def _entries(
    connection: sqlite3.Connection, owner: OwnerId, after: int, agent_id: AgentId | None
) -> Iterator[FeedEntry]:
    wanted: int | None = None
    if agent_id is not None:
        row = connection.execute(READING["agent_number"], (agent_id, owner)).fetchone()
        wanted = -1 if row is None else row[0]
    for entry in feed_entries(connection, after):
        if entry.owner == owner:
            if agent_id is None or entry.agent == wanted or entry.deleted == agent_id:
                yield entry


def feed_entries(connection: sqlite3.Connection, after: int) -> Iterator[FeedEntry]:
    """The stored feed after a cursor."""
    for (body,) in connection.execute(READING["changes"], (after,)):
        for entry in _feed.decode(body):
            if entry.cursor > after:
                yield entry


def _resolve(connection: sqlite3.Connection, rows: Sequence[FeedEntry]) -> list[Change]:
    """Load what the feed refers to; of a deleted agent only the deletion is left."""
    agents = {
        row[11]: agent_of(row)
        for row in connection.execute(
            READING["agents_by_number"], (_text({row.agent for row in rows}),)
        )
    }
    named = {number for row in rows for number in row.items}
    items = {
        row[0]: item_of(row)
        for row in connection.execute(READING["items_by_number"], (_text(named),))
    }
    asked = _requests(connection, {request for row in rows for request in row.requests})
    changes: list[Change] = []
    for row in rows:
        agent = agents.get(row.agent)
        if agent is None and row.deleted is None and not row.artifacts:
            continue
        changes.append(
            Change(
                cursor=row.cursor,
                agent_id=AgentId(row.deleted or "") if agent is None else agent.id,
                owner=row.owner,
                agent=agent,
                records=_records(connection, row.agent, row.first, row.last),
                items=[items[key] for key in row.items if key in items] or (),
                requests=[asked[key] for key in row.requests if key in asked] or (),
                is_deleted=row.deleted is not None,
                artifacts=row.artifacts or (),
            )
        )
    return changes


def _requests(connection: sqlite3.Connection, ids: set[str]) -> dict[str, Request]:
    if not ids:
        return {}
    found = map(request_of, connection.execute(READING["load_requests"], (_text(ids),)))
    return {request.id: request for request in found}


def _records(
    connection: sqlite3.Connection, number: int, first: int | None, last: int | None
) -> Sequence[AnyRecord]:
    if first is None:
        return ()
    rows = connection.execute(READING["records_between"], (number, first, last))
    return [decode_record(body) for (body,) in rows]


def _text(numbers: set[Any]) -> str:
    return _encode(sorted(numbers)).decode()
