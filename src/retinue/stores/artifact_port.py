"""The artifacts' part of the store port: every change is one transaction that can be undone.

A change names the versions that it was made for; when one of them is not the newest any more, it
raises `ConflictError` and nothing happened. A change with a key happens once: the same key again
gives the first change. What was there before and after is kept with it, for undoing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from retinue.agents.artifact import Artifact, ArtifactId, ArtifactKind, kind_of
from retinue.ids import AgentId, OwnerId

Area = Literal["lists", "notes", "views"]
"""What changes are told apart by, for histories and for undoing the last one."""

LARGEST_LIST = 10_000
MOST_LISTS = 1_000
MOST_NOTES = 10_000
MOST_VIEWS = 1_000
CHANGES_KEPT = 2_000
"""Changes of each owner that can be read and undone; older ones are forgotten."""


class StoredArtifact(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """An artifact as the store has it."""

    artifact: Artifact
    version: int
    list_id: ArtifactId | None = None  # of an item
    position: int | None = None  # of an item: from 0, without gaps


class Edit(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a change did to one artifact."""

    before: StoredArtifact | None = None
    after: StoredArtifact | None = None

    @property
    def one(self) -> StoredArtifact:
        found = self.after or self.before
        assert found is not None  # an edit has a side
        return found


class Put(Struct, frozen=True, kw_only=True):
    """An artifact to store, in the place of the one with that version."""

    artifact: Artifact
    version: int = 0  # 0 = there is none yet
    first: int = 1  # the version of a new one; one that comes back goes on counting
    list_id: ArtifactId | None = None  # of an item; another one than before moves it
    position: int | None = None  # of an item; None = where it is, or at the end


class Removal(Struct, frozen=True, kw_only=True):
    """An artifact to remove; a list goes with its items."""

    id: ArtifactId
    version: int
    items: int | None = None  # how many a list may have; None = whatever it has


class NewChange(Struct, frozen=True, kw_only=True):
    """What somebody does to artifacts at once."""

    id: str
    owner: OwnerId
    at: datetime
    area: Area
    action: str  # the operation
    by: AgentId | None = None  # None = the owner
    key: str | None = None
    puts: Sequence[Put] = ()
    removals: Sequence[Removal] = ()
    undoes: str | None = None  # another change
    is_undo: bool = False


class ArtifactChange(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A change that happened."""

    id: str
    owner: OwnerId
    at: datetime
    area: Area
    action: str
    edits: Sequence[Edit]  # at least one; the first one is what it is about
    by: AgentId | None = None
    key: str | None = None
    undoes: str | None = None
    is_undo: bool = False  # it took something back; what takes that back is none
    undone_by: str | None = None
    number: int = 0  # grows with time

    @property
    def main(self) -> Edit:
        return self.edits[0]


class ArtifactNews(Struct, frozen=True, array_like=True):
    """What the feed tells of one artifact; what happens to a list happens to its items."""

    kind: ArtifactKind
    id: ArtifactId
    action: Literal["created", "changed", "removed"]
    version: int  # that it has now, or had last
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
    """What became of a change."""

    change: ArtifactChange
    is_repeat: bool  # its key was seen before: this is the first one


class Search(Struct, frozen=True, kw_only=True):
    """Words to look for; each must be there, whole or as a part of one."""

    owner: OwnerId
    words: Sequence[str]
    kinds: Sequence[ArtifactKind] = ("item", "note")
    list_id: ArtifactId | None = None
    limit: int = 20


class Narrowing(Struct, frozen=True, kw_only=True):
    """Which items and notes a query could be about; the others need not be read."""

    items: bool = True
    notes: bool = True
    lists: Sequence[ArtifactId] | None = None  # items only of these
    words: Sequence[Sequence[str]] = ()  # folded; of each group, one is somewhere in the texts


class KeptArtifacts(Struct, frozen=True, kw_only=True, rename="camel"):
    """All of one owner, as the mirror, exports and rebuilding carry it."""

    owner: OwnerId
    artifacts: Sequence[StoredArtifact]  # lists before their items, items in order
    changes: Sequence[ArtifactChange] = ()  # the last ones, oldest first


class ArtifactStore(Protocol):
    """Lists, items, notes and views, always within one owner."""

    async def apply(self, change: NewChange) -> Changed:
        """Make a change. Raises `ConflictError`, `NotFoundError` and, where there is no room for
        more, `UsageError`; then nothing changed."""
        ...

    async def repeated(self, owner: OwnerId, key: str) -> ArtifactChange | None:
        """The change that was made with this key."""
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
        """Those of that name or title, without case; items of that list or of any, some at most."""
        ...

    async def all(self, owner: OwnerId, kind: ArtifactKind) -> Sequence[StoredArtifact]:
        """Everything of a kind by name; items by list and position."""
        ...

    async def page(
        self, owner: OwnerId, kind: ArtifactKind, *, limit: int, offset: int
    ) -> tuple[Sequence[StoredArtifact], int]:
        """A part of everything of a kind but items, by name, and how many there are in all."""
        ...

    async def names(
        self, owner: OwnerId, kind: ArtifactKind, *, limit: int | None = None
    ) -> Mapping[ArtifactId, str]:
        """What everything of a kind but items is called, by id and in order, without the rest."""
        ...

    async def narrowed(self, owner: OwnerId, to: Narrowing) -> Sequence[StoredArtifact]:
        """Items by list and position, then notes by name: all that could be meant."""
        ...

    async def items(self, owner: OwnerId, list_id: ArtifactId) -> Sequence[StoredArtifact]:
        """The items of a list, in order."""
        ...

    async def counts(self, owner: OwnerId) -> Mapping[ArtifactId, int]:
        """How many items the lists have that have any."""
        ...

    async def search(self, search: Search) -> Sequence[StoredArtifact]:
        """What has all of the words, the best first."""
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
        """The newest changes first; those about a list are also those of its items."""
        ...

    async def last_undoable(self, owner: OwnerId, area: Area) -> ArtifactChange | None:
        """The newest change that took nothing back and was not taken back."""
        ...

    async def restore(self, kept: KeptArtifacts) -> None:
        """Put everything of an owner back; what is there already stays."""
        ...
