"""The sidebar on desktop and phone."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


@pytest.fixture(autouse=True)
def empty_list(server: ServerProcess) -> None:
    for agent in server.call("GET", "/api/agents?limit=200")["agents"]:
        server.call("DELETE", f"/api/agents/{agent['id']}")


def test_conversations_are_renamed_pinned_cleared_and_deleted(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin("Clerk")
    window.say("hello")
    expect(window.answers("Clerk")).to_contain_text("Hello")
    window.choose("Hello", "Rename")
    name = window.page.get_by_role("textbox", name="Name")
    name.fill("Groceries")
    name.press("Enter")
    expect(window.title).to_have_text("Groceries")
    window.choose("Groceries", "Pin")
    expect(window.list.get_by_role("region", name="Pinned")).to_contain_text("Groceries")

    window.choose("Groceries", "Clear")
    window.confirm("Clear")
    expect(window.log.get_by_text("Cleared")).to_be_visible()
    expect(window.answers("Clerk")).to_have_count(0)
    window.page.get_by_role("button", name="Show earlier messages").click()
    expect(window.answers("Clerk")).to_have_count(1)

    agent_id = window.place()
    window.choose("Groceries", "Delete")
    window.confirm("Cancel")
    expect(window.row("Groceries")).to_be_visible()
    window.choose("Groceries", "Delete")
    window.confirm("Delete")
    expect(window.row("Groceries")).to_have_count(0)
    listed = server.call("GET", "/api/agents")["agents"]
    assert agent_id not in [agent["id"] for agent in listed]
    assert window.trouble == []


def test_what_happens_elsewhere_is_marked_until_it_is_looked_at(
    visit: Visit, server: ServerProcess
) -> None:
    elsewhere = server.begin("clerk", "Elsewhere")
    window = visit()
    window.begin()
    expect(window.row("Elsewhere")).to_be_visible()
    server.say(elsewhere, "hello")
    expect(window.row("Elsewhere").get_by_text("Unread")).to_have_count(1)
    expect(window.page).to_have_title("(1) New conversation · Retinue")
    window.row("Elsewhere").get_by_role("link").click()
    expect(window.answers("Clerk")).to_contain_text("Hello")
    expect(window.row("Elsewhere").get_by_text("Unread")).to_have_count(0)


def test_the_list_is_searched_and_walked_by_keyboard(visit: Visit, server: ServerProcess) -> None:
    for name in ("Roses", "Tulips", "Daisies"):
        server.begin("clerk", name)
    window = visit()
    expect(window.row("Tulips")).to_be_visible()
    window.page.keyboard.press("/")
    window.page.keyboard.type("s")
    window.page.keyboard.press("Backspace")
    window.page.keyboard.type("uli")
    expect(window.row("Roses")).to_have_count(0)
    window.page.keyboard.press("ArrowDown")
    window.page.keyboard.press("Enter")
    expect(window.title).to_have_text("Tulips")


def test_an_unused_conversation_is_used_before_another_is_made(visit: Visit) -> None:
    window = visit()
    window.begin("Stranger")
    first = window.place()
    window.begin("Stranger")
    assert window.place() == first


def test_definitions_that_do_not_load_are_named_with_file_and_field(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    expect(window.list).to_be_visible()
    broken = server.project / "agents" / "broken.toml"
    broken.write_text('name = "broken"\nsystemPromt = "Oops"\nmodel = 3\n')
    try:
        window.page.reload()
        banner = window.page.get_by_role("button", name="1 agent file has errors")
        banner.click()
        expect(window.page.get_by_role("main")).to_contain_text("agents/broken.toml")
    finally:
        broken.unlink()


def test_on_a_phone_the_list_is_a_drawer(visit: Visit, server: ServerProcess) -> None:
    server.begin("clerk", "Pocket")
    window = visit("/", width=390, height=844, is_phone=True)
    expect(window.list).to_be_hidden()
    window.page.get_by_role("button", name="Open sidebar").click()
    expect(window.row("Pocket")).to_be_in_viewport()
    window.row("Pocket").get_by_role("link").click()
    expect(window.title).to_have_text("Pocket")
    expect(window.list).to_be_hidden()
    window.message.fill("markdown")
    window.page.get_by_role("button", name="Send").click()
    expect(window.answers("Clerk")).to_contain_text("A heading")
    width = window.page.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    window.page.get_by_role("button", name="Open sidebar").click()
    window.page.keyboard.press("Escape")
    expect(window.list).to_be_hidden()
    assert window.trouble == []


def test_the_theme_follows_the_system_until_one_is_chosen(visit: Visit) -> None:
    window = visit()
    background = "getComputedStyle(document.documentElement).backgroundColor"
    window.page.emulate_media(color_scheme="dark")
    dark = window.page.evaluate(background)
    window.page.emulate_media(color_scheme="light")
    light = window.page.evaluate(background)
    assert dark != light
    window.list.get_by_role("button", name="Theme").click()
    window.page.get_by_role("menuitemradio", name="Dark").click()
    assert window.page.evaluate(background) == dark
    window.page.reload()
    expect(window.list).to_be_visible()
    assert window.page.evaluate(background) == dark


def test_a_conversation_that_was_left_goes_on_when_it_is_opened_again(
    visit: Visit, server: ServerProcess
) -> None:
    one, other = server.begin("clerk", "One"), server.begin("clerk", "Other")
    window = visit(f"/#/c/{one}")
    window.say("hello")
    expect(window.answers("Clerk")).to_have_count(1)
    window.row("Other").get_by_role("link").click()
    expect(window.title).to_have_text("Other")
    server.say(one, "hello again")
    window.say("hello")
    expect(window.answers("Clerk")).to_have_count(1)
    window.row("One").get_by_role("link").click()
    expect(window.bubbles()).to_have_text(["hello", "hello again"])
    window.say("count to 1000")
    expect(window.answers("Clerk")).to_have_count(3)
    window.page.go_back()
    expect(window.title).to_have_text("Other")
    server.say(other, "hello again")
    expect(window.answers("Clerk")).to_have_count(2)
