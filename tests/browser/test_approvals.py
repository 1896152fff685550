"""Approvals and questions: decided once in any window, and updated in all."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import Locator, Route, expect

from tests.browser.hostile_text import TEXTS
from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]

ASK = 'call request_permission {"permission": "@network", "reason": "To see the weather."}'
FORM = {
    "type": "object",
    "required": ["name", "size"],
    "properties": {
        "name": {"type": "string", "title": "Name", "maxLength": 10},
        "size": {"type": "string", "enum": ["small", "large"], "title": "Size"},
        "count": {"type": "integer", "minimum": 1, "title": "How many"},
        "sure": {"type": "boolean", "title": "Quite sure"},
        "day": {"type": "string", "format": "date", "title": "Day"},
        "why": {"type": "string", "format": "multiline", "title": "Why"},
    },
}


def cards(window: Window) -> Locator:
    return window.page.get_by_role("main").locator("section.request")


def link(window: Window, count: str) -> Locator:
    """The sidebar link to Approvals with its count."""
    name = f"Approvals {count} pending" if count else "Approvals"
    return window.list.get_by_role("link", name=name, exact=True)


def test_a_permission_allowed_in_one_window_is_seen_in_the_other_at_once(visit: Visit) -> None:
    one = visit()
    one.begin()
    other = visit(f"/#/c/{one.place()}")
    one.say(ASK)
    for window in (one, other):
        expect(cards(window)).to_contain_text("@network")
        expect(cards(window)).to_contain_text("To see the weather.")
        expect(link(window, "1")).to_be_visible()
    cards(one).get_by_role("button", name="Add note").click()
    cards(one).get_by_label("Note for the agent").fill("Only today.")
    cards(one).get_by_role("button", name="Allow").press("Enter")
    for window in (one, other):
        expect(cards(window)).to_contain_text("Allowed by you in a browser")
        expect(cards(window)).to_contain_text("Only today.")
        expect(cards(window).get_by_role("button", name="Allow")).to_have_count(0)
        expect(link(window, "")).to_be_visible()
        expect(window.answers().last).to_contain_text("@network")
    other.page.reload()
    expect(cards(other)).to_contain_text("Allowed by you in a browser")
    assert one.trouble == other.trouble == []


def test_escape_does_not_take_back_what_waits_for_a_decision(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say(ASK)
    expect(cards(window)).to_contain_text("@network")
    window.message.press("Escape")
    window.log.press("Escape")
    cards(window).get_by_role("button", name="Allow").click()
    expect(cards(window)).to_contain_text("Allowed by you")
    expect(window.answers().last).to_contain_text("@network")
    window.say(ASK.replace("@network", "@tool:weigh"))
    expect(window.answers().last).to_contain_text("needs no permission")
    assert window.trouble == []


def test_the_inbox_holds_what_every_agent_asks_and_then_what_was_decided(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit("/#/approvals", width=390, height=800, is_phone=True)
    expect(window.page.get_by_text("No pending approvals")).to_be_visible()
    first = server.begin("assistant", "First")
    second = server.begin("careful", "Second")
    server.call("POST", f"/api/agents/{first}/messages", {"content": ASK})
    waiting = window.page.get_by_role("list", name="Pending requests")
    expect(waiting.get_by_role("listitem")).to_have_count(1)
    path = f"/api/agents/{second}/messages"
    server.call("POST", path, {"content": 'call weigh {"thing": "an apple"}'})
    expect(waiting.get_by_role("listitem")).to_have_count(2)
    expect(window.page).to_have_title(re.compile(r"^\(\d+\) Approvals"))
    card = cards(window).filter(has_text="Second")
    expect(card).to_contain_text('"thing": "an apple"')
    expect(card).to_contain_text("Careful")
    card.get_by_role("button", name="Deny").tap()
    expect(card).to_contain_text("Denied")
    expect(waiting).to_contain_text("First")
    server.call("POST", f"/api/agents/{first}/stop")
    expect(cards(window).filter(has_text="First")).to_contain_text("No longer needed")
    expect(window.page.get_by_text("No pending approvals")).to_be_visible()
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert window.trouble == []


def test_a_form_says_at_its_fields_what_is_wrong_and_sends_typed_values(visit: Visit) -> None:
    window = visit()
    window.begin()
    window.say(f"call ask_user {json.dumps({'schema': FORM, 'title': 'What shall I order?'})}")
    form = cards(window)
    form.get_by_label("Name").fill("a name that is too long")
    form.get_by_label("How many").fill("1.5")
    form.get_by_role("button", name="Send answer").click()
    expect(form.get_by_role("alert")).to_have_text(
        ["At most 10 characters.", "This field is required.", "Enter a whole number."]
    )
    expect(form.get_by_label("Name")).to_be_focused()
    form.get_by_label("Name").fill("Tea")
    window.page.reload()
    expect(form.get_by_label("Name")).to_have_value("Tea")
    form.get_by_label("small").check()
    form.get_by_label("How many").fill("3")
    form.get_by_label("Quite sure").check()
    form.get_by_label("Day").fill("2026-12-24")
    form.get_by_role("button", name="Send answer").click()
    expect(form).to_contain_text("Answered by you")
    expect(form).to_contain_text("2026-12-24")
    call = window.call("ask_user")
    call.get_by_role("button").first.click()
    expect(call).to_contain_text('"count": 3')
    expect(call).to_contain_text('"sure": true')
    window.rests()
    assert window.trouble == []


def test_a_field_that_only_the_server_refuses_is_marked(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.say(f"call ask_user {json.dumps({'schema': FORM})}")
    refusal = {"code": "usage", "message": "no", "details": {"fields": ["name: is taken"]}}
    window.page.route(
        "**/api/permissions/*", lambda route: route.fulfill(status=400, json={"error": refusal})
    )
    form = cards(window)
    form.get_by_label("Name").fill("Tea")
    form.get_by_label("small").check()
    form.get_by_role("button", name="Send answer").click()
    expect(form.get_by_role("alert")).to_have_text("Is taken")
    expect(form.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    window.page.unroute_all()
    form.get_by_role("button", name="Decline").click()
    expect(form).to_contain_text("Denied")


def test_a_decision_that_comes_too_late_shows_what_was_decided(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.say(ASK)
    expect(cards(window)).to_contain_text("@network")
    agent = window.place()
    [asked] = server.call("GET", f"/api/permissions?status=pending&agent={agent}")["requests"]

    def decide_first(route: Route) -> None:
        server.call("POST", f"/api/permissions/{asked['id']}", {"decision": "deny", "note": "No."})
        route.continue_()

    window.page.route(f"**/api/permissions/{asked['id']}", decide_first, times=1)
    cards(window).get_by_role("button", name="Allow").click()
    expect(cards(window)).to_contain_text("Denied by you with the access token")
    expect(cards(window)).to_contain_text("No.")
    expect(cards(window).get_by_role("button", name="Allow")).to_have_count(0)


def test_a_hostile_request_is_shown_whole_and_does_nothing(
    visit: Visit, server: ServerProcess
) -> None:
    thing = "a\u202egnp.exe \u001b[2J\u200b" + "\n".join(TEXTS)
    agent_id = server.begin("careful", "<img src=x onerror=alert(30)>\u202e")
    path = f"/api/agents/{agent_id}/messages"
    server.call("POST", path, {"content": f"call weigh {json.dumps({'thing': thing})}"})
    for place in (f"/#/c/{agent_id}", "/#/approvals"):
        window = visit(place)
        card = cards(window).filter(has_text="onerror=alert(30)")
        expect(card).to_contain_text("<U+202E>gnp.exe")
        expect(card).to_contain_text("<script>alert(3)</script>")
        expect(card).to_contain_text("xxx")
        expect(window.page.get_by_role("main")).not_to_contain_text(
            "a\u202egnp", use_inner_text=True
        )
        assert card.locator("script, img, iframe, svg image, style").count() == 0
        assert window.page.evaluate("document.documentElement.scrollWidth") <= 1280
        expect(card.get_by_role("button", name="Deny")).to_be_visible()
        assert window.trouble == []
    card.get_by_role("button", name="Deny").click()
    expect(card).to_contain_text("Denied")
