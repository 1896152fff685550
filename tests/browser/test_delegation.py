"""Delegated work in the web app."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


def ask(content: str, agent: str = "clerk", **more: object) -> str:
    """A message that makes the offline model delegate."""
    arguments = {"agentId": agent, "content": content, "session": "create", **more}
    return f"call agents_message {json.dumps(arguments)}"


def test_delegated_work_streams_in_the_callers_card_and_ends_in_its_answer(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say(ask("count to 1000"))
    card = window.call("agents_message")
    expect(card.get_by_role("group", name="Work")).to_contain_text("1, 2, 3")
    expect(card.get_by_role("link", name="Clerk")).to_be_visible()
    expect(window.bubbles()).to_contain_text("Waiting for another agent")
    window.rests()
    expect(card).to_contain_text("Answered")
    expect(card.get_by_role("group", name="Answer")).to_contain_text("999, 1000.")
    expect(card.get_by_role("group", name="Work")).to_have_count(0)
    card.get_by_role("button", name="Show raw data").click()
    expect(card).to_contain_text('"status": "complete"')
    assert window.trouble == []


def test_delegated_work_is_found_again_by_a_reload_in_its_middle(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.say(ask('call hold {"gate": "delegated"}'))
    card = window.call("agents_message")
    work = card.get_by_role("group", name="Work")
    expect(work).to_contain_text("hold")
    expect(work).to_contain_text("Running")
    window.page.reload()
    expect(work).to_contain_text("hold")
    expect(work).to_contain_text("Running")
    server.open_gate("delegated")
    window.rests()
    expect(card).to_contain_text("Answered · 1 tool call")
    card.get_by_role("link", name="Clerk").click()
    asked = window.log.get_by_role("article", name="Message from an agent")
    expect(asked).to_contain_text("call hold")
    asked.get_by_role("link", name="Assistant").click()
    expect(window.call("agents_message")).to_be_visible()
    assert window.trouble == []


def test_delegated_work_that_waits_in_a_queue_says_so(visit: Visit, server: ServerProcess) -> None:
    clerk = server.begin("clerk", "Busy clerk")
    server.call("POST", f"/api/agents/{clerk}/messages", {"content": 'call hold {"gate": "busy"}'})
    window = visit()
    window.begin()
    window.say(ask("hello", session=clerk))
    card = window.call("agents_message")
    expect(card).to_contain_text("Queued, 1 ahead")
    expect(card.get_by_role("link", name="Busy clerk")).to_be_visible()
    server.open_gate("busy")
    window.rests()
    expect(card.get_by_role("group", name="Answer")).to_contain_text("Hello")


def test_what_was_only_started_comes_back_as_a_message_with_its_origin(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say(ask("hello", mode="async"))
    card = window.call("agents_message")
    card.get_by_role("button").first.click()
    expect(card).to_contain_text("Started, the result arrives as a message")
    told = window.log.get_by_role("article", name="Message from an agent")
    expect(told).to_contain_text("offline model")
    expect(told.get_by_role("link", name="Clerk")).to_have_attribute(
        "href", re.compile(r"^#/c/[a-z0-9]{24}$")
    )
    window.rests()


def test_work_that_fails_is_told_apart(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say(ask("break down", agent="stranger"))
    card = window.call("agents_message")
    expect(card).to_contain_text(re.compile("Did not finish|Failed"))
    window.say(ask("break down", agent="stranger", mode="async"))
    told = window.log.get_by_role("article", name="Message from an agent")
    expect(told).to_have_class(re.compile(r"\bbad\b"))
    window.rests()


def test_a_family_is_a_tree_and_ends_together_after_naming_who(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    boss = window.place()
    orders = {"prompt": 'call hold {"gate": "family"}', "name": "Digger"}
    window.say(f"call start_background_agent {json.dumps(orders)}")
    tree = window.page.get_by_role("button", name=re.compile("^Agents in this conversation"))
    tree.click()
    panel = window.page.get_by_role("dialog", name="Agents in this conversation")
    expect(panel.get_by_role("link", name=re.compile("Digger"))).to_contain_text("Working")
    panel.get_by_role("link", name=re.compile("Digger")).click()
    expect(window.title).to_have_text("Digger")
    expect(window.call("hold")).to_contain_text("Running")

    window.list.get_by_role("button", name=re.compile("^Background")).click()
    expect(window.list.get_by_role("list", name="Background agents")).to_contain_text("Digger")

    window.page.reload()
    window.page.get_by_role("button", name="Parent agents").click()
    panel.get_by_role("link", name=re.compile("start_background_agent")).click()
    expect(window.page).to_have_url(re.compile(boss))
    window.page.get_by_role("button", name="Conversation actions").click()
    window.page.get_by_role("menuitem", name="End").click()
    expect(window.page.get_by_role("dialog")).to_contain_text(
        "These agents will end too: “Digger”."
    )
    window.confirm("End")
    expect(window.page.get_by_text("This agent has ended.")).to_be_visible()
    expect(window.message).to_have_count(0)
    tree.click()
    expect(panel.get_by_role("link", name=re.compile("Digger"))).to_contain_text("Ended")
    server.open_gate("family")
    assert window.trouble == []


def test_a_person_who_is_switched_is_taken_along_and_can_go_back(visit: Visit) -> None:
    window = visit()
    window.begin()
    other = visit("/#/approvals")
    first = window.place()
    window.say('call agents_switch {"agentId": "clerk", "message": "hello"}')
    expect(window.page.get_by_text("Switched from")).to_be_visible()
    expect(window.answers("Clerk").last).to_contain_text("offline model")
    assert window.place() != first
    assert other.page.url.endswith("#/approvals")
    window.page.reload()
    window.page.get_by_role("button", name="Back", exact=True).click()
    expect(window.page).to_have_url(re.compile(first))
    expect(window.log.get_by_text("Switched to")).to_be_visible()
    window.log.get_by_text("The person comes from").click()
    expect(window.log.get_by_text("What was said there last")).to_be_visible()
    window.page.go_back()
    window.page.reload()
    expect(window.answers("Clerk").last).to_be_visible()
    expect(window.page.get_by_text("Switched from")).to_have_count(0)
    assert window.trouble == other.trouble == []
