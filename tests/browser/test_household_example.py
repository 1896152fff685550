"""The household example: items added by chat appear in the panel."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import BrowserContext, expect

from tests.acceptance.cli import look, retinue, serving
from tests.browser.window import Window, watched


def test_an_item_that_was_added_by_chat_appears_in_the_open_panel(
    profile: Callable[..., BrowserContext], tmp_path: Path
) -> None:
    assert look("init", tmp_path / "household", "--example", "household").code == 0
    with serving(tmp_path / "household") as server:
        page = watched(profile().new_page(), server.url)
        page.goto(server.login)
        window = Window(page)
        window.list.get_by_role("button", name="Lists and notes").click()
        panel = page.get_by_role("complementary", name="Lists and notes")
        expect(panel.get_by_role("heading", name="Notes", exact=True)).to_be_visible()
        said = retinue(
            "send", "todo", "add milk to groceries", "--wait", project=tmp_path / "household"
        )
        assert said.code == 0, said.err
        panel.get_by_role("button", name="groceries").click()
        expect(panel.get_by_role("checkbox", name="Done: milk")).to_be_visible()
        assert window.trouble == []
