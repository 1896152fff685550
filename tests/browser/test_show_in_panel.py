"""Agents open artifacts in the panel without discarding unsaved text."""

import re
from collections.abc import Callable

from playwright.sync_api import Locator, expect

from tests.browser.server_process import ServerProcess
from tests.browser.test_artifacts import keep, open_panel, panel
from tests.browser.window import Window

Visit = Callable[..., Window]


def heading(window: Window, name: str) -> Locator:
    return panel(window).get_by_role("heading", name=name)


def test_an_agent_opens_a_list_a_note_and_a_view_in_the_window_that_talks_to_it(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Camping")
    keep(server, "lists", "item-add", list="Camping", title="Tent")
    keep(server, "notes", "create", title="Route", content="Over the hill.")
    keep(server, "views", "create", name="Everything to pack", query="list = camping")
    agent_id = server.begin("clerk", "Guide")
    talking = visit(f"/#/c/{agent_id}")
    expect(talking.message).to_be_visible()
    other = visit()
    expect(other.list).to_be_visible()
    talking.say("open the camping list")
    expect(heading(talking, "Camping")).to_be_visible()
    expect(panel(talking).get_by_role("checkbox", name="Done: Tent")).to_be_visible()
    expect(talking.answers("Clerk").last).to_contain_text(
        "Camping: The person's window now shows it"
    )
    talking.say('call notes_show {"note": "Route"}')
    expect(heading(talking, "Route").first).to_be_visible()
    expect(panel(talking)).to_contain_text("Over the hill.")
    talking.say('call views_show {"view": "everything to pack", "panel_id": "artifacts"}')
    expect(heading(talking, "Everything to pack").first).to_be_visible()
    expect(panel(other)).to_have_count(0)
    assert talking.trouble == other.trouble == []


def test_a_text_that_is_being_written_stays_and_the_rest_is_offered(
    visit: Visit, server: ServerProcess
) -> None:
    note = keep(server, "notes", "create", title="Diary", content="Monday.")["note"]
    keep(server, "lists", "create", name="Boats")
    agent_id = server.begin("clerk")
    window = visit(f"/#/c/{agent_id}")
    side = open_panel(window)
    side.get_by_role("button", name="Diary").click()
    side.get_by_role("button", name="Edit").click()
    text = side.get_by_role("textbox", name="Text of Diary")
    text.fill("Tuesday, at length.")
    window.say('call lists_show {"list": "Boats"}')
    offer = window.page.get_by_role("status").filter(has_text="Open “Boats”?")
    expect(offer).to_be_visible()
    expect(text).to_have_value("Tuesday, at length.")
    expect(window.answers("Clerk").last).to_contain_text("asks before it opens it")
    window.say('call notes_show {"note": "%s"}' % note["id"])  # noqa: UP031
    expect(window.answers("Clerk").last).to_contain_text("now shows it")
    expect(text).to_have_value("Tuesday, at length.")
    offer.get_by_role("button", name="Open").click()
    expect(heading(window, "Boats")).to_be_visible()
    expect(offer).to_have_count(0)


def test_on_a_phone_it_covers_the_conversation_but_not_somebody_who_is_writing(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Pocket")
    agent_id = server.begin("clerk")
    window = visit(f"/#/c/{agent_id}", width=390, height=800, is_phone=True)
    window.message.fill('call lists_show {"list": "Pocket"}')
    window.page.get_by_role("button", name="Send").click()
    expect(heading(window, "Pocket")).to_be_visible()
    panel(window).get_by_role("button", name="Close lists and notes").click()
    expect(panel(window)).to_have_count(0)
    window.message.fill("half a sentence")
    path = "/api/plugins/lists/operations/show"
    told = server.call("POST", path, {"arguments": {"list": "Pocket"}})["result"]
    assert told["state"] == "offered"
    expect(panel(window)).to_have_count(0)
    expect(window.message).to_have_value("half a sentence")
    window.page.get_by_role("button", name="Open", exact=True).click()
    expect(heading(window, "Pocket")).to_be_visible()
    assert window.trouble == []


def test_a_window_that_lost_its_connection_opens_it_when_it_is_back_and_only_once(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Harbour")
    agent_id = server.begin("clerk")
    window = visit(f"/#/c/{agent_id}")
    expect(window.message).to_be_visible()
    gate = f"show-{agent_id}"
    window.say(f'call hold {{"gate": "{gate}"}} then call lists_show {{"list": "Harbour"}}')
    expect(window.call("hold")).to_be_visible()
    server.kill()
    server.open_gate(gate)
    server.start()
    expect(heading(window, "Harbour")).to_be_visible()
    window.rests()
    panel(window).get_by_role("button", name="Close lists and notes").click()
    server.stop()
    server.start()
    expect(window.page.get_by_text(re.compile("Retrying|Reconnecting"))).to_have_count(0)
    window.say("hello")
    expect(window.answers("Clerk").last).to_be_visible()
    expect(panel(window)).to_have_count(0)
