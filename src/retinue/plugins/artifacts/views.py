"""The plugin `views`: queries over all items and notes, kept under names."""

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from retinue.agents.artifact import ArtifactId, View
from retinue.ids import new_id
from retinue.plugins.artifacts.presentation import outcome, shown
from retinue.plugins.artifacts.query_run import answered_everywhere, check_query
from retinue.plugins.artifacts.repository import ArtifactDraft, ArtifactRepository
from retinue.plugins.artifacts.show_operation import SHOWING, Opener, open_for
from retinue.plugins.artifacts.undo import history, undo
from retinue.plugins.artifacts.validation import title_of
from retinue.plugins.operation_function import operation
from retinue.plugins.port import OperationContext
from retinue.stores.artifact_port import Put

READ, WRITE = ["views.read"], ["views.write"]
ASK = [*READ, "lists.read", "notes.read"]


class Views:
    """Operations on views."""

    def __init__(self, desk: ArtifactRepository, opener: Opener) -> None:
        self._desk = desk
        self._opener = opener

    @operation(id="list", effect="pure", capabilities=READ)
    async def all_views(
        self, ctx: OperationContext, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """List the views there are by name.

        Args:
            limit: How many to show.
            offset: How many to leave out at the beginning.
        """
        part, told = await self._desk.page(ctx.owner, "view", (), limit=limit, offset=offset)
        return {"views": [shown(one) for one in part]} | told

    @operation(effect="pure", capabilities=READ)
    async def get(self, ctx: OperationContext, view: str) -> dict[str, Any]:
        """Show the query of a view.

        Args:
            view: Its id or its name.
        """
        return {"view": shown((await self._desk.view(ctx.owner, view)).stored)}

    @operation(effect="pure", capabilities=ASK)
    async def run(
        self, ctx: OperationContext, view: str, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """Give the items and notes that a view shows now.

        Args:
            view: Its id or its name.
            limit: How many to show.
            offset: How many to leave out at the beginning.
        """
        found = await self._desk.view(ctx.owner, view)
        told = {"view": found.one.name, "query": found.one.query}
        return told | await self._answer(ctx, found.one.query, limit, offset)

    @operation(effect="pure", capabilities=ASK)
    async def query(
        self, ctx: OperationContext, query: str, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """Give the items of all lists and the notes that a query finds.

        Args:
            query: Words, or conditions such as: list = groceries AND added > -7d ORDER BY title
            limit: How many to show.
            offset: How many to leave out at the beginning.
        """
        return {"query": query} | await self._answer(ctx, query, limit, offset)

    @operation(effect="keyed", capabilities=[*ASK, SHOWING])
    async def show(
        self,
        ctx: OperationContext,
        view: str,
        panel_id: str | None = None,
        window_id: str | None = None,
    ) -> dict[str, Any]:
        """Open what a view finds in the person's window, so that they see it.

        Args:
            view: Its id or its name.
            panel_id: In which panel, as panels_list tells it; usually left out.
            window_id: In which window; the one with this conversation, or the last used one.
        """
        found = await self._desk.view(ctx.owner, view)
        return await open_for(self._opener, ctx, found.one, panel_id, window_id)

    @operation(effect="keyed", capabilities=WRITE)
    async def create(self, ctx: OperationContext, name: str, query: str) -> dict[str, Any]:
        """Keep a query under a name.

        Args:
            name: What the view is called; no other view may be called the same.
            query: Words, or conditions such as: completed = false AND due <= today ORDER BY due
        """

        async def plan(now: datetime) -> ArtifactDraft:
            new = View(
                id=ArtifactId(new_id("v")),
                name=title_of(name, "name"),
                query=await self._checked(ctx, query),
                created_at=now,
                updated_at=now,
            )
            return ArtifactDraft(puts=[Put(artifact=new)])

        return outcome(await self._desk.change(ctx, "views", "views_create", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def update(
        self, ctx: OperationContext, view: str, name: str | None = None, query: str | None = None
    ) -> dict[str, Any]:
        """Rename a view, or change its query.

        Args:
            view: Its id or its name.
            name: A new name; the id stays.
            query: A new query.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._desk.view(ctx.owner, view)
            new = replace(
                found.one,
                name=found.one.name if name is None else title_of(name, "name"),
                query=found.one.query if query is None else await self._checked(ctx, query),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._desk.change(ctx, "views", "views_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def delete(self, ctx: OperationContext, view: str) -> dict[str, Any]:
        """Delete a view, not what it shows; views_undo brings it back.

        Args:
            view: Its id or its name.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._desk.view(ctx.owner, view)).removal])

        return outcome(await self._desk.change(ctx, "views", "views_delete", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def undo(self, ctx: OperationContext, change: str = "") -> dict[str, Any]:
        """Take back the last change of any view, or a given one; itself a change.

        Args:
            change: The id of the change, from its result or from views_history.
        """
        return await undo(self._desk, ctx, "views", change)

    @operation(effect="pure", capabilities=READ)
    async def history(
        self, ctx: OperationContext, view: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Tell what was changed in views, by whom and when, the newest first.

        Args:
            view: Only this view.
            limit: How many changes.
        """
        about = (await self._desk.view(ctx.owner, view)).one.id if view else None
        return await history(self._desk, ctx.owner, "views", about, limit)

    async def _checked(self, ctx: OperationContext, query: str) -> str:
        return check_query(query, await self._desk.lists(ctx.owner), self._desk.present(ctx))

    async def _answer(
        self, ctx: OperationContext, query: str, limit: int, offset: int
    ) -> dict[str, Any]:
        present = self._desk.present(ctx)
        part, told = await answered_everywhere(
            self._desk, ctx.owner, query, present, limit=limit, offset=offset
        )
        return {"found": part} | told
