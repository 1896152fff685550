"""The plugin `lists`: the items of lists."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from retinue.agents.artifact import ArtifactId, ItemList, ListItem
from retinue.errors import NotFoundError
from retinue.ids import OwnerId, new_id
from retinue.plugins.artifacts.lists import READ, WRITE, new_list
from retinue.plugins.artifacts.presentation import check_page, outcome, shown
from retinue.plugins.artifacts.query_run import answered
from retinue.plugins.artifacts.repository import ArtifactDraft, ArtifactRepository, Found
from retinue.plugins.artifacts.validation import (
    LONGEST_NOTES,
    bounded,
    fitting,
    tags_of,
    title_of,
    url_of,
    values_of,
)
from retinue.plugins.operation_function import operation
from retinue.plugins.port import OperationContext
from retinue.stores.artifact_port import Put, Search


class Items:
    """Operations on the items of lists."""

    def __init__(self, desk: ArtifactRepository) -> None:
        self._desk = desk

    @operation(effect="pure", capabilities=READ)
    async def items_list(
        self, ctx: OperationContext, list: str, query: str = "", limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """Show the items of a list in their order, or those that a query finds.

        Args:
            list: Its id or its name.
            query: Words, or conditions such as: tag = urgent AND NOT completed = true ORDER BY due
            limit: How many to show.
            offset: How many to leave out at the beginning.
        """
        found = await self._desk.list(ctx.owner, list)
        stored = await self._desk.store.items(ctx.owner, found.one.id)
        present = self._desk.present(ctx)
        part, told = await answered(query, stored, found.one, present, limit=limit, offset=offset)
        return {"list": found.one.id, "items": part} | told

    @operation(effect="pure", capabilities=READ)
    async def items_search(
        self, ctx: OperationContext, query: str, list: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Find items by words in titles, notes, addresses and tags, in all lists or in one.

        Args:
            query: The words; each must be there, as a whole or as a part.
            list: Only this list.
            limit: How many at most.
        """
        list_id = (await self._desk.list(ctx.owner, list)).one.id if list else None
        check_page(limit=limit)
        search = Search(
            owner=ctx.owner, words=query.split(), kinds=["item"], list_id=list_id, limit=limit + 1
        )
        found = await self._desk.store.search(search)
        told: dict[str, Any] = {"items": [shown(one) for one in found[:limit]]}
        return told | ({"more": f"only the first {limit} are shown"} if len(found) > limit else {})

    @operation(effect="pure", capabilities=READ)
    async def item_get(self, ctx: OperationContext, item: str, list: str = "") -> dict[str, Any]:
        """Show one item.

        Args:
            item: Its id or its whole title.
            list: Its list's id or name; not needed where no other list has an item like it.
        """
        return {"item": shown((await self._item(ctx.owner, list, item)).stored)}

    @operation(effect="keyed", capabilities=WRITE)
    async def item_add(  # noqa: PLR0913  (its parameters are the schema)
        self,
        ctx: OperationContext,
        list: str,
        title: str,
        url: str = "",
        notes: str = "",
        tags: list[str] | None = None,
        fields: dict[str, Any] | None = None,
        position: int | None = None,
        create_list: bool = False,
    ) -> dict[str, Any]:
        """Add an item to a list.

        Args:
            list: The list's id or name.
            title: What the item is.
            url: An address that belongs to it.
            notes: More about it.
            tags: Tags beside those that new items of the list get.
            fields: Values of the list's own fields, by key.
            position: Where, from 0; at the end if left out.
            create_list: Make the list if there is none of that name.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            target, new = await self._target(ctx.owner, list, now, create=create_list)
            item = ListItem(
                id=ArtifactId(new_id("i")),
                title=title_of(title),
                url=url_of(url),
                notes=bounded(notes, LONGEST_NOTES, "notes"),
                tags=tags_of([*target.default_tags, *(tags or ())]),
                custom=values_of(target.fields, fields or {}, {}),
                created_at=now,
                updated_at=now,
            )
            put = Put(artifact=item, list_id=target.id, position=position)
            return ArtifactDraft(puts=[put, *new])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_add", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_update(  # noqa: PLR0913  (its parameters are the schema)
        self,
        ctx: OperationContext,
        item: str,
        list: str = "",
        title: str | None = None,
        url: str | None = None,
        notes: str | None = None,
        tags: list[str] | None = None,
        fields: dict[str, Any] | None = None,
        completed: bool | None = None,
        position: int | None = None,
    ) -> dict[str, Any]:
        """Change an item, or mark it as completed; what is left out stays as it is.

        Args:
            item: Its id or its whole title.
            list: Its list's id or name; not needed where no other list has an item like it.
            title: A new title.
            url: A new address; an empty text takes it away.
            notes: New notes; an empty text takes them away.
            tags: All of its tags from now on.
            fields: Values of the list's own fields; null takes one away, others stay.
            completed: Whether it is done.
            position: Where to put it, from 0.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            target = await self._desk.list(ctx.owner, found.stored.list_id or "")
            one = found.one
            done_at = one.completed_at
            if completed is not None:
                done_at = (done_at or now) if completed else None
            new = replace(
                one,
                title=one.title if title is None else title_of(title),
                url=one.url if url is None else url_of(url),
                notes=one.notes if notes is None else bounded(notes, LONGEST_NOTES, "notes"),
                tags=one.tags if tags is None else tags_of(tags),
                custom=values_of(target.one.fields, fields or {}, one.custom),
                completed_at=done_at,
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new, position=position)])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_remove(self, ctx: OperationContext, item: str, list: str = "") -> dict[str, Any]:
        """Remove an item; lists_undo brings it back.

        Args:
            item: Its id or its whole title.
            list: Its list's id or name; not needed where no other list has an item like it.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._item(ctx.owner, list, item)).removal])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_remove", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_touch(self, ctx: OperationContext, list: str, item: str) -> dict[str, Any]:
        """Mark an item as looked through now, without changing it.

        Args:
            list: Its list's id or name.
            item: Its id or its whole title.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            return ArtifactDraft(puts=[found.put(replace(found.one, touched_at=now))])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_touch", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_tag(
        self,
        ctx: OperationContext,
        list: str,
        item: str,
        add: list[str] | None = None,
        remove: list[str] | None = None,
    ) -> dict[str, Any]:
        """Add tags to an item, or take some away.

        Args:
            list: Its list's id or name.
            item: Its id or its whole title.
            add: Tags to add.
            remove: Tags to take away.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            gone = set(tags_of(remove or ()))
            tags = tags_of([*(one for one in found.one.tags if one not in gone), *(add or ())])
            return ArtifactDraft(puts=[found.put(replace(found.one, tags=tags, updated_at=now))])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_tag", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_move(
        self,
        ctx: OperationContext,
        list: str,
        item: str,
        target_list: str = "",
        position: int | None = None,
    ) -> dict[str, Any]:
        """Move an item to another place, or to another list.

        Args:
            list: The id or name of the list that it is in.
            item: Its id or its whole title.
            target_list: The id or name of the list to move it to; the same one if left out.
            position: Where, from 0; at the end if left out.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            target = await self._desk.list(ctx.owner, target_list or list)
            new = replace(
                found.one, custom=fitting(target.one.fields, found.one.custom), updated_at=now
            )
            length = (await self._desk.store.counts(ctx.owner)).get(target.one.id, 0)
            put = Put(
                artifact=new,
                version=found.stored.version,
                list_id=target.one.id,
                position=length if position is None else position,
            )
            return ArtifactDraft(puts=[put])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_move", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_copy(
        self, ctx: OperationContext, list: str, item: str, target_list: str
    ) -> dict[str, Any]:
        """Copy an item to the end of a list.

        Args:
            list: The id or name of the list that it is in.
            item: Its id or its whole title.
            target_list: The id or name of the list that gets the copy.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            target = await self._desk.list(ctx.owner, target_list)
            copy = replace(
                found.one,
                id=ArtifactId(new_id("i")),
                custom=fitting(target.one.fields, found.one.custom),
                created_at=now,
                updated_at=now,
            )
            return ArtifactDraft(puts=[Put(artifact=copy, list_id=target.one.id)])

        return outcome(await self._desk.change(ctx, "lists", "lists_item_copy", plan))

    async def _item(self, owner: OwnerId, list: str, item: str) -> Found[ListItem]:
        if not list:
            return await self._desk.item_anywhere(owner, item)
        found = await self._desk.list(owner, list)
        return await self._desk.item(owner, found.one.id, item)

    async def _target(
        self, owner: OwnerId, name: str, now: datetime, *, create: bool
    ) -> tuple[ItemList, Sequence[Put]]:
        try:
            return (await self._desk.list(owner, name)).one, ()
        except NotFoundError:
            if not create:
                raise
            made = await new_list(self._desk, owner, name, now)
            return made, [Put(artifact=made)]
