"""Sign-in by link and by token."""

import re
from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.conftest import Profile
from tests.browser.server_process import ServerProcess
from tests.browser.window import Window, watched


def test_the_printed_link_signs_a_browser_in_and_leaves_no_trace_in_its_address(
    profile: Profile, server: ServerProcess
) -> None:
    window = Window(watched(profile().new_page(), server.base))
    window.page.goto(server.link)
    expect(window.list).to_be_visible()
    assert window.page.url == f"{server.base}/"
    window.page.reload()
    expect(window.list).to_be_visible()
    assert window.page.evaluate("document.cookie") == ""
    assert window.trouble == []


def test_a_browser_that_is_not_signed_in_is_told_what_to_do_and_takes_the_token(
    profile: Profile, server: ServerProcess
) -> None:
    page = watched(profile().new_page(), server.base)
    page.goto(f"{server.base}/#login=used-up")
    expect(page.get_by_text("retinue open", exact=True)).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("has expired")
    field = page.get_by_label(re.compile("paste"))
    field.fill("wrong")
    field.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("token")
    field.fill(server.token)
    field.press("Enter")
    expect(Window(page).list).to_be_visible()


def test_a_session_that_ended_shows_the_way_back_and_keeps_what_was_being_written(
    visit: Callable[..., Window], server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.message.fill("half a thought")
    window.page.context.clear_cookies()
    window.message.press("Enter")
    field = window.page.get_by_label(re.compile("paste"))
    field.fill(server.token)
    field.press("Enter")
    expect(window.message).to_have_value("half a thought")
    window.message.press("Enter")
    expect(window.bubbles()).to_have_text("half a thought")
