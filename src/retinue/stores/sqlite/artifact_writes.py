"""Checks and writes changes to artifacts in the writer thread."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from retinue.agents.artifact import (
    Artifact,
    ArtifactId,
    ArtifactKind,
    ItemList,
    ListItem,
    Note,
    folded,
    kind_of,
    name_of,
)
from retinue.errors import ConflictError, NotFoundError, UsageError
from retinue.ids import OwnerId
from retinue.stores.artifact_port import (
    CHANGES_KEPT,
    LARGEST_LIST,
    MOST_LISTS,
    MOST_NOTES,
    MOST_VIEWS,
    ArtifactChange,
    Changed,
    Edit,
    KeptArtifacts,
    NewChange,
    Put,
    Removal,
    StoredArtifact,
)
from retinue.stores.sqlite.batch import Batch
from retinue.stores.sqlite.queries import WRITING
from retinue.stores.sqlite.rows import Row

_LARGE_CHANGE = 64 << 10
_BYTES_KEPT = 64 << 20  # of changes per owner
_MOST: dict[ArtifactKind, int] = {"list": MOST_LISTS, "note": MOST_NOTES, "view": MOST_VIEWS}

_encode = msgspec.json.encode
_artifacts: msgspec.json.Decoder[Artifact] = msgspec.json.Decoder(Artifact)
_changes = msgspec.json.Decoder(ArtifactChange)

Key = tuple[OwnerId, ArtifactId]


def artifact_of(row: Row) -> StoredArtifact:
    body, version, list_id, position = row
    return StoredArtifact(
        artifact=_artifacts.decode(body), version=version, list_id=list_id, position=position
    )


def change_of(row: Row) -> ArtifactChange:
    body, number, undone_by = row
    return replace(_changes.decode(body), number=number, undone_by=undone_by)


class KnownArtifacts:
    """Artifacts as a group of operations sees them: the stored ones plus the group's changes."""

    def __init__(self, connection: sqlite3.Connection, *, has_index: bool) -> None:
        self._connection = connection
        self._has_index = has_index
        self._here: dict[Key, StoredArtifact | None] = {}
        self._names: dict[tuple[OwnerId, ArtifactKind, str], ArtifactId | None] = {}
        self._lengths: dict[Key, int] = {}
        self._shifts: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        self._keys: dict[tuple[OwnerId, str], ArtifactChange] = {}

    def run(self, new: NewChange, batch: Batch) -> Changed:
        first = self._first(new)
        if first is not None:
            return Changed(change=first, is_repeat=True)
        self._check(new)
        edits = [edit for one in new.removals for edit in self._remove(new.owner, one, batch)]
        edits += [self._put(new.owner, one, batch) for one in new.puts]
        change = ArtifactChange(
            id=new.id,
            owner=new.owner,
            at=new.at,
            area=new.area,
            action=new.action,
            edits=edits,
            by=new.by,
            key=new.key,
            undoes=new.undoes,
            is_undo=new.is_undo,
        )
        _log(change, batch)
        if new.key is not None:
            self._keys[new.owner, new.key] = change
        return Changed(change=change, is_repeat=False)

    def restore(self, kept: KeptArtifacts, batch: Batch) -> None:
        """Restore everything of an owner; existing artifacts are kept."""
        for stored in kept.artifacts:
            batch.statements.append(("restore_artifact", artifact_row(kept.owner, stored)))
        batch.statements.append(("close_all_gaps", (kept.owner,)))
        for change in kept.changes:
            row = (*_change_row(change), change.number or None, change.undone_by)
            batch.statements.append(("restore_artifact_change", row))
        if self._has_index:
            batch.statements.append(("rebuild_artifact_index", ()))

    # -- checking

    def _first(self, new: NewChange) -> ArtifactChange | None:
        if new.key is None:
            return None
        first = self._keys.get((new.owner, new.key))
        if first is None:
            row = self._row("artifact_change_by_key", new.owner, new.key)
            first = None if row is None else change_of(row)
        if first is not None and first.action != new.action:
            raise ConflictError(f"the key was already used for {first.action}")
        return first

    def _check(self, new: NewChange) -> None:
        """Check the whole change before anything is changed."""
        if not new.puts and not new.removals:
            raise UsageError("there is nothing to change")
        for one in new.removals:
            self._check_version(self._find(new.owner, one.id), one.id, one.version)
            if one.items is not None and one.items != self._length(new.owner, one.id):
                raise ConflictError(f"the list {one.id!r} has changed meanwhile")
        added: Counter[ArtifactId] = Counter()
        lists = {put.artifact.id for put in new.puts if isinstance(put.artifact, ItemList)}
        for put in new.puts:
            there = self._find(new.owner, put.artifact.id)
            self._check_version(there, put.artifact.id, put.version)
            if isinstance(put.artifact, ListItem):
                list_id = put.list_id
                if list_id is None or (list_id not in lists and not self._find(new.owner, list_id)):
                    raise NotFoundError(f"there is no list {list_id!r}")
                added[list_id] += there is None or there.list_id != list_id
            else:
                self._check_place(new.owner, put.artifact, is_new=there is None)
        for list_id, count in added.items():
            if count and self._length(new.owner, list_id) + count > LARGEST_LIST:
                raise UsageError(f"the list {list_id!r} is full: the limit is {LARGEST_LIST} items")

    def _check_version(
        self, there: StoredArtifact | None, artifact_id: ArtifactId, version: int
    ) -> None:
        if there is None and version:
            raise ConflictError(f"{artifact_id!r} no longer exists", details={"id": artifact_id})
        if there is not None and there.version != version:
            raise ConflictError(
                f"{name_of(there.artifact)!r} has changed meanwhile"
                if version
                else f"{artifact_id!r} already exists",
                details={"id": artifact_id, "version": there.version},
            )

    def _check_place(self, owner: OwnerId, artifact: Artifact, *, is_new: bool) -> None:
        kind = kind_of(artifact)
        holder = self._holder(owner, kind, folded(name_of(artifact)))
        if holder is not None and holder != artifact.id:
            raise ConflictError(
                f"a {kind} {name_of(artifact)!r} already exists", details={"id": holder}
            )
        if is_new and self._number("count_artifacts", owner, kind) >= _MOST[kind]:
            raise UsageError(f"the limit of {_MOST[kind]} {kind}s is reached: remove some first")

    # -- changing

    def _put(self, owner: OwnerId, put: Put, batch: Batch) -> Edit:
        before = self._find(owner, put.artifact.id)
        position = self._place(owner, put, before, batch)
        after = StoredArtifact(
            artifact=put.artifact,
            version=put.version + 1 if before is not None else put.first,
            list_id=put.list_id,
            position=position,
        )
        self._here[owner, put.artifact.id] = after
        self._rename(owner, before, after)
        place = (owner, put.artifact.id)
        if self._has_index and before is not None:
            batch.statements.append(("unindex_artifact", place))
        batch.statements.append(("put_artifact", artifact_row(owner, after)))
        if self._has_index:
            batch.statements.append(("index_artifact", place))
        return Edit(before=before, after=after)

    def _place(
        self, owner: OwnerId, put: Put, before: StoredArtifact | None, batch: Batch
    ) -> int | None:
        """Make room for an item at its position; positions stay without gaps."""
        list_id = put.list_id
        if list_id is None:
            return None
        if before is not None and before.list_id == list_id and put.position is None:
            return before.position
        if before is not None:
            self._leave(owner, before, batch)
        length = self._length(owner, list_id)
        position = length if put.position is None else max(0, min(put.position, length))
        if position < length:
            self._shift(owner, list_id, position, 1)
            batch.statements.append(("make_room", (owner, list_id, position)))
        self._lengths[owner, list_id] = length + 1
        return position

    def _leave(self, owner: OwnerId, there: StoredArtifact, batch: Batch) -> None:
        list_id, position = there.list_id, there.position
        if list_id is None or position is None:
            return
        length = self._length(owner, list_id)
        self._lengths[owner, list_id] = length - 1
        if position < length - 1:
            self._shift(owner, list_id, position + 1, -1)
            batch.statements.append(("close_gap", (owner, list_id, position)))

    def _remove(self, owner: OwnerId, removal: Removal, batch: Batch) -> list[Edit]:
        there = self._find(owner, removal.id)
        assert there is not None  # checked before
        gone = [there]
        if isinstance(there.artifact, ItemList):
            gone += self._items(owner, removal.id)
            if self._has_index:
                batch.statements.append(("unindex_items", (owner, removal.id)))
            batch.statements.append(("delete_list_items", (owner, removal.id)))
            self._lengths[owner, removal.id] = 0
        if self._has_index:
            batch.statements.append(("unindex_artifact", (owner, removal.id)))
        batch.statements.append(("delete_artifact", (owner, removal.id)))
        for one in gone:
            self._here[owner, one.artifact.id] = None
        self._rename(owner, there, None)
        self._leave(owner, there, batch)
        return [Edit(before=one) for one in gone]

    def _rename(
        self, owner: OwnerId, before: StoredArtifact | None, after: StoredArtifact | None
    ) -> None:
        for one, holder in ((before, None), (after, after)):
            if one is not None and one.list_id is None:
                name = (owner, kind_of(one.artifact), folded(name_of(one.artifact)))
                self._names[name] = None if holder is None else holder.artifact.id

    def _shift(self, owner: OwnerId, list_id: ArtifactId, first: int, by: int) -> None:
        """Shift the items from a position on, both loaded ones and ones loaded later."""
        self._shifts[owner, list_id].append((first, by))
        for key, one in self._here.items():
            if one is not None and key[0] == owner and one.list_id == list_id:
                self._here[key] = _shifted(one, [(first, by)])

    # -- reading

    def _row(self, query: str, *parameters: object) -> Row | None:
        return self._connection.execute(WRITING[query], parameters).fetchone()

    def _number(self, query: str, *parameters: object) -> int:
        return self._connection.execute(WRITING[query], parameters).fetchone()[0]

    def _find(self, owner: OwnerId, artifact_id: ArtifactId) -> StoredArtifact | None:
        key = (owner, artifact_id)
        if key not in self._here:
            row = self._row("artifact", owner, artifact_id)
            self._here[key] = None if row is None else self._moved(owner, artifact_of(row))
        return self._here[key]

    def _moved(self, owner: OwnerId, there: StoredArtifact) -> StoredArtifact:
        if there.list_id is None:
            return there
        return _shifted(there, self._shifts.get((owner, there.list_id), ()))

    def _items(self, owner: OwnerId, list_id: ArtifactId) -> list[StoredArtifact]:
        rows = self._connection.execute(WRITING["list_items"], (owner, list_id))
        found = {one.artifact.id: self._moved(owner, one) for one in map(artifact_of, rows)}
        for (whose, artifact_id), one in self._here.items():
            if whose == owner:
                found.pop(artifact_id, None)
                if one is not None and one.list_id == list_id:
                    found[artifact_id] = one
        return sorted(found.values(), key=lambda one: one.position or 0)

    def _length(self, owner: OwnerId, list_id: ArtifactId) -> int:
        key = (owner, list_id)
        if key not in self._lengths:
            self._lengths[key] = self._number("list_length", owner, list_id)
        return self._lengths[key]

    def _holder(self, owner: OwnerId, kind: ArtifactKind, name: str) -> ArtifactId | None:
        key = (owner, kind, name)
        if key not in self._names:
            row = self._row("name_holder", owner, kind, name)
            self._names[key] = None if row is None else row[0]
        return self._names[key]


