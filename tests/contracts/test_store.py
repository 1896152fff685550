"""The embedded store keeps the contract of all stores."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from retinue.stores.port import Store
from retinue.stores.sqlite.queries import WRITING
from retinue.stores.sqlite.store import SqliteStore
from retinue.stores.variable_port import VariableStore
from retinue.testing.store_artifact_contract import ArtifactStoreContract
from retinue.testing.store_contract import StoreContract
from retinue.testing.store_request_contract import RequestStoreContract
from retinue.testing.store_schedule_contract import ScheduleStoreContract, Stores
from retinue.testing.store_usage_contract import UsageStoreContract
from retinue.testing.store_variable_contract import VariableStoreContract


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        self.data = tmp_path / "data"
        self.opened = [SqliteStore(self.data)]
        await self.opened[0].open()
        yield self.opened[0]
        for store in self.opened:
            await store.close()

    async def reopened(self, store: Store) -> Store:
        await store.close()
        again = SqliteStore(self.data)
        await again.open()
        self.opened.append(again)
        return again


class TestSqliteSchedules(ScheduleStoreContract):
    @pytest.fixture
    async def stores(self, tmp_path: Path) -> AsyncIterator[Stores]:
        store = SqliteStore(tmp_path / "data")
        await store.open()
        yield store, store.schedules
        await store.close()


class TestSqliteRequests(RequestStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqliteStore(tmp_path / "data")
        await store.open()
        yield store
        await store.close()


class TestSqliteVariables(VariableStoreContract):
    @pytest.fixture
    async def variables(self, tmp_path: Path) -> AsyncIterator[VariableStore]:
        store = SqliteStore(tmp_path / "data")
        await store.open()
        yield store.variables
        await store.close()


class TestSqliteArtifacts(ArtifactStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqliteStore(tmp_path / "data")
        await store.open()
        yield store
        await store.close()


class TestSqliteArtifactsWithoutIndex(TestSqliteArtifacts):
    """Not every SQLite has the module that indexes texts."""

    @pytest.fixture(autouse=True)
    def without_index(self, monkeypatch: pytest.MonkeyPatch) -> None:
        missing = "CREATE VIRTUAL TABLE IF NOT EXISTS artifact_index USING nowhere (name, words)"
        monkeypatch.setitem(WRITING, "create_artifact_index", missing)


class TestSqliteUsage(UsageStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = SqliteStore(tmp_path / "data")
        await store.open()
        yield store
        await store.close()
