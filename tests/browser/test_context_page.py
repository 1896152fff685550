"""The context page, and the context that windows report to the server."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from retinue.engine.panels.windows import LEASE_SECONDS
from retinue.testing.kit import PATIENCE_SECONDS
from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]
LINE = '<context panel-id="p1" panel-type="artifacts" type="list" id="l1" name="Groceries" />'


def test_the_context_is_shown_part_by_part_with_its_size(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "Looked into")
    server.say(agent_id, "weigh the cat")
    window = visit()
    window.choose("Looked into", "Context")
    page = window.page
    expect(page.get_by_role("heading", level=1)).to_have_text("Context")
    expect(page.get_by_role("meter", name="Context usage")).to_have_attribute(
        "aria-valuetext", re.compile(r"About [\d.,]+K? of [\d.,]+K tokens")
    )
    sizes = page.get_by_role("list", name="Tokens by part")
    expect(sizes).to_contain_text(re.compile(r"System prompt\s*[\d.,k]+"))
    system = page.get_by_role("region", name="System prompt")
    expect(system.locator("pre")).to_have_text("You help.")
    tools = page.get_by_role("region", name=re.compile(r"^\d+ tools$"))
    tools.get_by_text("weigh", exact=True).click()
    expect(tools.locator("pre")).to_contain_text('"thing"')
    said = page.get_by_role("region", name=re.compile(r"^\d+ messages?$"))
    expect(said).to_contain_text("weigh the cat")
    server.say(agent_id, "and a dog")
    expect(said).to_contain_text("and a dog")
    page.get_by_role("link", name="Looked into").last.click()
    expect(window.message).to_be_visible()
    assert window.trouble == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_fits_a_phone(visit: Visit, server: ServerProcess, theme: str) -> None:
    agent_id = server.begin("assistant", f"Looked into on a phone, {theme}")
    server.say(agent_id, "x" * 2_000)
    window = visit(f"/#/context/{agent_id}", width=390, height=844, is_phone=True)
    window.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    said = window.page.get_by_role("region", name=re.compile(r"^\d+ messages?$"))
    said.get_by_text("User", exact=True).first.click()
    expect(said.locator("pre").first).to_be_visible()
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert window.trouble == []


def test_the_palette_opens_the_context_of_any_conversation(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "Looked into from afar")
    server.say(agent_id, "hello")
    page = visit("/#/system").page
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("context afar")
    expect(page.get_by_role("option").first).to_contain_text("Context of “Looked into from afar”")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_contain_text("What Looked into from afar would send")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_have_text("Open conversation")


def test_a_page_about_nobody_says_so(visit: Visit) -> None:
    window = visit(f"/#/context/{'a' * 24}")
    expect(window.page.get_by_role("alert")).to_contain_text("no agent")


def test_the_line_before_a_message_is_a_mark(visit: Visit, server: ServerProcess) -> None:
    agent_id = server.begin("assistant", "With a line")
    server.say(agent_id, f"{LINE}\nhello there")
    window = visit(f"/#/c/{agent_id}")
    bubble = window.bubbles().filter(has_text="hello there")
    expect(bubble).to_contain_text("with context")
    expect(bubble).not_to_contain_text("panel-id")
    assert window.trouble == []


def test_the_server_knows_what_a_window_shows_as_long_as_it_is_open(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "Shown in a window")
    window = visit(f"/#/c/{agent_id}")
    expect(window.message).to_be_visible()

    comes(lambda: agent_id in chats(server))
    window.page.close()
    comes(lambda: agent_id not in chats(server))


def test_without_a_socket_the_server_is_told_over_http_and_again_before_it_forgets(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.page.clock.install()
    window.lose_sockets()
    agent_id = server.begin("assistant", "Told over HTTP")
    window.page.evaluate("id => { location.hash = `#/c/${id}` }", agent_id)
    expect(window.message).to_be_visible()
    comes(lambda: agent_id in chats(server))
    expect(window.message).to_be_visible()

    with window.page.expect_request(lambda one: "/api/windows/" in one.url) as again:
        window.page.clock.fast_forward(int(LEASE_SECONDS * 500))
    assert (again.value.method, agent_id in (again.value.post_data or "")) == ("PUT", True)


def chats(server: ServerProcess) -> list[str]:
    """The conversations open in windows."""
    found = server.call("GET", "/api/windows")["windows"]
    panels = [panel for window in found for panel in window["inventory"]["panels"]]
    return [panel["binding"]["agentId"] for panel in panels if panel["panelType"] == "chat"]


def comes(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "it never came to hold"
        time.sleep(0.05)
