"""Finds artifacts and applies changes idempotently."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar
from zoneinfo import ZoneInfo

from retinue.agents.artifact import (
    Artifact,
    ArtifactId,
    ArtifactKind,
    ItemList,
    ListItem,
    Note,
    View,
    folded,
    kind_of,
)
from retinue.errors import ConflictError, NotFoundError, UsageError
from retinue.ids import OwnerId, new_id
from retinue.plugins.artifacts.presentation import check_page, page, page_info
from retinue.plugins.artifacts.query.date_values import Present
from retinue.plugins.artifacts.validation import slug_of
from retinue.plugins.port import OperationContext
from retinue.stores.artifact_port import (
    Area,
    ArtifactChange,
    ArtifactStore,
    NewChange,
    Put,
    Removal,
    StoredArtifact,
)

_TRIES = 5
_NAMED = 20
_ALIKE = 100  # lists whose names lead to the same id

A = TypeVar("A", bound=Artifact)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Generic[A]):
    """An artifact and its stored form."""

    one: A
    stored: StoredArtifact

    def put(self, artifact: Artifact, *, position: int | None = None) -> Put:
        """Return a replacement at the same position, unless another one is given."""
        return Put(
            artifact=artifact,
            version=self.stored.version,
            list_id=self.stored.list_id,
            position=position,
        )

    @property
    def removal(self) -> Removal:
        return Removal(id=self.one.id, version=self.stored.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactDraft:
    """The writes of a change, based on the current state."""

    puts: Sequence[Put] = ()
    removals: Sequence[Removal] = ()
    undoes: str | None = None
    is_undo: bool = False


Plan = Callable[[datetime], Awaitable[ArtifactDraft]]


class ArtifactRepository:
    """The artifacts of all owners; every call is for one owner."""

    def __init__(self, store: ArtifactStore, zone: ZoneInfo) -> None:
        self.store = store
        self._zone = zone

    def present(self, ctx: OperationContext) -> Present:
        return self.present_at(ctx.clock.now())

    def present_at(self, now: datetime) -> Present:
        return Present(now, self._zone)

    async def change(
        self, ctx: OperationContext, area: Area, action: str, plan: Plan, *, tries: int = _TRIES
    ) -> ArtifactChange:
        """Apply a plan once per idempotency key; on a conflicting write, plan again."""
        first = await self.store.repeated(ctx.owner, ctx.idempotency_key)
        if first is not None and first.action == action:
            return first
        while True:
            tries -= 1
            now = ctx.clock.now()
            draft = await plan(now)
            new = NewChange(
                id=new_id("h"),
                owner=ctx.owner,
                at=now,
                area=area,
                action=action,
                by=ctx.agent_id,
                key=ctx.idempotency_key,
                puts=draft.puts,
                removals=draft.removals,
                undoes=draft.undoes,
                is_undo=draft.is_undo,
            )
            try:
                return (await self.store.apply(new)).change
            except ConflictError:
                if tries <= 0:
                    raise

    # -- finding

    async def list(self, owner: OwnerId, name: str) -> Found[ItemList]:
        return _as(ItemList, await self._find(owner, "list", name))

    async def note(self, owner: OwnerId, name: str) -> Found[Note]:
        return _as(Note, await self._find(owner, "note", name))

    async def view(self, owner: OwnerId, name: str) -> Found[View]:
        return _as(View, await self._find(owner, "view", name))

    async def item(self, owner: OwnerId, list_id: ArtifactId, name: str) -> Found[ListItem]:
        """Find an item of a list by its id or its title, ignoring case."""
        stored = await self.store.get(owner, ArtifactId(name))
        if stored is None or stored.list_id != list_id:
            titled = await self.store.named(owner, "item", name, list_id=list_id)
            if len(titled) > 1:
                ids = ", ".join(one.artifact.id for one in titled)
                raise UsageError(f"several items are named {name!r}: use one of the ids {ids}")
            if not titled:
                raise NotFoundError(f"the list {list_id!r} has no item {name!r}")
            stored = titled[0]
        return _as(ListItem, stored)

    async def item_anywhere(self, owner: OwnerId, name: str) -> Found[ListItem]:
        """Find an item in any list. Raises `UsageError` if the title is ambiguous."""
        stored = await self.store.get(owner, ArtifactId(name))
        if stored is not None and stored.list_id is not None:
            return _as(ListItem, stored)
        found = await self.store.named(owner, "item", name)
        if len(found) > 1:
            places = ", ".join(sorted({one.list_id or "" for one in found}))
            raise UsageError(f"several items are named {name!r}: specify the list ({places})")
        if not found:
            raise NotFoundError(f"no list has an item {name!r}")
        return _as(ListItem, found[0])

    async def lists(self, owner: OwnerId) -> Sequence[ItemList]:
        stored = await self.store.all(owner, "list")
        return [one.artifact for one in stored if isinstance(one.artifact, ItemList)]

    async def page(
        self, owner: OwnerId, kind: ArtifactKind, tags: Sequence[str], *, limit: int, offset: int
    ) -> tuple[Sequence[StoredArtifact], dict[str, Any]]:
        """Return a page of artifacts of a kind, sorted by name, that have all of the tags."""
        check_page(limit=limit, offset=offset)
        if not tags:
            part, total = await self.store.page(owner, kind, limit=limit, offset=offset)
            return part, page_info(len(part), total, offset)
        stored = await self.store.all(owner, kind)
        fitting = [one for one in stored if {*tags} <= {*one.artifact.tags}]
        return page(fitting, limit=limit, offset=offset)

    async def free_list_id(self, owner: OwnerId, name: str) -> ArtifactId:
        """Return an unused id for a new list, derived from its name if possible."""
        await self.check_list_name(owner, name)
        slug = slug_of(name)
        for wanted in [slug, *(f"{slug}-{number}" for number in range(2, _ALIKE))] if slug else ():
            if await self.store.get(owner, ArtifactId(wanted)) is None:
                return ArtifactId(wanted)
        return ArtifactId(new_id("l"))

    async def check_list_name(
        self, owner: OwnerId, name: str, own: ArtifactId | None = None
    ) -> None:
        """Reject a name that is the id of another list, since lookups would be ambiguous."""
        other = await self.store.get(owner, ArtifactId(folded(name)))
        if other is None or not isinstance(other.artifact, ItemList) or other.artifact.id == own:
            return
        if folded(other.artifact.name) != folded(name):
            raise ConflictError(
                f"{name!r} is the id of the list {other.artifact.name!r}: choose another name"
            )

    async def _find(self, owner: OwnerId, kind: ArtifactKind, name: str) -> StoredArtifact:
        stored = await self.store.get(owner, ArtifactId(name))
        if stored is not None and kind_of(stored.artifact) == kind:
            return stored
        named = await self.store.named(owner, kind, " ".join(name.split()))
        if named:
            return named[0]
        there = [*(await self.store.names(owner, kind, limit=_NAMED + 1)).values()]
        known = ", ".join(there[:_NAMED]) + (" and more" if len(there) > _NAMED else "") or "none"
        raise NotFoundError(f"there is no {kind} {name!r}; existing {kind}s: {known}")


def _as(kind: type[A], stored: StoredArtifact) -> Found[A]:
    if not isinstance(stored.artifact, kind):
        raise NotFoundError(f"{stored.artifact.id!r} is a {kind_of(stored.artifact)}")
    return Found(one=stored.artifact, stored=stored)
