"""The store port for artifacts: each change is one transaction that can be undone.

A change names the versions it was made for. If one of them is no longer the newest, it raises
`ConflictError` and changes nothing. A change with a key is applied once: using the key again
returns the first change. Each change stores the state before and after, so it can be undone.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from retinue.agents.artifact import Artifact, ArtifactId, ArtifactKind, kind_of
from retinue.ids import AgentId, OwnerId

Area = Literal["lists", "notes", "views"]
"""The part of the artifacts a change belongs to; histories and undo are kept per area."""

LARGEST_LIST = 10_000
MOST_LISTS = 1_000
MOST_NOTES = 10_000
MOST_VIEWS = 1_000
CHANGES_KEPT = 2_000
"""Changes of each owner that can be read and undone; older ones are deleted."""


class StoredArtifact(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An artifact with its version and its place in a list."""

    artifact: Artifact
    version: int
    list_id: ArtifactId | None = None  # of an item
    position: int | None = None  # of an item: from 0, without gaps


class Edit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The state of one artifact before and after a change."""

    before: StoredArtifact | None = None
    after: StoredArtifact | None = None

    @property
    def one(self) -> StoredArtifact:
        found = self.after or self.before
        assert found is not None  # an edit has at least one side
        return found


class Put(Struct, frozen=True, kw_only=True):
    """An artifact to store, replacing the given version."""

    artifact: Artifact
    version: int = 0  # 0 = a new artifact
    first: int = 1  # the version of a new one; a restored one continues its numbers
    list_id: ArtifactId | None = None  # of an item; a different list moves it
    position: int | None = None  # of an item; None = unchanged, or the end for a new one


class Removal(Struct, frozen=True, kw_only=True):
    """An artifact to remove; removing a list removes its items."""

    id: ArtifactId
    version: int
    items: int | None = None  # the expected number of items of a list; None = any


class NewChange(Struct, frozen=True, kw_only=True):
    """A change to apply to one or more artifacts in one transaction."""

    id: str
    owner: OwnerId
    at: datetime
    area: Area
    action: str  # the name of the operation
    by: AgentId | None = None  # None = the owner
    key: str | None = None
    puts: Sequence[Put] = ()
    removals: Sequence[Removal] = ()
    undoes: str | None = None  # the id of another change
    is_undo: bool = False


class ArtifactChange(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A change that was applied."""

    id: str
    owner: OwnerId
    at: datetime
    area: Area
    action: str
    edits: Sequence[Edit]  # at least one; the first is the main one
    by: AgentId | None = None
    key: str | None = None
    undoes: str | None = None
    is_undo: bool = False  # whether it undid a change; False when it redid one
    undone_by: str | None = None
    number: int = 0  # increases with time

    @property
    def main(self) -> Edit:
        return self.edits[0]


class ArtifactNews(Struct, frozen=True, array_like=True):
    """A feed event about one artifact; an event about a list covers its items."""

    kind: ArtifactKind
    id: ArtifactId
    action: Literal["created", "changed", "removed"]
    version: int  # the current one, or the last one if removed
    list_id: ArtifactId | None
    change: str
    by: AgentId | None


def news_of(change: ArtifactChange) -> list[ArtifactNews]:
    lists = {edit.one.artifact.id for edit in change.edits if edit.one.list_id is None}
    return [
        ArtifactNews(
            kind_of(edit.one.artifact),
            edit.one.artifact.id,
            "removed" if edit.after is None else "created" if edit.before is None else "changed",
            edit.one.version,
            edit.one.list_id,
            change.id,
            change.by,
        )
        for edit in change.edits
        if edit.one.list_id not in lists
    ]


class Changed(Struct, frozen=True, kw_only=True):
    """The result of applying a change."""

    change: ArtifactChange
    is_repeat: bool  # the key was already used: `change` is the first one


class Search(Struct, frozen=True, kw_only=True):
    """A word search; every word must occur, whole or as part of another word."""

    owner: OwnerId
    words: Sequence[str]
    kinds: Sequence[ArtifactKind] = ("item", "note")
    list_id: ArtifactId | None = None
    limit: int = 20


class Narrowing(Struct, frozen=True, kw_only=True):
    """Limits a query to the items and notes that can match, so others need not be read."""

    items: bool = True
    notes: bool = True
    lists: Sequence[ArtifactId] | None = None  # items only of these
    words: Sequence[Sequence[str]] = ()  # case-folded; the texts contain one word of each group


class KeptArtifacts(Struct, frozen=True, kw_only=True, rename="camel"):
    """All artifacts of one owner, as the mirror, exports and rebuilds transfer them."""

    owner: OwnerId
    artifacts: Sequence[StoredArtifact]  # lists before their items, items in order
    changes: Sequence[ArtifactChange] = ()  # the most recent ones, oldest first


class ArtifactStore(Protocol):
    """Lists, items, notes and views, always within one owner."""

    async def apply(self, change: NewChange) -> Changed:
        """Apply a change. Raises `ConflictError`, `NotFoundError`, or `UsageError` when a limit is
        reached; then nothing changed."""
        ...

    async def repeated(self, owner: OwnerId, key: str) -> ArtifactChange | None:
        """The change that was applied with this key."""
        ...

    async def get(self, owner: OwnerId, artifact_id: ArtifactId) -> StoredArtifact | None: ...

    async def named(
        self,
        owner: OwnerId,
        kind: ArtifactKind,
        name: str,
        *,
        list_id: ArtifactId | None = None,
    ) -> Sequence[StoredArtifact]:
        """Artifacts with that name or title, ignoring case; limited in number.

        Items are those of the given list, or of any list.
        """
        ...

    async def all(self, owner: OwnerId, kind: ArtifactKind) -> Sequence[StoredArtifact]:
        """All artifacts of a kind by name; items by list and position."""
        ...

    async def page(
        self, owner: OwnerId, kind: ArtifactKind, *, limit: int, offset: int
    ) -> tuple[Sequence[StoredArtifact], int]:
        """A page of a kind (except items), by name, and the total number."""
        ...

    async def names(
        self, owner: OwnerId, kind: ArtifactKind, *, limit: int | None = None
    ) -> Mapping[ArtifactId, str]:
        """The names of all artifacts of a kind (except items) by id, in order."""
        ...

    async def narrowed(self, owner: OwnerId, to: Narrowing) -> Sequence[StoredArtifact]:
        """Items by list and position, then notes by name: all that can match."""
        ...

    async def items(self, owner: OwnerId, list_id: ArtifactId) -> Sequence[StoredArtifact]:
        """The items of a list, in order."""
        ...

    async def counts(self, owner: OwnerId) -> Mapping[ArtifactId, int]:
        """The number of items per list; empty lists are left out."""
        ...

    async def search(self, search: Search) -> Sequence[StoredArtifact]:
        """Artifacts that contain all the words, best match first."""
        ...

    async def change(self, owner: OwnerId, change_id: str) -> ArtifactChange | None: ...

    async def changes(
        self,
        owner: OwnerId,
        *,
        area: Area | None = None,
        about: ArtifactId | None = None,
        before: int | None = None,
        limit: int = 20,
    ) -> Sequence[ArtifactChange]:
        """The newest changes first; the changes of a list include those of its items."""
        ...

    async def last_undoable(self, owner: OwnerId, area: Area) -> ArtifactChange | None:
        """The newest change that is neither an undo nor undone."""
        ...

    async def restore(self, kept: KeptArtifacts) -> None:
        """Restore everything of an owner; existing artifacts are kept."""
        ...
