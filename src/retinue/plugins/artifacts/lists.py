"""The operations of the `lists` plugin on whole lists; `items` has those on items."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from msgspec.structs import replace
from pydantic import Field

from retinue.agents.artifact import CustomField, FieldType, ItemList
from retinue.ids import OwnerId
from retinue.plugins.artifacts.presentation import listed, outcome
from retinue.plugins.artifacts.repository import ArtifactDraft, ArtifactRepository
from retinue.plugins.artifacts.show_operation import SHOWING, Opener, open_for
from retinue.plugins.artifacts.undo import history, undo
from retinue.plugins.artifacts.validation import (
    LONGEST_NOTES,
    bounded,
    field_of,
    fields_of,
    tags_of,
    title_of,
)
from retinue.plugins.operation_function import operation
from retinue.plugins.port import OperationContext
from retinue.stores.artifact_port import Put

READ, WRITE = ["lists.read"], ["lists.write"]


@dataclass
class FieldSpec:
    """A custom field of a list's items."""

    label: Annotated[str, Field(description="The display name.")]
    type: Annotated[FieldType, Field(description="The type of its values.")] = "text"
    key: Annotated[
        str, Field(description="The name in queries; default: derived from the label.")
    ] = ""
    options: Annotated[tuple[str, ...], Field(description="The choices of a select field.")] = ()

    def field(self) -> CustomField:
        return field_of(self.label, self.type, self.key, self.options)


class Lists:
    """Operations on lists."""

    def __init__(self, repository: ArtifactRepository, opener: Opener) -> None:
        self._repository = repository
        self._opener = opener

    @operation(id="list", effect="pure", capabilities=READ)
    async def all_lists(
        self, ctx: OperationContext, tags: list[str] | None = None, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """List all lists with their item counts.

        Args:
            tags: Show only lists that have all of these tags.
            limit: Maximum number of results.
            offset: Number of results to skip.
        """
        wanted = tags_of(tags or ())
        part, info = await self._repository.page(
            ctx.owner, "list", wanted, limit=limit, offset=offset
        )
        counts = await self._repository.store.counts(ctx.owner)
        lists = [listed(one, counts.get(one.artifact.id, 0)) for one in part]
        return {"lists": lists} | info

    @operation(effect="pure", capabilities=READ)
    async def get(self, ctx: OperationContext, list: str) -> dict[str, Any]:
        """Show a list: its description, tags, fields and item count.

        Args:
            list: The id or name of the list.
        """
        found = await self._repository.list(ctx.owner, list)
        counts = await self._repository.store.counts(ctx.owner)
        return {"list": listed(found.stored, counts.get(found.one.id, 0))}

    @operation(effect="keyed", capabilities=[*READ, SHOWING])
    async def show(
        self,
        ctx: OperationContext,
        list: str,
        panel_id: str | None = None,
        window_id: str | None = None,
    ) -> dict[str, Any]:
        """Open a list in the person's window.

        Args:
            list: The id or name of the list.
            panel_id: The panel to use, from panels_list; usually omitted.
            window_id: The window to use; default: the one with this conversation or last active.
        """
        found = await self._repository.list(ctx.owner, list)
        return await open_for(self._opener, ctx, found.one, panel_id, window_id)

    @operation(effect="keyed", capabilities=WRITE)
    async def create(
        self,
        ctx: OperationContext,
        name: str,
        description: str = "",
        tags: list[str] | None = None,
        default_tags: list[str] | None = None,
        fields: list[FieldSpec] | None = None,
    ) -> dict[str, Any]:
        """Create a list.

        Args:
            name: A unique name.
            description: The purpose of the list.
            tags: Tags of the list itself.
            default_tags: Tags that are added to new items.
            fields: Custom fields of its items, in addition to title, url, notes and tags.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            new = replace(
                await new_list(self._repository, ctx.owner, name, now),
                description=bounded(description, LONGEST_NOTES, "description"),
                tags=tags_of(tags or ()),
                default_tags=tags_of(default_tags or ()),
                fields=fields_of([spec.field() for spec in fields or ()]),
            )
            return ArtifactDraft(puts=[Put(artifact=new)])

        return outcome(await self._repository.change(ctx, "lists", "lists_create", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def update(
        self,
        ctx: OperationContext,
        list: str,
        name: str | None = None,
        description: str | None = None,
        tags: list[str] | None = None,
        default_tags: list[str] | None = None,
        fields: list[FieldSpec] | None = None,
    ) -> dict[str, Any]:
        """Change a list; omitted values stay unchanged.

        Args:
            list: The id or name of the list.
            name: The new name; the id stays the same.
            description: The new description.
            tags: The new tags; they replace all existing tags.
            default_tags: The new tags for new items; they replace all existing ones.
            fields: The new custom fields; values of removed fields are kept, but hidden.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._repository.list(ctx.owner, list)
            one = found.one
            called = one.name if name is None else title_of(name, "name")
            if called != one.name:
                await self._repository.check_list_name(ctx.owner, called, one.id)
            new = replace(
                one,
                name=called,
                description=one.description
                if description is None
                else bounded(description, LONGEST_NOTES, "description"),
                tags=one.tags if tags is None else tags_of(tags),
                default_tags=one.default_tags if default_tags is None else tags_of(default_tags),
                fields=one.fields
                if fields is None
                else fields_of([spec.field() for spec in fields]),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._repository.change(ctx, "lists", "lists_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def delete(self, ctx: OperationContext, list: str) -> dict[str, Any]:
        """Delete a list with all of its items; lists_undo restores them.

        Args:
            list: The id or name of the list.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._repository.list(ctx.owner, list)).removal])

        return outcome(await self._repository.change(ctx, "lists", "lists_delete", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def undo(self, ctx: OperationContext, change: str = "") -> dict[str, Any]:
        """Undo the last change to any list or item, or a specific change.

        Args:
            change: The id of a change, from its result or from lists_history.
        """
        return await undo(self._repository, ctx, "lists", change)

    @operation(effect="pure", capabilities=READ)
    async def history(
        self, ctx: OperationContext, list: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Show the history of changes to lists, newest first.

        Args:
            list: Show only changes to this list and its items.
            limit: Maximum number of changes.
        """
        about = (await self._repository.list(ctx.owner, list)).one.id if list else None
        return await history(self._repository, ctx.owner, "lists", about, limit)


async def new_list(
    repository: ArtifactRepository, owner: OwnerId, name: str, now: datetime
) -> ItemList:
    called = title_of(name, "name")
    list_id = await repository.free_list_id(owner, called)
    return ItemList(id=list_id, name=called, created_at=now, updated_at=now)
