"""What schedules see of lists."""

from collections.abc import AsyncIterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from retinue.agents.artifact import CustomField
from retinue.agents.watch import Mark, difference, digest_of
from retinue.errors import NotFoundError
from retinue.ids import LOCAL_OWNER
from retinue.plugins.artifacts.due_items import DueLists
from retinue.plugins.artifacts.repository import ArtifactRepository
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.fake_clock import FakeClock
from retinue.testing.store_artifact_contract import (
    GROCERIES,
    a_list,
    an_item,
    put,
)
from retinue.testing.store_samples import START, STRANGER


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "data")
    await store.open()
    yield store
    await store.close()


async def test_an_item_is_told_when_it_changes_and_when_it_becomes_due(store: SqliteStore) -> None:
    clock = FakeClock(START)
    lists = DueLists(ArtifactRepository(store.artifacts, ZoneInfo("UTC")), clock)
    fields = (CustomField(key="due", label="Due", type="date"),)
    await put(store.artifacts, replace(a_list(), fields=fields))
    bins = replace(an_item("i1", "Put the bins out"), custom={"due": "2026-11-17"})
    await put(store.artifacts, bins, list_id=GROCERIES)
    await put(store.artifacts, an_item("i2", "Water the plants"), list_id=GROCERIES)

    async def seen() -> str:
        return await lists.due(LOCAL_OWNER, "groceries")

    first = await seen()
    assert first == "- Put the bins out (due: 2026-11-17)\n- Water the plants"
    mark = Mark(since=START, digest=digest_of(first), seen=first)
    assert difference(mark, await seen()) is None
    clock.advance(86_400)
    told = difference(mark, await seen())
    assert told is not None and "+- Put the bins out [due] (due: 2026-11-17)" in told
    assert "+- Water" not in told
    done = replace(an_item("i2", "Water the plants"), completed_at=START)
    await put(store.artifacts, done, version=1, list_id=GROCERIES)
    assert "Water" not in await seen()
    with pytest.raises(NotFoundError):
        await lists.due(STRANGER, "groceries")
