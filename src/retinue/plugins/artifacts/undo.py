"""Taking changes back: only where nothing was changed since, and as a change of its own."""

from datetime import datetime
from typing import Any

from retinue.agents.artifact import ArtifactId, ItemList, name_of
from retinue.errors import ConflictError, NotFoundError
from retinue.ids import OwnerId
from retinue.plugins.artifacts.presentation import MOST_SHOWN, history_line, outcome
from retinue.plugins.artifacts.repository import ArtifactDraft, ArtifactRepository
from retinue.plugins.port import OperationContext
from retinue.stores.artifact_port import (
    Area,
    ArtifactChange,
    Edit,
    Put,
    Removal,
    StoredArtifact,
)


async def undo(
    desk: ArtifactRepository, ctx: OperationContext, area: Area, change_id: str
) -> dict[str, Any]:
    """Take a change back, or the last one that was not taken back yet."""

    async def plan(_: datetime) -> ArtifactDraft:
        undone = await _meant(desk, ctx.owner, area, change_id)
        return ArtifactDraft(
            puts=await _restored(desk, ctx.owner, undone),
            removals=await _removals(desk, ctx.owner, undone),
            undoes=undone.id,
            is_undo=not undone.is_undo,
        )

    try:
        change = await desk.change(ctx, area, f"{area}_undo", plan, tries=1)
    except ConflictError as error:
        raise ConflictError(
            f"it cannot be undone: {error.message}", details=error.details
        ) from None
    return outcome(change) | {"undone": change.undoes}


async def history(
    desk: ArtifactRepository, owner: OwnerId, area: Area, about: ArtifactId | None, limit: int
) -> dict[str, Any]:
    """Tell what was changed, the newest first."""
    wanted = max(1, min(limit, MOST_SHOWN))
    changes = await desk.store.changes(owner, area=area, about=about, limit=wanted + 1)
    told: dict[str, Any] = {"changes": [history_line(change) for change in changes[:wanted]]}
    if len(changes) > wanted:
        told["more"] = "there are older changes; ask with a higher limit"
    return told


async def _meant(
    desk: ArtifactRepository, owner: OwnerId, area: Area, change_id: str
) -> ArtifactChange:
    if not change_id:
        last = await desk.store.last_undoable(owner, area)
        if last is None:
            raise NotFoundError("there is nothing to undo")
        return last
    found = await desk.store.change(owner, change_id)
    if found is None or found.area != area:
        raise NotFoundError(f"there is no change {change_id!r} of {area}; older ones are forgotten")
    if found.undone_by is not None:
        raise ConflictError(f"it was undone already, by {found.undone_by}")
    return found


async def _unchanged(desk: ArtifactRepository, owner: OwnerId, edit: Edit) -> int:
    """Give the version of what an edit left, if it is still as it left it; 0 = nothing."""
    there = await desk.store.get(owner, edit.one.artifact.id)
    after = edit.after
    if there is None or after is None:
        if (there is None) == (after is None):
            return 0
        state = "is gone" if there is None else "is there again"
        raise ConflictError(f"{name_of(edit.one.artifact)!r} {state}")
    if (there.artifact, there.list_id) != (after.artifact, after.list_id):
        raise ConflictError(f"{name_of(there.artifact)!r} was changed meanwhile")
    return there.version


async def _restored(desk: ArtifactRepository, owner: OwnerId, undone: ArtifactChange) -> list[Put]:
    """Put back what the change altered or removed; items of a list that went, with the list."""
    gone = {edit.one.artifact.id for edit in undone.edits if edit.after is None}
    puts: list[Put] = []
    for edit in undone.edits:
        if edit.before is not None:
            is_inside = edit.before.list_id in gone
            version = 0 if is_inside else await _unchanged(desk, owner, edit)
            puts.append(_before(edit, edit.before, version))
    return puts


def _before(edit: Edit, before: StoredArtifact, version: int) -> Put:
    after = edit.after
    is_where_it_was = after is not None and (before.list_id, before.position) == (
        after.list_id,
        after.position,
    )
    return Put(
        artifact=before.artifact,
        version=version,
        first=before.version + 2,
        list_id=before.list_id,
        position=None if is_where_it_was else before.position,
    )


async def _removals(
    desk: ArtifactRepository, owner: OwnerId, undone: ArtifactChange
) -> list[Removal]:
    """Take away what the change made; a list only with the items that came with it."""
    made = [edit for edit in undone.edits if edit.before is None]
    items = {edit.one.artifact.id: edit.one.artifact for edit in made}
    lists = {edit.one.artifact.id for edit in made if isinstance(edit.one.artifact, ItemList)}
    lengths: dict[ArtifactId, int] = {}
    for list_id in lists:
        there = await desk.store.items(owner, list_id)
        lengths[list_id] = len(there)
        if any(items.get(item.artifact.id) != item.artifact for item in there):
            raise ConflictError(f"the list {list_id!r} was changed meanwhile")
    return [
        Removal(
            id=edit.one.artifact.id,
            version=await _unchanged(desk, owner, edit),
            items=lengths.get(edit.one.artifact.id),
        )
        for edit in made
        if edit.one.list_id not in lists
    ]
