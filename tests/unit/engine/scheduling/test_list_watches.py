"""A watch on a list, from the list that people keep to the agent that is woken."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.watch import Watch
from retinue.assembly import App, Extras, open_app
from retinue.engine.calls.plugin_calls import Caller
from retinue.ids import LOCAL_OWNER
from retinue.testing.fake_clock import FakeClock
from tests.unit.engine.scheduling.support import Silent, ended, make, pass_time, statuses


@pytest.fixture
def silent() -> Silent:
    return Silent()


@pytest.fixture
async def app(tmp_path: Path, clock: FakeClock, silent: Silent) -> AsyncIterator[App]:
    extras = Extras(models={"main": silent.model}, clock=clock)
    app = await open_app(tmp_path, {"RETINUE_MODEL": "main"}, extras=extras)
    yield app
    await app.close()


async def does(app: App, plugin: str, operation: str, **arguments: Any) -> Any:
    return await app.engine.operations.call(Caller(owner=LOCAL_OWNER), plugin, operation, arguments)


async def test_an_item_that_becomes_due_wakes_an_agent_once(
    app: App, clock: FakeClock, silent: Silent
) -> None:
    field = {"key": "due", "label": "Due", "type": "datetime"}
    await does(app, "lists", "create", name="Todo", fields=[field])
    await make(app, watch=Watch(list="todo"))
    due = clock.now() + timedelta(hours=2, minutes=30)
    await does(
        app, "lists", "item-add", list="Todo", title="Call Ada", fields={"due": due.isoformat()}
    )
    await pass_time(app, clock)
    await ended(app)
    assert len(silent.requests) == 1  # it is new on the list
    await pass_time(app, clock)
    assert len(silent.requests) == 1
    await pass_time(app, clock)
    (run, _) = await ended(app, 2)
    assert "+- Call Ada [due]" in run.difference
    assert "Call Ada [due]" in str(silent.requests[-1].messages)
    assert await statuses(app) == ["fired", "fired"]


async def test_a_list_that_is_gone_wakes_nobody_and_says_so(
    app: App, clock: FakeClock, silent: Silent
) -> None:
    await does(app, "lists", "create", name="Todo")
    await make(app, watch=Watch(list="Todo"))
    await does(app, "lists", "delete", list="Todo")
    await pass_time(app, clock)
    assert (await statuses(app), silent.requests) == (["failed"], [])
    marks = await app.engine.schedules.store.marks(LOCAL_OWNER)
    assert "Todo" in marks["schedule/daily"].problem
