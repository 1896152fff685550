from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import pytest

from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, ScriptedModel
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit, Stage

Script = Iterable[Answer] | Callable[[ModelRequest], Answer]


class Start(Protocol):
    """Starts an engine; the options are those of a `Stage`."""

    async def __call__(self, script: Script | ScriptedModel, **options: Any) -> Kit: ...


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Start an engine whose main model plays a script, and close it after the test."""
    opened: list[Kit] = []

    async def start_engine(script: Script | ScriptedModel, **options: Any) -> Kit:
        model = script if isinstance(script, ScriptedModel) else ScriptedModel(script, name="main")
        more = options.pop("models", {})
        directory = options.pop("directory", tmp_path)
        kit = Kit(Stage(directory=directory, models={"main": model, **more}, **options))
        await kit.open()
        opened.append(kit)
        return kit

    yield start_engine
    for kit in opened:
        await kit.close()
