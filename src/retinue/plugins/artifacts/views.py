"""The operations of the `views` plugin: saved queries over all items and notes."""

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

    def __init__(self, repository: ArtifactRepository, opener: Opener) -> None:
        self._repository = repository
        self._opener = opener

    @operation(id="list", effect="pure", capabilities=READ)
    async def all_views(
        self, ctx: OperationContext, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """List all views by name.

        Args:
            limit: Maximum number of results.
            offset: Number of results to skip.
        """
        part, info = await self._repository.page(ctx.owner, "view", (), limit=limit, offset=offset)
        return {"views": [shown(one) for one in part]} | info

    @operation(effect="pure", capabilities=READ)
    async def get(self, ctx: OperationContext, view: str) -> dict[str, Any]:
        """Show the query of a view.

        Args:
            view: The id or name of the view.
        """
        return {"view": shown((await self._repository.view(ctx.owner, view)).stored)}

    @operation(effect="pure", capabilities=ASK)
    async def run(
        self, ctx: OperationContext, view: str, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """Run a view and return the items and notes that it finds.

        Args:
            view: The id or name of the view.
            limit: Maximum number of results.
            offset: Number of results to skip.
        """
        found = await self._repository.view(ctx.owner, view)
        about = {"view": found.one.name, "query": found.one.query}
        return about | await self._answer(ctx, found.one.query, limit, offset)

    @operation(effect="pure", capabilities=ASK)
    async def query(
        self, ctx: OperationContext, query: str, limit: int = 50, offset: int = 0
    ) -> dict[str, Any]:
        """Run a query over the items of all lists and the notes.

        Args:
            query: Words, or conditions such as: list = groceries AND added > -7d ORDER BY title
            limit: Maximum number of results.
            offset: Number of results to skip.
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
        """Open the results of a view in the person's window.

        Args:
            view: The id or name of the view.
            panel_id: The panel to use, from panels_list; usually omitted.
            window_id: The window to use; default: the one with this conversation or last active.
        """
        found = await self._repository.view(ctx.owner, view)
        return await open_for(self._opener, ctx, found.one, panel_id, window_id)

    @operation(effect="keyed", capabilities=WRITE)
    async def create(self, ctx: OperationContext, name: str, query: str) -> dict[str, Any]:
        """Save a query as a view.

        Args:
            name: A unique name.
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

        return outcome(await self._repository.change(ctx, "views", "views_create", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def update(
        self, ctx: OperationContext, view: str, name: str | None = None, query: str | None = None
    ) -> dict[str, Any]:
        """Change the name or the query of a view.

        Args:
            view: The id or name of the view.
            name: The new name; the id stays the same.
            query: The new query.
        """

        async def plan(now: datetime) -> ArtifactDraft:
            found = await self._repository.view(ctx.owner, view)
            new = replace(
                found.one,
                name=found.one.name if name is None else title_of(name, "name"),
                query=found.one.query if query is None else await self._checked(ctx, query),
                updated_at=now,
            )
            return ArtifactDraft(puts=[found.put(new)])

        return outcome(await self._repository.change(ctx, "views", "views_update", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def delete(self, ctx: OperationContext, view: str) -> dict[str, Any]:
        """Delete a view, but not its results; views_undo restores it.

        Args:
            view: The id or name of the view.
        """

        async def plan(_: datetime) -> ArtifactDraft:
            return ArtifactDraft(removals=[(await self._repository.view(ctx.owner, view)).removal])

        return outcome(await self._repository.change(ctx, "views", "views_delete", plan))

    @operation(effect="keyed", capabilities=WRITE)
    async def undo(self, ctx: OperationContext, change: str = "") -> dict[str, Any]:
        """Undo the last change to any view, or a specific change.

        Args:
            change: The id of a change, from its result or from views_history.
        """
        return await undo(self._repository, ctx, "views", change)

    @operation(effect="pure", capabilities=READ)
    async def history(
        self, ctx: OperationContext, view: str = "", limit: int = 20
    ) -> dict[str, Any]:
        """Show the history of changes to views, newest first.

        Args:
            view: Show only changes to this view.
            limit: Maximum number of changes.
        """
        about = (await self._repository.view(ctx.owner, view)).one.id if view else None
        return await history(self._repository, ctx.owner, "views", about, limit)

    async def _checked(self, ctx: OperationContext, query: str) -> str:
        return check_query(
            query, await self._repository.lists(ctx.owner), self._repository.present(ctx)
        )

    async def _answer(
        self, ctx: OperationContext, query: str, limit: int, offset: int
    ) -> dict[str, Any]:
        present = self._repository.present(ctx)
        part, info = await answered_everywhere(
            self._repository, ctx.owner, query, present, limit=limit, offset=offset
        )
        return {"found": part} | info
