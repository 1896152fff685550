"""Keyboard navigation and focus handling."""

import json
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


def palette(window: Window, words: str) -> None:
    window.page.keyboard.press("Control+k")
    expect(window.page.get_by_role("combobox", name="Command menu")).to_be_focused()
    window.page.keyboard.type(words)


def test_the_palette_opens_conversations_pages_and_new_agents(
    visit: Visit, server: ServerProcess
) -> None:
    roses = server.begin("clerk", "About roses")
    server.say(roses, "hello")
    window = visit()
    expect(window.row("About roses")).to_be_visible()
    palette(window, "about ros")
    window.page.keyboard.press("Enter")
    expect(window.title).to_have_text("About roses")
    expect(window.message).to_be_focused()
    palette(window, "sched")
    window.page.keyboard.press("Enter")
    expect(window.title).to_have_text("Schedules")
    palette(window, "new clerk")
    expect(window.page.get_by_role("option")).to_have_count(1)
    window.page.keyboard.press("Enter")
    expect(window.message).to_be_focused()
    palette(window, "no such thing at all")
    expect(window.page.get_by_text("No results")).to_be_visible()
    window.page.keyboard.press("Escape")
    expect(window.page.get_by_role("dialog")).to_have_count(0)
    expect(window.message).to_be_focused()
    assert window.trouble == []


def test_the_palette_acts_on_the_open_conversation(visit: Visit, server: ServerProcess) -> None:
    agent_id = server.begin("clerk", "To be pinned")
    window = visit(f"/#/c/{agent_id}")
    window.say("count to 1000")
    expect(window.stop_button).to_be_visible()
    palette(window, "stop")
    window.page.keyboard.press("Enter")
    expect(window.log.get_by_text("Stopped")).to_be_visible()
    palette(window, "pin")
    window.page.keyboard.press("Enter")
    expect(window.list.get_by_role("region", name="Pinned")).to_contain_text("To be pinned")
    palette(window, "theme dark")
    window.page.keyboard.press("Enter")
    expect(window.page.locator("html")).to_have_attribute("data-theme", "dark")
    palette(window, "rename")
    window.page.keyboard.press("Enter")
    window.page.keyboard.type("Renamed")
    window.page.keyboard.press("Enter")
    expect(window.title).to_have_text("Renamed")


def test_conversations_that_are_not_loaded_are_found_on_the_server(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    expect(window.list).to_be_visible()
    server.say(server.begin("clerk", "Far away"), "hello")
    palette(window, "far away")
    expect(window.page.get_by_role("option", name="Far away")).to_be_visible()


def test_shortcuts_are_listed_and_single_keys_do_not_disturb_writing(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("clerk", "Keys")
    window = visit(f"/#/c/{agent_id}")
    expect(window.message).to_be_focused()
    window.page.keyboard.type("n/m?")
    expect(window.message).to_have_value("n/m?")
    window.title.get_by_role("button").focus()
    window.page.keyboard.press("?")
    sheet = window.page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_contain_text("Find in conversation")
    window.page.keyboard.press("Tab")
    window.page.keyboard.press("Tab")
    window.page.keyboard.press("Tab")
    assert window.page.evaluate(
        "document.activeElement === document.body"
        " || document.activeElement.closest('dialog') !== null"
    )
    window.page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    expect(window.title.get_by_role("button")).to_be_focused()
    window.page.keyboard.press("m")
    expect(window.message).to_be_focused()
    expect(window.message).to_have_value("n/m?")


def test_the_first_key_leads_past_the_list(visit: Visit) -> None:
    window = visit("/#/schedules")
    expect(window.title).to_have_text("Schedules")
    window.page.evaluate("document.activeElement.blur()")
    window.page.keyboard.press("Tab")
    skip = window.page.get_by_role("button", name="Skip to content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    window.page.keyboard.press("Enter")
    expect(window.page.get_by_role("main")).to_be_focused()


def test_what_is_found_in_a_folded_call_is_opened_and_in_sight(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "Found inside")
    thing = {"thing": "a very long " + "and long " * 40 + "needle"}
    for text in (f"call weigh {json.dumps(thing)}", "count to 1000", "count to 1000"):
        server.say(agent_id, text)
    window = visit(f"/#/c/{agent_id}")
    expect(window.answers().last).to_be_in_viewport()
    window.page.keyboard.press("Control+f")
    field = window.page.get_by_role("searchbox", name="Find in conversation")
    field.fill("needle")
    expect(window.page.get_by_role("search").get_by_role("status")).to_have_text("3 of 3")
    field.press("Enter")
    given = window.call("weigh").locator("pre").first
    expect(given).to_contain_text("needle")
    expect(given).to_be_in_viewport()
    assert window.trouble == []


def test_lists_and_notes_have_the_focus_that_opened_them_and_give_it_back(visit: Visit) -> None:
    window = visit()
    beginning = window.list.get_by_role("button", name="New conversation", exact=True)
    beginning.focus()
    window.page.keyboard.press("l")
    side = window.page.get_by_role("complementary", name="Lists and notes")
    expect(side).to_be_focused()
    window.page.keyboard.press("Tab")
    expect(side.get_by_role("button", name="Close lists and notes")).to_be_focused()
    window.page.keyboard.press("Escape")
    expect(side).to_have_count(0)
    expect(beginning).to_be_focused()
    assert window.trouble == []
