"""What agents are told of their owner's windows."""

import json
from typing import Any

import pytest

from retinue.engine.panels.windows import LEASE_SECONDS, MOST_WINDOWS, Windows
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.records import ToolRecord
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.prompting.house import shown
from tests.unit.engine.support import last_said

OTHER = OwnerId("other")


def calls_what_it_is_told(request: ModelRequest) -> Answer:
    name, _, arguments = last_said(request).partition(" ")
    if not name.startswith("panels_"):
        return "done"
    return Reply(calls=[Call(name=name, arguments=json.loads(arguments or "{}"))])


async def result(kit: Kit, words: str, owner: OwnerId = LOCAL_OWNER) -> ToolRecord:
    agent = await kit.agent(owner=owner)
    await kit.ask(agent, words)
    (found,) = [record for record in await kit.records(agent) if isinstance(record, ToolRecord)]
    return found


async def answer(kit: Kit, words: str, owner: OwnerId = LOCAL_OWNER) -> Any:
    found = await result(kit, words, owner)
    assert found.status == "ok", found.text
    return json.loads(found.text)


async def test_the_one_window_is_meant_and_each_part_is_asked_for(start: Start) -> None:
    kit = await start(calls_what_it_is_told, collaborates=True)
    kit.engine.windows.show(LOCAL_OWNER, "w1", shown(name="Groceries"))
    plain = await answer(kit, "panels_list")
    assert plain == {
        "windowId": "w1",
        "selectedPanelId": "p1",
        "selectedChatPanelId": "c1",
        "panels": [
            {
                "panelId": "p1",
                "panelType": "artifacts",
                "panelTitle": "Artifacts",
                "visible": True,
            }
        ],
    }
    flags = '{"includeChat": true, "includeContext": true, "includeLayout": true}'
    whole = await answer(kit, f"panels_list {flags}")
    assert [panel["panelId"] for panel in whole["panels"]] == ["c1", "p1"]
    assert whole["panels"][1]["context"]["name"] == "Groceries"
    assert whole["layout"] == {}
    selected = await answer(kit, f"panels_selected {flags}")
    assert selected["panel"]["context"]["id"] == "groceries"
    assert selected["chatPanel"]["binding"] == {"agentId": "a1"}
    assert "chatPanel" not in await answer(kit, "panels_selected")


async def test_without_a_window_the_answer_is_empty_and_says_why(start: Start) -> None:
    kit = await start(calls_what_it_is_told, collaborates=True)
    kit.engine.windows.show(OTHER, "theirs", shown())
    for tool, field in (("panels_list", "panels"), ("panels_selected", "panel")):
        told = await answer(kit, tool)
        assert not told[field]
        assert (told["windowId"], told["selectedPanelId"]) == (None, None)
        assert told["message"].startswith("No client is connected")


async def test_of_several_windows_one_has_to_be_named(start: Start) -> None:
    kit = await start(calls_what_it_is_told, collaborates=True)
    for name in ("desk", "phone"):
        kit.engine.windows.show(LOCAL_OWNER, name, shown(id=name))
    kit.engine.windows.show(OTHER, "theirs", shown())
    refused = await result(kit, "panels_list")
    assert refused.status == "error"
    assert "window_required" in refused.text and "desk, phone" in refused.text
    named = '{"windowId": "phone", "includeContext": true}'
    assert (await answer(kit, f"panels_list {named}"))["panels"][0]["context"]["id"] == "phone"
    unknown = await result(kit, 'panels_selected {"windowId": "theirs"}')
    assert unknown.status == "error"
    assert "window_not_found" in unknown.text
    assert "desk, phone" in unknown.text


@pytest.fixture
def windows(clock: FakeClock) -> Windows:
    return Windows(clock)


def test_a_window_goes_with_the_connection_that_told_of_it_last(windows: Windows) -> None:
    old, new = object(), object()
    windows.show(LOCAL_OWNER, "w1", shown(), holder=old)
    windows.show(LOCAL_OWNER, "w1", shown(id="again"), holder=new)
    windows.leave(LOCAL_OWNER, old)
    assert list(windows.of(LOCAL_OWNER)) == ["w1"]
    windows.leave(OTHER, new)
    assert list(windows.of(LOCAL_OWNER)) == ["w1"]
    windows.leave(LOCAL_OWNER, new)
    assert windows.of(LOCAL_OWNER) == {}


async def test_a_window_without_a_connection_lasts_as_long_as_its_lease(
    windows: Windows, clock: FakeClock
) -> None:
    windows.show(LOCAL_OWNER, "w1", shown())
    clock.advance(LEASE_SECONDS - 1)
    windows.show(LOCAL_OWNER, "w2", shown())
    assert list(windows.of(LOCAL_OWNER)) == ["w1", "w2"]
    clock.advance(1)
    assert list(windows.of(LOCAL_OWNER)) == ["w2"]
    assert windows.close(LOCAL_OWNER, "w2")
    assert not windows.close(LOCAL_OWNER, "w2")


def test_of_too_many_windows_the_oldest_goes(windows: Windows) -> None:
    for number in range(MOST_WINDOWS + 1):
        windows.show(LOCAL_OWNER, f"w{number}", shown())
    assert len(windows.of(LOCAL_OWNER)) == MOST_WINDOWS
    assert "w0" not in windows.of(LOCAL_OWNER)
