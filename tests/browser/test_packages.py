"""Agents from packages, including private ones, show their package."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.acceptance.packing import FILES, empty, written
from tests.browser.server_process import RETINUE, ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A project that contains only an installed package."""
    folder = tmp_path_factory.mktemp("packed")
    agents = json.loads(FILES["agents/pairs.json"])
    agents["agents"][0]["sideA"]["label"] = "Drafter"
    agents["agents"][0]["sideB"]["label"] = "Checker"
    source = written(folder / "studio", {**FILES, "agents/pairs.json": json.dumps(agents)})
    project = empty(folder / "target")
    pack = ["pack", "producer", "--dir", source, "--out", project / "packages"]
    subprocess.run([RETINUE, *pack], check=True, capture_output=True)
    server = ServerProcess(project)
    server.start()
    yield server
    server.close()


def test_a_private_agent_of_a_package_has_its_labels_and_its_page(visit: Visit) -> None:
    window = visit()
    expect(window.page.get_by_role("main")).to_contain_text("From package asset-studio 1.2.0")
    window.begin("Producer|producer")
    window.say("make tree")
    card = window.call("review_pair")
    expect(window.log).to_contain_text("Done: good: tree in deep_blue")
    card.get_by_role("link", name="Review pair").click()
    expect(window.log).to_contain_text(re.compile(r"Drafter\s*Turn 1"))
    expect(window.log).to_contain_text(re.compile(r"Checker\s*Turn 2"))
    window.page.get_by_role("button", name="Conversation actions").click()
    window.page.get_by_role("menuitem", name="Agent details").click()
    main = window.page.get_by_role("main")
    expect(main.get_by_role("heading", name="Review pair")).to_be_visible()
    expect(main).to_contain_text("package asset-studio 1.2.0 · private to its package")
    sides = main.get_by_role("list", name="Sides of Review pair")
    expect(sides).to_contain_text("approve ends the run with a result")
    expect(main.get_by_role("button", name="New conversation")).to_have_count(0)
    window.page.reload()
    expect(sides).to_be_visible()
    assert window.trouble == []


def test_what_only_a_package_can_call_is_not_offered_to_people(visit: Visit) -> None:
    window = visit("/")
    main = window.page.get_by_role("main")
    expect(main.get_by_role("button", name=re.compile("producer", re.IGNORECASE))).to_be_visible()
    expect(main.get_by_role("button", name=re.compile("Review pair"))).to_have_count(0)
    main.get_by_role("link", name=re.compile("^Agent details: producer", re.IGNORECASE)).click()
    expect(main).to_contain_text("package asset-studio 1.2.0")
    main.get_by_role("list", name="Subagents").get_by_role("link", name="Review pair").click()
    expect(main).to_contain_text("private to its package")
    assert window.trouble == []
