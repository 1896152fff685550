"""The names of what owners keep, from memory: read once, and kept in step with what changes."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from retinue.agents.artifact import ArtifactId, ArtifactKind, folded, name_of
from retinue.agents.prompt_entries import ItemEntry, ItemGroup
from retinue.ids import OwnerId
from retinue.stores.port import Change, Store

_KINDS: tuple[ArtifactKind, ...] = ("list", "note", "view")
_OWNERS = 1_000


@dataclass(slots=True)
class _Shelf:
    names: dict[ArtifactKind, dict[ArtifactId, str]] = field(
        default_factory=dict[ArtifactKind, dict[ArtifactId, str]]
    )
    ordered: dict[ArtifactKind, list[ItemEntry]] = field(
        default_factory=dict[ArtifactKind, list[ItemEntry]]
    )
    stale: set[tuple[ArtifactKind, ArtifactId]] = field(
        default_factory=set[tuple[ArtifactKind, ArtifactId]]
    )
    is_read: bool = False


class ArtifactIndex:
    """Implements `Artifacts` over the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._shelves: dict[OwnerId, _Shelf] = {}
        self.revision = 0

    def follow(self, change: Change) -> None:
        """Note which artifacts have to be read again."""
        if not self._shelves:
            return
        self.revision += 1
        shelf = self._shelves.get(change.owner)
        if shelf is not None:
            news = change.artifacts
            shelf.stale.update((one.kind, one.id) for one in news if one.kind in _KINDS)

    async def listed(
        self, owner: OwnerId, types: Collection[str], *, limit: int
    ) -> Sequence[ItemGroup]:
        shelf = self._shelves.get(owner)
        if shelf is None:
            if len(self._shelves) >= _OWNERS:
                self._shelves.clear()
            # Kept before it is read: what changes meanwhile is looked up again.
            shelf = self._shelves[owner] = _Shelf()
        if not shelf.is_read:
            await self._read(owner, shelf)
        await self._catch_up(owner, shelf)
        return [_group(shelf, kind, limit) for kind in _KINDS if kind in types]

    async def _read(self, owner: OwnerId, shelf: _Shelf) -> None:
        found: dict[ArtifactKind, dict[ArtifactId, str]] = {
            kind: dict(await self._store.artifacts.names(owner, kind)) for kind in _KINDS
        }
        if not shelf.is_read:  # else somebody was faster, and what they read is followed already
            shelf.names = found
            shelf.is_read = True

    async def _catch_up(self, owner: OwnerId, shelf: _Shelf) -> None:
        while shelf.stale:
            kind, artifact_id = shelf.stale.pop()
            found = await self._store.artifacts.get(owner, artifact_id)
            if found is None:
                shelf.names[kind].pop(artifact_id, None)
            else:
                shelf.names[kind][artifact_id] = name_of(found.artifact)
            shelf.ordered.pop(kind, None)


def _group(shelf: _Shelf, kind: ArtifactKind, limit: int) -> ItemGroup:
    ordered = shelf.ordered.get(kind)
    if ordered is None:
        names = sorted(shelf.names[kind].items(), key=lambda entry: (folded(entry[1]), entry[0]))
        ordered = [ItemEntry(id=key, name=name) for key, name in names]
        shelf.ordered[kind] = ordered
    return ItemGroup(type=kind, items=ordered[:limit], total=len(ordered))
