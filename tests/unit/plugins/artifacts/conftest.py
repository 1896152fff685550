"""Operations of artifacts over the real store, called as one of the faces does."""

import json
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.plugins.artifacts.artifact_plugins import artifact_plugins
from retinue.plugins.port import OperationContext
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.fake_clock import FakeClock
from retinue.tools.execution import as_json


class Caller:
    """Calls operations as one of the faces does."""

    def __init__(self, store: SqliteStore, zone: str = "UTC") -> None:
        self._plugins = {one.id: one for one in artifact_plugins(store.artifacts, ZoneInfo(zone))}
        self._keys = count()
        self.store = store
        self.clock = FakeClock()

    async def __call__(
        self,
        name: str,
        /,
        *,
        owner: OwnerId = LOCAL_OWNER,
        agent: AgentId | None = None,
        key: str = "",
        **arguments: Any,
    ) -> Any:
        plugin, _, operation_id = name.partition("_")
        operation = self._plugins[plugin].operation(operation_id.replace("_", "-"))
        assert operation is not None, name
        ctx = OperationContext(
            owner=owner,
            idempotency_key=key or f"key-{next(self._keys)}",
            clock=self.clock,
            agent_id=agent,
        )
        return json.loads(as_json(await operation.run(ctx, operation.validate(arguments))))


@pytest.fixture
async def call(tmp_path: Path) -> AsyncIterator[Caller]:
    store = SqliteStore(tmp_path / "data")
    await store.open()
    yield Caller(store)
    await store.close()
