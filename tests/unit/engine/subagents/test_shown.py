"""What doors are told of subagents and of who speaks."""

import pytest

from retinue.engine.feed.agent_views import agent_view
from retinue.records import ToolRecord
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import quiet
from tests.unit.engine.subagents.support import Play, begin, call, on_go, only_child

GO = call("pair", message="draw a tree")


@pytest.mark.parametrize("entry", ["pair", "{name: pair, blocking: false}"])
async def test_a_result_names_the_subagent_that_its_call_began(start: Start, entry: str) -> None:
    kit = await begin(start, Play(on_go(GO)), entry)
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    await quiet(kit)
    child = await only_child(kit, boss)
    assert [r.agent for r in await kit.records(boss) if isinstance(r, ToolRecord)] == [child.id]


async def test_a_parents_view_has_its_children_with_what_they_say(start: Start) -> None:
    replies = iter([call("report", status="looking"), call("approve", summary="good")])
    kit = await begin(start, Play(on_go(GO), reviewer=lambda _: next(replies)))
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    child = await only_child(kit, boss)
    (shown,) = agent_view(await kit.fresh(boss), lambda _: True).children
    assert (shown.agent_id, shown.definition, shown.name) == (child.id, "pair", "The Pair")
    assert (shown.lifecycle, shown.status_text) == ("terminated", "looking")
    assert agent_view(await kit.fresh(child), lambda _: True).children == []
