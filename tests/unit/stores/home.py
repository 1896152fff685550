"""A data directory to lose the database of, for tests of what stands in its folders."""

import json
from pathlib import Path
from typing import Any

from retinue.ids import AgentId
from retinue.stores.folders.mirror import Mirror
from retinue.stores.folders.rebuild import Rebuilt, open_or_rebuild
from retinue.stores.sqlite.store import SqliteStore


class Home:
    """A data directory with its store and its mirror."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self.store = SqliteStore(data)
        self.mirror = Mirror(self.store)
        self.report: Rebuilt | None = None

    async def open(self) -> SqliteStore:
        self.store = SqliteStore(self.data)
        self.mirror = Mirror(self.store)
        self.report = await open_or_rebuild(self.store)
        await self.mirror.start()
        return self.store

    async def close(self) -> None:
        await self.mirror.stop()
        await self.store.close()

    async def again(self) -> "Home":
        """Close, and open anew without the database."""
        await self.close()
        self.lose_database()
        await self.open()
        return self

    def lose_database(self) -> None:
        for path in self.data.glob("retinue.db*"):
            path.unlink()

    def folder(self, agent_id: AgentId) -> Path:
        return self.data / "agents" / agent_id

    def state(self, agent_id: AgentId) -> dict[str, Any]:
        return json.loads((self.folder(agent_id) / "state.json").read_bytes())

    def lines(self, agent_id: AgentId) -> list[bytes]:
        return (self.folder(agent_id) / "history.jsonl").read_bytes().splitlines()
