"""The usage page: chart, table, totals and cost."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]

SETTINGS = """model = "scripted:script.json"
[limits]
coalesceWindowMs = 0
[prices]
currency = "EUR"
[prices.models."scripted:script.json"]
input = 1000.0
output = 2000.0
"""
SCRIPT = [{"reply": {"text": "Yes.", "usage": {"input": 1200, "output": 300, "cacheRead": 500}}}]
LOCAL = [{"reply": {"text": "No.", "usage": {"input": 40, "output": 2}}}]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(make_usage_project(tmp_path_factory.mktemp("counting")))
    server.start()
    yield server
    server.close()


def make_usage_project(folder: Path) -> Path:
    (folder / "agents").mkdir()
    (folder / "retinue.toml").write_text(SETTINGS)
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    (folder / "local.json").write_text(json.dumps(LOCAL))
    more = {"writer": "", "reader": 'model = "scripted:local.json"\n'}
    for name, lines in more.items():
        (folder / "agents" / f"{name}.toml").write_text(
            f'name = "{name}"\ndisplayName = "{name.title()}"\ndescription = "Works."\n'
            f'systemPrompt = "You work."\n{lines}'
        )
    return folder


def test_what_was_used_is_shown_by_day_definition_model_and_agent(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    page = window.page
    window.list.get_by_role("link", name="Usage").click()
    expect(page.get_by_role("heading", name="No usage in this period")).to_be_visible()
    novel = server.begin("writer", "A novel")
    server.say(novel, "one")
    server.say(novel, "two")
    reader = server.begin("reader", "A letter")
    server.say(reader, "three")
    page.reload()
    main = page.get_by_role("main")
    expect(main).to_contain_text(re.compile(r"Model calls\s*3"))
    expect(main).to_contain_text(re.compile(r"Cost\s*€4.60"))
    expect(main).to_contain_text(
        "Not included in the cost because no price is set: scripted:local.json"
    )
    bars = page.get_by_role("list", name="Tokens per day").get_by_role("listitem")
    expect(bars).to_have_count(30)
    expect(bars.last).to_contain_text("4K tokens")
    row = page.get_by_role("row")
    expect(row.filter(has_text="Writer")).to_contain_text("€4.60")
    expect(row.filter(has_text="Reader")).to_contain_text("no price")
    page.get_by_role("button", name="Agent", exact=True).click()
    expect(row.filter(has_text="A novel").get_by_role("link")).to_have_attribute(
        "href", f"#/c/{novel}"
    )
    server.call("DELETE", f"/api/agents/{reader}")
    page.get_by_role("button", name="Model", exact=True).click()
    expect(row.filter(has_text="scripted:local.json")).to_contain_text("42")
    page.get_by_role("button", name="Agent", exact=True).click()
    expect(row.filter(has_text="Deleted agent")).to_contain_text("42")
    page.get_by_label("Period").select_option("Last 7 days")
    expect(bars).to_have_count(7)
    assert window.trouble == []


def test_the_page_fits_a_phone(visit: Visit, server: ServerProcess) -> None:
    server.say(server.begin("writer"), "one")
    window = visit("/#/usage", width=390, height=844, is_phone=True)
    expect(window.page.get_by_role("row").filter(has_text="Writer")).to_be_visible()
    assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert window.trouble == []
