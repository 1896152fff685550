"""Dual-model agents, subagents, handoffs and the agent details page."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.delegation_project import make_delegation_project
from tests.browser.server_process import TOOLS, ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(make_delegation_project(tmp_path_factory.mktemp("studio"), TOOLS))
    server.start()
    yield server
    server.close()


def test_both_sides_are_told_apart_live_and_replayed_until_their_run_ends(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin("Desk")
    window.say("draw tree")
    card = window.call("team")
    expect(card).to_contain_text("looking at the first draft")
    tree = window.page.get_by_role("button", name=re.compile("^Agents in this conversation"))
    tree.click()
    panel = window.page.get_by_role("dialog", name="Agents in this conversation")
    expect(panel.get_by_role("link", name=re.compile("Drawing team"))).to_contain_text(
        re.compile("Working.*looking at the first draft", re.DOTALL)
    )
    panel.get_by_role("link", name=re.compile("Drawing team")).click()
    log = window.log
    expect(log).to_contain_text(re.compile(r"Worker\s*Turn 1 · 2 steps"))
    expect(log).to_contain_text(re.compile(r"Reviewer\s*Turn 2 · 2 steps"))
    server.open_gate("review")
    end = log.get_by_role("article", name="Run completed")
    expect(end).to_contain_text("Finished by Reviewer · 4 turns · 8 steps")
    expect(end).to_contain_text("The drawing is ready.")
    expect(end.get_by_role("link", name="tree.svg")).to_be_visible()
    expect(log).to_contain_text("Reminder to Reviewer: Go on.")
    assert window.answers("Worker").count() == 3
    live = log.inner_text()
    window.page.reload()
    expect(end).to_be_visible()
    assert log.inner_text() == live
    assert window.trouble == []


def test_a_card_keeps_the_way_to_the_subagent_that_its_call_began(
    visit: Visit, server: ServerProcess
) -> None:
    server.open_gate("review")
    window = visit()
    window.begin("Desk")
    window.say("draw ghost")
    card = window.call("team")
    expect(card).to_contain_text("Nobody has seen one.")
    expect(card).to_contain_text("Failed")
    window.page.get_by_role("button", name=re.compile("^Agents in this conversation")).click()
    panel = window.page.get_by_role("dialog", name="Agents in this conversation")
    expect(panel.get_by_role("link", name=re.compile("Drawing team"))).to_contain_text(
        re.compile(r"Failed\s*Nobody has seen one\.")
    )
    window.page.keyboard.press("Escape")
    window.say("tonight tree")
    late = window.call("subagent_create")
    expect(late.get_by_role("link", name="Night tree")).to_be_visible()
    told = window.log.get_by_role("article", name="Message from an agent")
    expect(told).to_contain_text("Result from Night tree")
    card.get_by_role("link", name="Drawing team").click()
    failed = window.log.get_by_role("article", name="Run failed")
    expect(failed).to_contain_text("Worker reported a failure · 1 turn · 1 step")
    assert window.trouble == []


def test_a_handoff_divides_the_page_and_leaves_what_was_said_to_who_said_it(visit: Visit) -> None:
    window = visit()
    window.begin("Desk")
    window.say("pay")
    expect(window.log).to_contain_text("Desk handed off to Billing")
    expect(window.answers("Billing")).to_contain_text("Nothing is owed.")
    expect(window.answers("Desk")).to_have_count(1)
    assert window.trouble == []


def test_the_page_of_a_definition_draws_all_that_it_leads_to(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit("/#/d/desk", width=390, height=844)
    main = window.page.get_by_role("main")
    expect(main.get_by_role("heading", name="Desk", exact=True)).to_be_visible()
    team = main.get_by_role("list", name="Sides of Drawing team")
    expect(team).to_contain_text("approve ends the run with a result")
    expect(team.get_by_role("region", name="Prompt worker")).to_contain_text("draw")
    expect(main.get_by_role("list", name="Prompts")).to_contain_text("namer")
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    (server.project / "prompts" / "billing.md").write_text("---\ntools: 7\n---\nBroken.")
    expect(main).to_contain_text("prompts/billing.md")
    expect(main).to_contain_text("the last working version is in use")
    main.get_by_role("list", name="Subagents").get_by_role("link", name="Drawing team").click()
    expect(main.get_by_role("heading", name="Drawing team")).to_be_visible()
    assert window.trouble == []
