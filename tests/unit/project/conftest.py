from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.project.house import House


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    made = House(tmp_path)
    yield made
    if hasattr(made, "app"):
        await made.close()
