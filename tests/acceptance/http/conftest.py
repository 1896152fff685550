"""One server for each module of tests; agents are cheap, servers are not."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.acceptance.http.support import Door, opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def door(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Door]:
    project: Path = tmp_path_factory.mktemp("project")
    async with opened(project) as door:
        yield door
