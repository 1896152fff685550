"""Variables of accounts, agents and waiting subagents can be set but are never shown."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]

SECRET = "the-key-of-the-press"
PRESS = """name = "press"
displayName = "Printing press"
description = "Prints things."
type = "dual_ai"
exposeAsTool = true
[sideA]
prompt = "printer"
[sideB]
prompt = "checker"
stopOnResponse = false
[sideB.sessionStop]
name = "approve"
messageProperty = "summary"
"""
TOOLS = '''
from retinue import ToolContext, tool

KEY = {"name": "PRESS_KEY", "required": True, "scoped": True, "description": "Opens the press."}
CITY = {"name": "PRESS_CITY", "type": "text", "required": True, "scoped": True}


@tool(effect="pure", variables=[KEY, CITY])
async def print_out(ctx: ToolContext) -> str:
    """Print it."""
    return f"{len(ctx.env('PRESS_KEY'))} letters in {ctx.env('PRESS_CITY')}"


@tool(effect="pure")
def approve(summary: str) -> str:
    """Hand it over."""
    return "approved"
'''
PROMPTS = {
    "editor": "---\nmodel: scripted:editor.json\n"
    "variables: [{name: HOUSE_STYLE, type: text, description: How we write.}]\n"
    "tools:\n  - {name: press, blocking: false, resumable: {maxInstances: 9}}\n---\nYou edit.",
    "printer": "---\nmodel: scripted:printer.json\ntools: [print_out]\n---\nYou print.",
    "checker": "---\nmodel: scripted:checker.json\ntools: [approve]\n---\nYou check.",
}


def _create(name: str) -> dict[str, Any]:
    arguments = {"agent": "press", "name": name, "message": "Print the $1"}
    return {"calls": [{"name": "subagent_create", "arguments": arguments}]}


SCRIPTS: dict[str, list[dict[str, Any]]] = {
    "editor": [
        {"when": r"^print (\w+)", "after_tools": 0, "reply": _create("Night $1")},
        {"when": r"^print (\w+)", "after_tools": 1, "reply": {"text": "It waits for you."}},
        {"when": "has returned", "reply": {"text": "It is printed."}},
        {"when": "did not provide them", "reply": {"text": "Then it is not printed."}},
    ],
    "printer": [
        {"after_tools": 0, "reply": {"calls": [{"name": "print_out", "arguments": {}}]}},
        {"after_tools": 1, "reply": {"text": "Printed: $tool"}},
    ],
    "checker": [
        {
            "when": r"Printed: (.+)",
            "reply": {"calls": [{"name": "approve", "arguments": {"summary": "Done: $1"}}]},
        }
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(make_variables_project(tmp_path_factory.mktemp("press")))
    server.start()
    yield server
    server.close()


def make_variables_project(folder: Path) -> Path:
    for name in ("agents", "prompts", "tools"):
        (folder / name).mkdir()
    (folder / "retinue.toml").write_text('model = "offline"\n[limits]\ncoalesceWindowMs = 0\n')
    (folder / "tools" / "printing.py").write_text(TOOLS)
    for name, text in PROMPTS.items():
        (folder / "prompts" / f"{name}.md").write_text(text)
    for name, rules in SCRIPTS.items():
        (folder / f"{name}.json").write_text(json.dumps(rules))
    (folder / "agents" / "press.toml").write_text(PRESS)
    (folder / "agents" / "editor.toml").write_text(
        'name = "editor"\ndisplayName = "Editor"\ndescription = "Edits."\n'
        '[sideA]\nprompt = "editor"\n'
    )
    return folder


def fill(form: Locator, **values: str) -> None:
    for name, value in values.items():
        form.get_by_label(name).fill(value)


def test_a_subagent_begins_when_its_values_are_filled_in_where_it_waits(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin("Editor")
    window.say("print poster")
    card = window.call("subagent_create").get_by_role("region")
    expect(card).to_contain_text("Editor needs values to start its subagent Night poster")
    expect(card).to_contain_text("Night poster · Printing press")
    expect(card).to_contain_text("Print the poster")
    expect(card.get_by_label("PRESS_KEY")).to_have_attribute("type", "password")
    expect(card.get_by_label("PRESS_CITY")).to_have_attribute("type", "text")
    fill(card, PRESS_CITY="Leipzig")
    card.get_by_role("button", name="Save and start").click()
    expect(card).to_contain_text("This field is required.")
    fill(card, PRESS_KEY=SECRET)
    card.get_by_role("button", name="Save and start").click()
    expect(card).to_contain_text("Values provided by you in a browser")
    told = window.log.get_by_role("article", name="Message from an agent")
    expect(told).to_contain_text("Done: 20 letters")
    window.page.reload()
    expect(window.call("subagent_create")).to_contain_text("Started later")
    assert SECRET not in window.page.content()
    shown = server.call("GET", "/api/permissions")
    assert SECRET not in json.dumps(shown)
    assert window.trouble == []


def test_the_inbox_says_which_subagent_waits_and_a_refusal_reaches_its_parent(
    visit: Visit, server: ServerProcess
) -> None:
    editor = server.begin("editor", "Evening edition")
    server.say(editor, "print flyer")
    window = visit("/#/approvals", width=390, height=844, is_phone=True)
    waiting = window.page.get_by_role("list", name="Pending requests")
    card = waiting.get_by_role("region").filter(has_text="Night flyer")
    expect(card).to_contain_text("Evening edition needs values to start its subagent Night flyer")
    expect(card.get_by_label("PRESS_KEY")).to_be_visible()
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    card.get_by_role("button", name="Decline").click()
    earlier = window.page.get_by_role("list", name="History")
    expect(earlier.get_by_role("region").filter(has_text="Night flyer")).to_contain_text("Declined")
    window.page.goto(f"{server.base}/#/c/{editor}")
    expect(window.answers("Editor").last).to_contain_text("Then it is not printed.")
    assert window.trouble == []


def test_a_value_of_the_account_is_set_replaced_and_deleted_and_never_shown(visit: Visit) -> None:
    window = visit()
    page = window.page
    window.list.get_by_role("link", name="Variables").click()
    page.get_by_role("button", name="New variable").click()
    form = page.get_by_role("form", name="New variable")
    fill(form, Name="9LIVES", Value=SECRET)
    form.get_by_role("button", name="Save").click()
    expect(form).to_contain_text("can’t be a digit")
    fill(form, Name="SHOP_KEY")
    form.get_by_role("button", name="Save").click()
    row = page.get_by_role("list", name="Variables").get_by_role("listitem")
    expect(row).to_contain_text(re.compile(r"SHOP_KEY\s*Set for your account"))
    row.get_by_role("button", name="Replace SHOP_KEY").click()
    expect(row.get_by_label("New value")).to_have_value("")
    row.get_by_label("New value").fill("another-secret")
    row.get_by_role("button", name="Save").click()
    expect(row.get_by_label("New value")).to_have_count(0)
    page.reload()
    expect(row).to_contain_text("SHOP_KEY")
    assert SECRET not in page.content() and "another-secret" not in page.content()
    row.get_by_role("button", name="Delete SHOP_KEY").click()
    window.confirm("Delete")
    expect(page.get_by_role("heading", name="No variables yet")).to_be_visible()
    assert window.trouble == []


def test_an_agents_own_values_are_in_its_menu_with_what_it_needs(
    visit: Visit, server: ServerProcess
) -> None:
    server.begin("editor", "Sunday edition")
    window = visit()
    page = window.page
    window.choose("Sunday edition", "Variables")
    row = page.get_by_role("list", name="Variables").get_by_role("listitem")
    expect(row).to_contain_text(re.compile(r"HOUSE_STYLE\s*Not set\s*text"))
    expect(row).to_contain_text("How we write.")
    row.get_by_role("button", name="Set HOUSE_STYLE").click()
    expect(row.get_by_label("Value")).to_have_attribute("type", "text")
    row.get_by_label("Value").fill("short sentences")
    row.get_by_role("button", name="Save").click()
    expect(row).to_contain_text("Set for this agent")
    row.get_by_role("button", name="Delete HOUSE_STYLE").click()
    window.confirm("Delete")
    expect(row).to_contain_text("Not set")
    page.get_by_role("link", name="Sunday edition").first.click()
    expect(window.title).to_have_text("Sunday edition")
    assert window.trouble == []
