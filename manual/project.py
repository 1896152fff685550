"""Opens an empty project to list what every project has."""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from retinue.assembly import App, open_app


@asynccontextmanager
async def empty_project() -> AsyncGenerator[App]:
    with tempfile.TemporaryDirectory() as folder:
        app = await open_app(Path(folder), {}, starts=False)
        try:
            yield app
        finally:
            await app.close()
