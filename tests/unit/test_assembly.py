"""Opening a project whole, or not at all."""

import threading
from pathlib import Path

import pytest

from retinue.assembly import open_app
from retinue.engine.engine import Engine


async def test_a_start_that_fails_closes_what_it_had_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Engine.start

    async def begin_and_fail(engine: Engine) -> None:
        await begin(engine)
        raise OSError("no more files")

    before = set(threading.enumerate())
    monkeypatch.setattr(Engine, "start", begin_and_fail)
    with pytest.raises(OSError, match="no more files"):
        await open_app(tmp_path, {})
    left = {thread.name for thread in set(threading.enumerate()) - before}
    assert not [name for name in left if name.startswith("retinue")]
    monkeypatch.setattr(Engine, "start", begin)
    app = await open_app(tmp_path, {})
    await app.close()
