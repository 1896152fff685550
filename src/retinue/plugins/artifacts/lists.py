"""The plugin `lists`: lists as wholes. Their items are in `items`."""

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
    """A field of a list's items."""

    label: Annotated[str, Field(description="The name that people see.")]
    type: Annotated[FieldType, Field(description="The type of its values.")] = "text"
    key: Annotated[str, Field(description="The name in queries; made from the label if empty.")] = (
        ""
    )
    options: Annotated[
        tuple[str, ...], Field(description="The values to choose from, for the type select.")
    ] = ()

    def field(self) -> CustomField:
        return field_of(self.label, self.type, self.key, self.options)


class Lists:
    """Operations on lists."""

    def __init__(self, desk: ArtifactRepository, opener: Opener) -> None:
        self._desk = desk
        self._opener = opener

    @operation(id="list", effect="pure", capabilities=READ)
    async def all_lists(
        self, ctx: OperationContext, tags: list[str] | None = None, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """List the lists there are, with how many items they have.

        Args:
            tags: Only lists with all of these tags.
            limit: How many to show.
            offset: How many to leave out at the beginning.
        """
        wanted = tags_of(tags or ())
        part, told = await self._desk.page(ctx.owner, "list", wanted, limit=limit, offset=offset)
        counts = await self._desk.store.counts(ctx.owner)
        lists = [listed(one, counts.get(one.artifact.id, 0)) for one in part]
        return {"lists": lists} | told

    @operation(effect="pure", capabilities=READ)
    async def get(self, ctx: OperationContext, list: str) -> dict[str, Any]:
        """Show a list: its description, tags and fields, and how many items it has.

        Args:
            list: Its id or its name.
        """
        found = await self._desk.list(ctx.owner, list)
        counts = await self._desk.store.counts(ctx.owner)
        return {"list": listed(found.stored, counts.get(found.one.id, 0))}

    @operation(effect="keyed", capabilities=[*READ, SHOWING])
    async def show(
        self,
        ctx: OperationContext,
        list: str,
        panel_id: str | None = None,
        window_id: str | None = None,
    ) -> dict[str, Any]:
        """Open a list in the person's window, so that they see it.

        Args:
            list: Its id or its name.
            panel_id: In which panel, as panels_list tells it; usually left out.
            window_id: In which window; the one with this conversation, or the last used one.
        """
        found = await self._desk.list(ctx.owner, list)
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
        """Make a new list.

        Args:
            name: What it is called; no other list may be called the same.
            description: What it is for.
            tags: Tags of the list itself.
            default_tags: Tags that new items get.
            fields: Fields that its items have beside title, url, notes and tags.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            new = replace(
                await new_list(self._desk, ctx.owner, name, now),
                description=bounded(description, LONGEST_NOTES, "description"),
                tags=tags_of(tags or ()),
                default_tags=tags_of(default_tags or ()),
                fields=fields_of([spec.field() for spec in fields or ()]),
            )
            return ArtifactDraft(puts=[Put(artifact=new)])

        return outcome(await self._desk.change(ctx, "lists", "lists_create", plan))

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
        """Change a list; what is left out stays as it is.

        Args:
            list: Its id or its name.
            name: A new name; the id stays.
            description: A new description.
            tags: All of its tags from now on.
            default_tags: All tags that new items get.
            fields: All fields of its items; values of fields that are not named are kept unseen.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._desk.list(ctx.owner, list)
            one = found.one
            called = one.name if name is None else title_of(name, "name")
            if called != one.name:
                await self._desk.check_list_name(ctx.owner, called, one.id)
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

        return outcome(await self._desk.change(ctx, "lists", "lists_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def delete(self, ctx: OperationContext, list: str) -> dict[str, Any]:
        """Delete a list with all of its items; lists_undo brings them back.

        Args:
            list: Its id or its name.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._desk.list(ctx.owner, list)).removal])

        return outcome(await self._desk.change(ctx, "lists", "lists_delete", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def undo(self, ctx: OperationContext, change: str = "") -> dict[str, Any]:
        """Take back the last change of any list or item, or a given one; itself a change.

        Args:
            change: The id of the change, from its result or from lists_history.
        """
        return await undo(self._desk, ctx, "lists", change)

    @operation(effect="pure", capabilities=READ)
    async def history(
        self, ctx: OperationContext, list: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Tell what was changed in lists, by whom and when, the newest first.

        Args:
            list: Only this list and its items.
            limit: How many changes.
        """
        about = (await self._desk.list(ctx.owner, list)).one.id if list else None
        return await history(self._desk, ctx.owner, "lists", about, limit)


async def new_list(desk: ArtifactRepository, owner: OwnerId, name: str, now: datetime) -> ItemList:
    called = title_of(name, "name")
    list_id = await desk.free_list_id(owner, called)
    return ItemList(id=list_id, name=called, created_at=now, updated_at=now)
