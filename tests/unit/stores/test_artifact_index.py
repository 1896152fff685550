"""The index of texts: a convenience that a SQLite may lack, now or later."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from retinue.ids import LOCAL_OWNER
from retinue.stores.artifact_port import ArtifactStore, Search
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.store_artifact_contract import a_note, put


@asynccontextmanager
async def opened(tmp_path: Path) -> AsyncGenerator[ArtifactStore]:
    store = SqliteStore(tmp_path)
    await store.open()
    try:
        yield store.artifacts
    finally:
        await store.close()


def change_module(tmp_path: Path, before: str, after: str) -> None:
    """Make the index one of another module, as a SQLite without that module finds it."""
    connection = sqlite3.connect(tmp_path / "retinue.db")
    with connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = 'artifact_index'",
            (f"USING {before}", f"USING {after}"),
        )
    connection.close()


async def found(artifacts: ArtifactStore, word: str) -> list[str]:
    notes = await artifacts.search(Search(owner=LOCAL_OWNER, words=[word]))
    return sorted(one.artifact.id for one in notes)


async def test_texts_are_found_when_the_index_goes_and_when_it_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as artifacts:
        await put(artifacts, a_note("n1", "Plan", "buy apples"))
    change_module(tmp_path, "fts5", "nowhere")
    async with opened(tmp_path) as artifacts:
        await put(artifacts, a_note("n2", "Cake", "needs apples"))
        await put(artifacts, a_note("n1", "Plan", "buy pears"), version=1)
        assert await found(artifacts, "apples") == ["n2"]
    change_module(tmp_path, "nowhere", "fts5")
    async with opened(tmp_path) as artifacts:
        assert await found(artifacts, "apples") == ["n2"]
        assert await found(artifacts, "pears") == ["n1"]
