"""The projects in `examples/`, run from end to end as they are."""

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from retinue.assembly import App, open_app
from retinue.ids import LOCAL_OWNER
from retinue.records import AssistantRecord, SystemRecord
from retinue.stores.port import Agent
from tests.unit.engine.support import until

STUDIO = Path(__file__).resolve().parents[2] / "examples" / "asset_studio"


@pytest.fixture
async def studio(tmp_path: Path) -> AsyncIterator[App]:
    project = tmp_path / "asset_studio"
    shutil.copytree(STUDIO, project, ignore=shutil.ignore_patterns(".retinue"))
    app = await open_app(project, {})
    yield app
    await app.close()


async def told(app: App, agent: Agent) -> list[SystemRecord]:
    records = await app.store.history(LOCAL_OWNER, agent.id, after=0, limit=1000)
    return [record for record in records if isinstance(record, SystemRecord)]


async def last_words(app: App, agent: Agent) -> str:
    records = await app.store.history(LOCAL_OWNER, agent.id, after=0, limit=1000)
    return [record.text for record in records if isinstance(record, AssistantRecord)][-1]


async def order(app: App, text: str) -> Agent:
    """Order something, and wait until the studio has been told what became of it."""
    agent = await app.engine.create(LOCAL_OWNER, "studio")
    receipt = await app.engine.post(LOCAL_OWNER, agent.id, text)
    outcome = await app.engine.outcome(LOCAL_OWNER, receipt.item.id, wait_seconds=20)
    assert outcome.reply == "The asset team is at work."

    async def is_over() -> bool:
        current = await app.store.agent(LOCAL_OWNER, agent.id)
        return bool(await told(app, agent)) and not current.is_busy

    await until(is_over)
    return await app.store.agent(LOCAL_OWNER, agent.id)


async def test_the_studio_has_an_asset_drawn_reviewed_and_handed_over(studio: App) -> None:
    agent = await order(studio, "Make a tree")
    (child,) = await studio.store.children(LOCAL_OWNER, agent.id)
    (notice,) = await told(studio, agent)
    assert notice.text == (
        f"Subagent (reference: {child.id}) has returned the following result:\n\nThe tree is ready."
    )
    (file,) = notice.files
    assert re.fullmatch(r"/attachments/tree-[0-9a-f]{8}\.svg", file.path)
    assert b"<ellipse" in await studio.trees.tree(agent.id).read(file.path)
    assert await last_words(studio, agent) == f"The tree is ready. You find it at {file.path}."
    (entry,) = agent.state.children
    assert (entry.lifecycle, entry.status_text) == ("idle", "checking the second draft of tree")
    assert (entry.thread_name, entry.name) == ("tree", "asset_subagent")


async def test_the_studio_is_told_why_its_team_gave_up(studio: App) -> None:
    agent = await order(studio, "Make a ghost")
    assert await last_words(studio, agent) == (
        "The asset team gave up: a ghost cannot be seen from above"
    )
    (entry,) = agent.state.children
    assert entry.lifecycle == "failed"


async def test_the_examples_load_without_a_problem(studio: App) -> None:
    assert [str(problem) for problem in studio.engine.catalog.errors()] == []
