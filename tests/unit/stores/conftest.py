from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.stores.home import Home


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    home = Home(tmp_path / "data")
    await home.open()
    yield home
    await home.close()
