"""What agents asked survives the database, and goes along with an export."""

from pathlib import Path

import pytest

from retinue.errors import ConflictError
from retinue.ids import LOCAL_OWNER, OwnerId, RequestId
from retinue.stores.folders.archive import export_to, import_from
from retinue.stores.folders.comparison import compare
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_request_contract import a_decision, a_request, asking
from tests.unit.stores.home import Home


async def test_a_pending_request_survives_the_loss_of_the_database(home: Home) -> None:
    runner = await asking(home.store, "q1", "q2")
    decided = await home.store.requests.settle(a_decision("q2"))
    await home.mirror.stop()
    assert await compare(home.store, home.data) == []
    again = (await home.again()).store
    settled, open_one = await again.requests.list(LOCAL_OWNER)
    assert open_one == a_request(runner.id)
    assert settled == decided
    with pytest.raises(ConflictError, match="already decided: allowed"):
        await again.requests.settle(a_decision("q2"))
    assert (await again.requests.settle(a_decision())).status == "allowed"
    items = await again.open_items(LOCAL_OWNER, runner.id)
    assert [item.kind for item in items] == ["answer", "answer"]


async def test_an_imported_request_is_the_new_owner_s(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "old")
    await store.open()
    runner = await asking(store)
    await export_to(tmp_path / "all.tar.gz", store, tmp_path / "old", [runner.id])
    await store.close()
    other = SqliteStore(tmp_path / "new")
    await other.open()
    bob = OwnerId("bob")
    await import_from(tmp_path / "all.tar.gz", other, tmp_path / "new", owner=bob)
    assert (await other.requests.get(bob, RequestId("q1"))).owner == "bob"
    assert (await other.requests.settle(a_decision(owner=bob))).status == "allowed"
    await other.close()
