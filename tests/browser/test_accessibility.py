"""The accessibility checker axe finds no serious issue on any page, theme or width."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

AXE = Path(__file__).resolve().parents[2] / "web/node_modules/axe-core/axe.min.js"
GRAVE = {"serious", "critical"}

Visit = Callable[..., Window]


def complaints(page: Page) -> list[str]:
    page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((found) => found.violations)")
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_pages_have_no_serious_fault(
    visit: Visit, server: ServerProcess, theme: str, width: int
) -> None:
    agent_id = server.begin("assistant", "Looked at")
    for text in ("markdown", 'call weigh {"thing": "an apple"}', "think about rain"):
        server.say(agent_id, text)
    window = visit("/", width=width, is_phone=width == 390)
    page = window.page
    page.emulate_media(color_scheme="dark" if theme == "dark" else "light", reduced_motion="reduce")
    expect(page.get_by_role("main").get_by_role("button").first).to_be_visible()
    faults = {"start": complaints(page)}
    plain = ("approvals", "schedules", "variables", "usage", "system", "d/assistant", "d/nobody")
    pages = (*plain, f"context/{agent_id}")
    for name in pages:
        page.goto(f"{server.base}/#/{name}")
        expect(page.get_by_role("status").filter(has_text="Loading")).to_have_count(0)
        faults[name] = complaints(page)
    page.goto(f"{server.base}/#/files/{agent_id}")
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    faults["files"] = complaints(page)
    page.goto(f"{server.base}/#/c/{agent_id}")
    window.call("weigh").get_by_role("button").first.click()
    window.log.get_by_role("button", name="Thoughts").click()
    faults["conversation"] = complaints(page)
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox")).to_be_focused()
    faults["palette"] = complaints(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+f")
    expect(page.get_by_role("searchbox", name="Find in conversation")).to_be_focused()
    faults["find"] = complaints(page)
    assert {name: found for name, found in faults.items() if found} == {}


def test_a_phone_has_no_serious_fault(visit: Visit, server: ServerProcess) -> None:
    agent_id = server.begin("assistant", "Looked at on a phone")
    server.say(agent_id, "markdown")
    window = visit(f"/#/c/{agent_id}", width=390, height=844, is_phone=True)
    expect(window.answers()).to_be_visible()
    assert complaints(window.page) == []
    window.page.get_by_role("button", name="Open sidebar").click()
    expect(window.list).to_be_visible()
    assert complaints(window.page) == []
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
