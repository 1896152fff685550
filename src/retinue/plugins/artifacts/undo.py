"""Undo: reverts a change if nothing was modified since; itself recorded as a change."""

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
    repository: ArtifactRepository, ctx: OperationContext, area: Area, change_id: str
) -> dict[str, Any]:
    """Undo a change, or the last one that has not been undone."""

    async def plan(_: datetime) -> ArtifactDraft:
        undone = await _find_change(repository, ctx.owner, area, change_id)
        return ArtifactDraft(
            puts=await _restored(repository, ctx.owner, undone),
            removals=await _removals(repository, ctx.owner, undone),
            undoes=undone.id,
            is_undo=not undone.is_undo,
        )

    try:
        change = await repository.change(ctx, area, f"{area}_undo", plan, tries=1)
    except ConflictError as error:
        raise ConflictError(f"cannot undo: {error.message}", details=error.details) from None
    return outcome(change) | {"undone": change.undoes}


async def history(
    repository: ArtifactRepository, owner: OwnerId, area: Area, about: ArtifactId | None, limit: int
) -> dict[str, Any]:
    """Return the changes, newest first."""
    wanted = max(1, min(limit, MOST_SHOWN))
    changes = await repository.store.changes(owner, area=area, about=about, limit=wanted + 1)
    result: dict[str, Any] = {"changes": [history_line(change) for change in changes[:wanted]]}
    if len(changes) > wanted:
        result["more"] = "there are older changes; use a higher limit"
    return result


async def _find_change(
    repository: ArtifactRepository, owner: OwnerId, area: Area, change_id: str
) -> ArtifactChange:
    if not change_id:
        last = await repository.store.last_undoable(owner, area)
        if last is None:
            raise NotFoundError("there is nothing to undo")
        return last
    found = await repository.store.change(owner, change_id)
    if found is None or found.area != area:
        raise NotFoundError(f"there is no change {change_id!r} of {area}; old changes are deleted")
    if found.undone_by is not None:
        raise ConflictError(f"it was already undone by {found.undone_by}")
    return found


async def _unchanged(repository: ArtifactRepository, owner: OwnerId, edit: Edit) -> int:
    """Return the version after an edit if it is still current; 0 if nothing exists."""
    there = await repository.store.get(owner, edit.one.artifact.id)
    after = edit.after
    if there is None or after is None:
        if (there is None) == (after is None):
            return 0
        state = "no longer exists" if there is None else "exists again"
        raise ConflictError(f"{name_of(edit.one.artifact)!r} {state}")
    if (there.artifact, there.list_id) != (after.artifact, after.list_id):
        raise ConflictError(f"{name_of(there.artifact)!r} was changed since")
    return there.version


async def _restored(
    repository: ArtifactRepository, owner: OwnerId, undone: ArtifactChange
) -> list[Put]:
    """Restore what the change modified or removed, including the items of a removed list."""
    gone = {edit.one.artifact.id for edit in undone.edits if edit.after is None}
    puts: list[Put] = []
    for edit in undone.edits:
        if edit.before is not None:
            is_inside = edit.before.list_id in gone
            version = 0 if is_inside else await _unchanged(repository, owner, edit)
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
    repository: ArtifactRepository, owner: OwnerId, undone: ArtifactChange
) -> list[Removal]:
    """Remove what the change created; a list only if it has no other items."""
    created = [edit for edit in undone.edits if edit.before is None]
    items = {edit.one.artifact.id: edit.one.artifact for edit in created}
    lists = {edit.one.artifact.id for edit in created if isinstance(edit.one.artifact, ItemList)}
    lengths: dict[ArtifactId, int] = {}
    for list_id in lists:
        there = await repository.store.items(owner, list_id)
        lengths[list_id] = len(there)
        if any(items.get(item.artifact.id) != item.artifact for item in there):
            raise ConflictError(f"the list {list_id!r} was changed since")
    return [
        Removal(
            id=edit.one.artifact.id,
            version=await _unchanged(repository, owner, edit),
            items=lengths.get(edit.one.artifact.id),
        )
        for edit in created
        if edit.one.list_id not in lists
    ]
