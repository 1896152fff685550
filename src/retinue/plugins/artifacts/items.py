"""The operations of the `lists` plugin on items."""

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

    def __init__(self, repository: ArtifactRepository) -> None:
        self._repository = repository

    @operation(effect="pure", capabilities=READ)
    async def items_list(
        self, ctx: OperationContext, list: str, query: str = "", limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """Show the items of a list in order, or those that match a query.

        Args:
            list: The id or name of the list.
            query: Words, or conditions such as: tag = urgent AND NOT completed = true ORDER BY due
            limit: Maximum number of results.
            offset: Number of results to skip.
        """
        found = await self._repository.list(ctx.owner, list)
        stored = await self._repository.store.items(ctx.owner, found.one.id)
        present = self._repository.present(ctx)
        part, info = await answered(query, stored, found.one, present, limit=limit, offset=offset)
        return {"list": found.one.id, "items": part} | info

    @operation(effect="pure", capabilities=READ)
    async def items_search(
        self, ctx: OperationContext, query: str, list: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Search items by words in titles, notes, URLs and tags, in one list or all lists.

        Args:
            query: Words that must all occur, whole or in part.
            list: Search only this list.
            limit: Maximum number of results.
        """
        list_id = (await self._repository.list(ctx.owner, list)).one.id if list else None
        check_page(limit=limit)
        search = Search(
            owner=ctx.owner, words=query.split(), kinds=["item"], list_id=list_id, limit=limit + 1
        )
        found = await self._repository.store.search(search)
        items: dict[str, Any] = {"items": [shown(one) for one in found[:limit]]}
        return items | ({"more": f"only the first {limit} are shown"} if len(found) > limit else {})

    @operation(effect="pure", capabilities=READ)
    async def item_get(self, ctx: OperationContext, item: str, list: str = "") -> dict[str, Any]:
        """Show one item.

        Args:
            item: The id or full title of the item.
            list: The id or name of its list; needed only if the title is ambiguous.
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
            list: The id or name of the list.
            title: The title of the item.
            url: A URL for the item.
            notes: Additional notes.
            tags: Tags in addition to the list's default tags.
            fields: Values of the list's custom fields, by key.
            position: The position, starting at 0; default: at the end.
            create_list: Create the list if it does not exist.
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

        return outcome(await self._repository.change(ctx, "lists", "lists_item_add", plan))

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
        """Change an item, or mark it as completed; omitted values stay unchanged.

        Args:
            item: The id or full title of the item.
            list: The id or name of its list; needed only if the title is ambiguous.
            title: The new title.
            url: The new URL; empty to remove it.
            notes: The new notes; empty to remove them.
            tags: The new tags; they replace all existing tags.
            fields: New values of custom fields; null removes a value, others stay unchanged.
            completed: Whether the item is completed.
            position: The new position, starting at 0.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            target = await self._repository.list(ctx.owner, found.stored.list_id or "")
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

        return outcome(await self._repository.change(ctx, "lists", "lists_item_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_remove(self, ctx: OperationContext, item: str, list: str = "") -> dict[str, Any]:
        """Remove an item; lists_undo restores it.

        Args:
            item: The id or full title of the item.
            list: The id or name of its list; needed only if the title is ambiguous.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._item(ctx.owner, list, item)).removal])

        return outcome(await self._repository.change(ctx, "lists", "lists_item_remove", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_touch(self, ctx: OperationContext, list: str, item: str) -> dict[str, Any]:
        """Mark an item as reviewed, without changing it.

        Args:
            list: The id or name of its list.
            item: The id or full title of the item.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            return ArtifactDraft(puts=[found.put(replace(found.one, touched_at=now))])

        return outcome(await self._repository.change(ctx, "lists", "lists_item_touch", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_tag(
        self,
        ctx: OperationContext,
        list: str,
        item: str,
        add: list[str] | None = None,
        remove: list[str] | None = None,
    ) -> dict[str, Any]:
        """Add tags to an item, or remove tags.

        Args:
            list: The id or name of its list.
            item: The id or full title of the item.
            add: Tags to add.
            remove: Tags to remove.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            gone = set(tags_of(remove or ()))
            tags = tags_of([*(one for one in found.one.tags if one not in gone), *(add or ())])
            return ArtifactDraft(puts=[found.put(replace(found.one, tags=tags, updated_at=now))])

        return outcome(await self._repository.change(ctx, "lists", "lists_item_tag", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_move(
        self,
        ctx: OperationContext,
        list: str,
        item: str,
        target_list: str = "",
        position: int | None = None,
    ) -> dict[str, Any]:
        """Move an item to another position or another list.

        Args:
            list: The id or name of its current list.
            item: The id or full title of the item.
            target_list: The id or name of the target list; default: the current list.
            position: The new position, starting at 0; default: at the end.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            target = await self._repository.list(ctx.owner, target_list or list)
            new = replace(
                found.one, custom=fitting(target.one.fields, found.one.custom), updated_at=now
            )
            length = (await self._repository.store.counts(ctx.owner)).get(target.one.id, 0)
            put = Put(
                artifact=new,
                version=found.stored.version,
                list_id=target.one.id,
                position=length if position is None else position,
            )
            return ArtifactDraft(puts=[put])

        return outcome(await self._repository.change(ctx, "lists", "lists_item_move", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def item_copy(
        self, ctx: OperationContext, list: str, item: str, target_list: str
    ) -> dict[str, Any]:
        """Copy an item to the end of a list.

        Args:
            list: The id or name of its current list.
            item: The id or full title of the item.
            target_list: The id or name of the target list.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._item(ctx.owner, list, item)
            target = await self._repository.list(ctx.owner, target_list)
            copy = replace(
                found.one,
                id=ArtifactId(new_id("i")),
                custom=fitting(target.one.fields, found.one.custom),
                created_at=now,
                updated_at=now,
            )
            return ArtifactDraft(puts=[Put(artifact=copy, list_id=target.one.id)])

        return outcome(await self._repository.change(ctx, "lists", "lists_item_copy", plan))

    async def _item(self, owner: OwnerId, list: str, item: str) -> Found[ListItem]:
        if not list:
            return await self._repository.item_anywhere(owner, item)
        found = await self._repository.list(owner, list)
        return await self._repository.item(owner, found.one.id, item)

    async def _target(
        self, owner: OwnerId, name: str, now: datetime, *, create: bool
    ) -> tuple[ItemList, Sequence[Put]]:
        try:
            return (await self._repository.list(owner, name)).one, ()
        except NotFoundError:
            if not create:
                raise
            new = await new_list(self._repository, owner, name, now)
            return new, [Put(artifact=new)]
