"""Lists, notes and views in the embedded store: queries, and the door to changes."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from retinue.agents.artifact import ArtifactId, ArtifactKind, folded
from retinue.errors import UsageError
from retinue.ids import OwnerId
from retinue.stores.artifact_port import (
    Area,
    ArtifactChange,
    Changed,
    KeptArtifacts,
    Narrowing,
    NewChange,
    Search,
    StoredArtifact,
)
from retinue.stores.sqlite.access import Access
from retinue.stores.sqlite.artifact_writes import artifact_of, change_of
from retinue.stores.sqlite.database_file import store_error
from retinue.stores.sqlite.queries import READING, WRITING
from retinue.stores.sqlite.rows import Row
from retinue.stores.sqlite.write_operations import ChangeArtifacts, RestoreArtifacts

_INDEX_VERSION = "1"
_ALL = -1  # SQLite's value for no limit
_SHORTEST_INDEXED = 3  # characters: the index consists of trigrams

T = TypeVar("T")

_encode = msgspec.json.encode


def prepare_index(connection: sqlite3.Connection) -> bool:
    """Create the full-text index; returns False if this SQLite does not support it.

    An index that is out of date, because a process without support wrote, is rebuilt.
    """
    try:
        connection.execute(WRITING["create_artifact_index"])
        connection.execute(READING["touch_artifact_index"])  # another SQLite may have created it
    except sqlite3.OperationalError:
        connection.execute(WRITING["set_meta"], ("artifact_index", ""))
        return False
    row = connection.execute(READING["meta"], ("artifact_index",)).fetchone()
    if row is None or row[0] != _INDEX_VERSION:
        connection.execute(WRITING["rebuild_artifact_index"])
        connection.execute(WRITING["set_meta"], ("artifact_index", _INDEX_VERSION))
    return True


class SqliteArtifacts:
    """Implements `ArtifactStore` for the embedded store."""

    def __init__(self, access: Access) -> None:
        self._future, self._write, self._read = access
        self.has_index = True

    # -- writing

    async def apply(self, change: NewChange) -> Changed:
        try:
            _encode(change)
        except UnicodeEncodeError as error:
            raise UsageError(f"the text contains an invalid character ({error.reason})") from error
        return await self._write(ChangeArtifacts(self._future(), change))

    async def restore(self, kept: KeptArtifacts) -> None:
        await self._write(RestoreArtifacts(self._future(), kept))

    # -- reading

    async def repeated(self, owner: OwnerId, key: str) -> ArtifactChange | None:
        return _one(await self._read(_changes, "artifact_change_by_key", owner, key))

    async def get(self, owner: OwnerId, artifact_id: ArtifactId) -> StoredArtifact | None:
        return _one(await self._read(_artifacts, "artifact", owner, artifact_id))

    async def named(
        self,
        owner: OwnerId,
        kind: ArtifactKind,
        name: str,
        *,
        list_id: ArtifactId | None = None,
    ) -> Sequence[StoredArtifact]:
        if kind == "item" and list_id is None:
            return await self._read(_artifacts, "items_titled_anywhere", owner, folded(name))
        if kind == "item":
            return await self._read(_artifacts, "items_titled", owner, list_id, folded(name))
        return await self._read(_artifacts, "artifacts_named", owner, kind, folded(name))

    async def all(self, owner: OwnerId, kind: ArtifactKind) -> Sequence[StoredArtifact]:
        if kind == "item":
            return await self._read(_artifacts, "all_items", owner)
        return await self._read(_artifacts, "artifacts_of_kind", owner, kind)

    async def page(
        self, owner: OwnerId, kind: ArtifactKind, *, limit: int, offset: int
    ) -> tuple[Sequence[StoredArtifact], int]:
        return await self._read(_page, owner, kind, limit, offset)

    async def names(
        self, owner: OwnerId, kind: ArtifactKind, *, limit: int | None = None
    ) -> Mapping[ArtifactId, str]:
        return await self._read(_names, owner, kind, _ALL if limit is None else limit)

    async def narrowed(self, owner: OwnerId, to: Narrowing) -> Sequence[StoredArtifact]:
        groups = [group for group in to.words if all(len(w) >= _SHORTEST_INDEXED for w in group)]
        return await self._read(_narrowed, owner, to, _phrases(groups) if self.has_index else "")

    async def items(self, owner: OwnerId, list_id: ArtifactId) -> Sequence[StoredArtifact]:
        return await self._read(_artifacts, "list_items", owner, list_id)

    async def counts(self, owner: OwnerId) -> Mapping[ArtifactId, int]:
        return await self._read(_counts, owner)

    async def search(self, search: Search) -> Sequence[StoredArtifact]:
        words = [folded(word) for word in search.words if word.strip()]
        place = (search.owner, _encode(search.kinds).decode(), search.list_id)
        indexed = [word for word in words if len(word) >= _SHORTEST_INDEXED]
        if self.has_index and indexed:
            phrases = _phrases([word] for word in indexed)
            short = [word for word in words if word not in indexed]
            rest = (*place, _encode(short).decode(), search.limit)
            return await self._read(_artifacts, "search_index", phrases, *rest)
        rest = (*place, _encode(words).decode(), search.limit)
        return await self._read(_artifacts, "search_words", *rest)

    async def change(self, owner: OwnerId, change_id: str) -> ArtifactChange | None:
        return _one(await self._read(_changes, "artifact_change", owner, change_id))

    async def changes(
        self,
        owner: OwnerId,
        *,
        area: Area | None = None,
        about: ArtifactId | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[ArtifactChange]:
        return await self._read(_changes, "artifact_changes", owner, area, about, before, limit)

    async def last_undoable(self, owner: OwnerId, area: Area) -> ArtifactChange | None:
        return _one(await self._read(_changes, "last_undoable", owner, area))


def _artifacts(
    connection: sqlite3.Connection, query: str, *parameters: object
) -> list[StoredArtifact]:
    return [artifact_of(row) for row in connection.execute(READING[query], parameters)]


def _page(
    connection: sqlite3.Connection, owner: OwnerId, kind: ArtifactKind, limit: int, offset: int
) -> tuple[list[StoredArtifact], int]:
    total: int = connection.execute(READING["count_artifacts"], (owner, kind)).fetchone()[0]
    offset = min(offset, total)
    return _artifacts(connection, "artifacts_page", owner, kind, limit, offset), total


def _names(
    connection: sqlite3.Connection, owner: OwnerId, kind: ArtifactKind, limit: int
) -> dict[ArtifactId, str]:
    return dict(connection.execute(READING["artifact_names"], (owner, kind, limit)).fetchall())


def _narrowed(
    connection: sqlite3.Connection, owner: OwnerId, to: Narrowing, phrases: str
) -> list[StoredArtifact]:
    lists = None if to.lists is None else _encode(to.lists).decode()
    if phrases:
        kinds = _encode(["item"] * to.items + ["note"] * to.notes).decode()
        return _artifacts(connection, "narrowed_by_index", phrases, owner, kinds, lists)
    found: list[StoredArtifact] = []
    if to.items and lists is not None:
        found += _artifacts(connection, "items_of_lists", owner, lists)
    elif to.items:
        found += _artifacts(connection, "all_items", owner)
    return found + (_artifacts(connection, "artifacts_of_kind", owner, "note") if to.notes else [])


def _phrases(groups: Iterable[Iterable[str]]) -> str:
    """The index query: one word of each group must match."""
    return " AND ".join(
        "(" + " OR ".join('"' + word.replace('"', '""') + '"' for word in group) + ")"
        for group in groups
    )


def _changes(
    connection: sqlite3.Connection, query: str, *parameters: object
) -> list[ArtifactChange]:
    return [change_of(row) for row in connection.execute(READING[query], parameters)]


def _counts(connection: sqlite3.Connection, owner: OwnerId) -> dict[ArtifactId, int]:
    return dict(connection.execute(READING["list_lengths"], (owner,)).fetchall())


def _one(found: Sequence[T]) -> T | None:
    return found[0] if found else None


class SqliteArtifactReader:
    """Implements `ArtifactReader` on the connection of an export reader."""

    def __init__(self, connection: sqlite3.Connection, data: Path) -> None:
        self._connection = connection
        self._data = data

    def bounds(self) -> tuple[int, int]:
        oldest, newest = self._rows("artifact_change_bounds")[0]
        return oldest, newest

    def changes(self, after: int, limit: int) -> list[ArtifactChange]:
        return [change_of(row) for row in self._rows("artifact_changes_after", after, limit)]

    def owners(self) -> Sequence[OwnerId]:
        return [row[0] for row in self._rows("artifact_owners")]

    def get(self, owner: OwnerId, artifact_id: ArtifactId) -> StoredArtifact | None:
        return _one(self._artifacts("artifact", owner, artifact_id))

    def items(self, owner: OwnerId, list_id: ArtifactId) -> Sequence[StoredArtifact]:
        return self._artifacts("list_items", owner, list_id)

    def kept(self, owner: OwnerId, changes: int) -> KeptArtifacts:
        kinds = ("list", "note", "view")
        artifacts = [
            one for kind in kinds for one in self._artifacts("artifacts_of_kind", owner, kind)
        ]
        artifacts += self._artifacts("all_items", owner)
        rows = self._rows("artifact_changes", owner, None, None, None, changes)
        newest = [change_of(row) for row in reversed(rows)]
        return KeptArtifacts(owner=owner, artifacts=artifacts, changes=newest)

    def _artifacts(self, query: str, *parameters: object) -> list[StoredArtifact]:
        return [artifact_of(row) for row in self._rows(query, *parameters)]

    def _rows(self, query: str, *parameters: object) -> list[Row]:
        try:
            return self._connection.execute(READING[query], parameters).fetchall()
        except sqlite3.Error as error:
            raise store_error(error, self._data) from error