def artifact_row(owner: OwnerId, stored: StoredArtifact) -> tuple[object, ...]:
    artifact = stored.artifact
    return (
        owner,
        artifact.id,
        kind_of(artifact),
        stored.list_id,
        stored.position,
        folded(name_of(artifact)),
        folded("\n".join(_words(artifact))),
        stored.version,
        _encode(artifact),
    )


def _words(artifact: Artifact) -> Iterable[str]:
    yield from artifact.tags
    match artifact:
        case ItemList():
            yield artifact.description
        case ListItem():
            yield artifact.notes
            yield artifact.url
            yield from (value for value in artifact.custom.values() if isinstance(value, str))
        case Note():
            yield artifact.content
        case _:
            yield artifact.query


def _log(change: ArtifactChange, batch: Batch) -> None:
    row = _change_row(change)
    batch.statements.append(("insert_artifact_change", row))
    if change.undoes is not None:
        batch.statements.append(("mark_undone", (change.owner, change.undoes, change.id)))
    batch.statements.append(("prune_artifact_changes", (change.owner, CHANGES_KEPT)))
    if len(row[-1]) > _LARGE_CHANGE:
        batch.statements.append(("prune_large_artifact_changes", (change.owner, _BYTES_KEPT)))


def _change_row(
    change: ArtifactChange,
) -> tuple[str, OwnerId, str, ArtifactId, ArtifactId | None, str | None, int, bytes]:
    one = change.main.one
    kept = replace(change, number=0, undone_by=None)  # stored in columns of their own
    return (
        change.id,
        change.owner,
        change.area,
        one.artifact.id,
        one.list_id,
        change.key,
        1 if change.is_undo else 0,
        _encode(kept),
    )


def _shifted(there: StoredArtifact, shifts: Iterable[tuple[int, int]]) -> StoredArtifact:
    position = there.position
    if position is None:
        return there
    for first, by in shifts:
        position += by if position >= first else 0
    return there if position == there.position else replace(there, position=position)
