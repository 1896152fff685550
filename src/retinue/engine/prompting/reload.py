"""Definitions and tools as their files are now; what runs their code never runs on the loop."""

import asyncio

from retinue.definitions.catalog import Catalog
from retinue.problems import LoadProblem
from retinue.tools.port import Toolbox
from retinue.tools.threads import in_thread


class Reload:
    """Looks at the files when asked; while they are loaded, whoever asks waits for the same."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._loading: asyncio.Task[bool] | None = None

    async def definitions(self) -> None:
        """Take up what changed in definitions and prompts."""
        if self._loading is None or self._loading.done():
            if not self._catalog.has_news():
                return
            loading = in_thread(self._catalog.refresh, name="load definitions")
            self._loading = asyncio.create_task(loading)
        await asyncio.shield(self._loading)

    async def everything(self, toolbox: Toolbox) -> None:
        """Take up what changed in any file; tools first, since definitions are checked by them."""
        await toolbox.tools()
        await self.definitions()

    def shown(self, toolbox: Toolbox) -> tuple[int, tuple[LoadProblem, ...]]:
        """What people see of it: another value means that they should look again."""
        return self._catalog.revision, tuple(toolbox.problems())
