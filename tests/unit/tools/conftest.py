from pathlib import Path

import pytest

from tests.unit.tools.support import Context


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    root = tmp_path / "files"
    root.mkdir()
    return Context(root)
