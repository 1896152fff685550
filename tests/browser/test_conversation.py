"""Conversations: streaming, tools, the queue, stop and reload."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


def test_an_answer_is_streamed_and_stays_as_it_was_streamed(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say("count to 1000")
    expect(window.bubbles()).to_have_text("count to 1000")
    expect(window.answers()).to_contain_text("1, 2, 3")
    expect(window.stop_button).to_be_visible()
    window.page.evaluate("document.querySelector('[role=log] .prose-block').dataset.marked = 'yes'")
    expect(window.answers()).to_contain_text("999, 1000.")
    window.rests()
    expect(window.log.locator("[data-marked=yes]")).to_have_count(1)
    expect(window.answers()).to_have_count(1)
    expect(window.bubbles()).to_have_count(1)
    assert window.trouble == []


def test_markdown_thinking_and_code_are_shown_as_such(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say("markdown")
    expect(window.answers().get_by_role("heading", name="A heading")).to_be_visible()
    expect(window.answers().get_by_role("table")).to_be_visible()
    expect(window.answers().locator(".hljs-keyword").first).to_be_visible()
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    window.answers().get_by_role("button", name="Copy", exact=True).click()
    copied = window.page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("def greet")
    window.say("think about rain")
    thought = window.log.get_by_role("button", name="Thoughts")
    expect(thought).to_have_attribute("aria-expanded", "false")
    thought.click()
    expect(thought).to_have_attribute("aria-expanded", "true")


def test_a_tool_call_shows_arguments_progress_result_and_state(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.say('call weigh {"thing": "an apple"}')
    card = window.call("weigh")
    expect(card).to_contain_text("an apple")
    card.get_by_role("button").first.click()
    expect(card).to_contain_text('"grams": 250')
    window.say('call hold {"gate": "tool-card"}')
    card = window.call("hold")
    expect(card).to_contain_text("Running")
    expect(card).to_contain_text("times")
    server.open_gate("tool-card")
    window.rests()
    expect(card).not_to_contain_text("Running")
    window.say('call hold {"wrong": 1}')
    expect(window.call("hold")).to_contain_text("Failed")


def test_messages_sent_while_the_agent_works_queue_in_order(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.say('call hold {"gate": "queue"}')
    expect(window.call("hold")).to_contain_text("Running")
    window.say("first")
    window.say("second")
    expect(window.bubbles().nth(1)).to_contain_text("Queued, next up")
    expect(window.bubbles().nth(2)).to_contain_text("Queued, 1 ahead")
    server.open_gate("queue")
    window.rests()
    expect(window.log.get_by_text("Queued")).to_have_count(0)
    expect(window.bubbles()).to_have_text(['call hold {"gate": "queue"}', "first", "second"])


@pytest.mark.parametrize("way", ["escape", "button"])
def test_work_can_be_stopped_in_mid_stream(visit: Visit, way: str) -> None:
    window = visit()
    window.begin()
    window.say("count to 1000")
    expect(window.answers()).to_contain_text("1, 2, 3")
    if way == "escape":
        window.page.keyboard.press("Escape")
    else:
        window.stop_button.click()
    expect(window.log.get_by_text("Stopped")).to_be_visible()
    window.rests()
    expect(window.log.get_by_text("1000.")).to_have_count(0)
    window.say("hello")
    expect(window.answers().last).to_contain_text("Hello")


def test_a_reload_in_mid_stream_loses_and_doubles_nothing(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say("count to 1000")
    expect(window.answers()).to_contain_text("1, 2, 3")
    window.page.reload()
    expect(window.answers()).to_contain_text("999, 1000.")
    expect(window.answers()).to_have_count(1)
    expect(window.bubbles()).to_have_text("count to 1000")
    window.rests()


def test_two_windows_show_the_same(visit: Visit) -> None:
    one = visit()
    one.begin()
    other = visit(f"/#/c/{one.place()}")
    expect(other.message).to_be_visible()
    one.say("count to 1000")
    expect(other.bubbles()).to_have_text("count to 1000")
    expect(other.answers()).to_contain_text("1, 2, 3")
    other.stop_button.click()
    for window in (one, other):
        expect(window.log.get_by_text("Stopped")).to_be_visible()
        window.rests()
    other.say("hello")
    expect(one.answers().last).to_contain_text("Hello")
    expect(one.bubbles()).to_have_count(2)
    assert one.trouble == other.trouble == []


def test_a_draft_and_its_attachment_outlive_the_page(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.page.locator("input[type=file]").set_input_files(
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Remember the milk."}
    )
    window.message.fill("what is in it?")
    expect(window.page.get_by_label("Attachments")).to_contain_text("notes.txt")
    window.page.reload()
    expect(window.message).to_have_value("what is in it?")
    window.message.press("Enter")
    expect(window.bubbles().get_by_role("link")).to_contain_text("notes.txt")
    expect(window.message).to_have_value("")
    with window.page.expect_download() as download:
        window.bubbles().get_by_role("link").click()
    assert download.value.path().read_text() == "Remember the milk."


def test_older_messages_come_while_scrolling_up(visit: Visit, server: ServerProcess) -> None:
    agent_id = server.begin("stranger", "Long")
    server.say(agent_id, *(f"hello {number}" for number in range(90)))
    window = visit(f"/#/c/{agent_id}")
    expect(window.bubbles().last).to_have_text("hello 89")
    expect(window.log.get_by_text("hello 0", exact=True)).to_have_count(0)
    window.log.hover()
    for _ in range(40):
        window.page.mouse.wheel(0, -2000)
        if window.log.get_by_text("hello 0", exact=True).count():
            break
        window.page.wait_for_timeout(50)
    expect(window.log.get_by_text("hello 0", exact=True)).to_be_visible()
    window.page.get_by_role("button", name="Jump to latest").click()
    expect(window.bubbles().last).to_have_text("hello 89")
    expect(window.bubbles().last).to_be_in_viewport()


def test_a_queued_message_is_taken_back(visit: Visit, server: ServerProcess) -> None:
    window = visit()
    window.begin()
    window.say('call hold {"gate": "taken-back"}')
    expect(window.call("hold")).to_contain_text("Running")
    window.say("never mind")
    waiting = window.bubbles().filter(has_text="never mind")
    expect(waiting).to_contain_text("Queued, next up")
    waiting.get_by_role("button", name="Cancel").click()
    expect(waiting).to_contain_text("Cancelling")
    server.open_gate("taken-back")
    expect(waiting).to_have_count(0)
    window.rests()
    expect(window.bubbles()).to_have_count(1)
    assert window.trouble == []


def test_what_could_not_be_answered_is_tried_again(visit: Visit, server: ServerProcess) -> None:
    agent_id = server.begin("stranger", "Fragile")
    server.say(agent_id, "break down")
    window = visit(f"/#/c/{agent_id}")
    notes = window.log.get_by_text("It broke.")
    expect(notes).to_have_count(1)
    window.log.get_by_role("button", name="Try again").click()
    expect(notes).to_have_count(2)
    expect(window.bubbles()).to_contain_text(["break down", "break down"])
    expect(window.log.get_by_role("button", name="Try again")).to_have_count(1)
    assert window.trouble == []


def test_a_conversation_that_is_left_while_it_scrolls_makes_no_fault(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "Left behind")
    server.say(agent_id, "count to 50")
    window = visit(f"/#/c/{agent_id}")
    expect(window.answers()).to_contain_text("49, 50.")
    log = window.log.element_handle()
    window.page.goto(f"{server.base}/#/usage")
    expect(window.title).to_have_text("Usage")
    log.evaluate("node => node.dispatchEvent(new Event('scroll'))")
    assert window.trouble == []
