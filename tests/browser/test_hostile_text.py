"""Hostile text in answers and names is displayed and has no other effect."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

FORBIDDEN = (
    "script, style, form, input, image, video, audio, iframe, object, embed, link, meta, base"
)


def test_a_hostile_answer_runs_nothing_asks_nobody_and_breaks_no_layout(
    visit: Callable[..., Window], server: ServerProcess
) -> None:
    agent_id = server.begin("stranger", '<img src=x onerror="alert(20)">')
    window = visit(f"/#/c/{agent_id}")
    window.say("the corpus")
    answer = window.answers("Stranger")
    expect(answer).to_contain_text("The end of it.")
    window.rests()
    window.page.wait_for_timeout(300)
    assert window.trouble == []
    assert answer.locator(FORBIDDEN).count() == 0
    assert answer.locator("[style], [id], [name], [onclick], [onerror]").count() == 0
    for link in answer.get_by_role("link").all():
        assert (link.get_attribute("href") or "").startswith("https://")
        assert link.get_attribute("rel") == "noopener noreferrer"
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 1280
    expect(window.message).to_be_in_viewport()


def test_hostile_names_of_tools_files_and_people_are_only_text(
    visit: Callable[..., Window], server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "<script>alert(21)</script>")
    window = visit(f"/#/c/{agent_id}")
    window.say('call weigh {"thing": "<img src=x onerror=alert(22)>"}')
    window.call("weigh").get_by_role("button").first.click()
    expect(window.call("weigh")).to_contain_text("<img src=x")
    window.page.locator("input[type=file]").set_input_files(
        {
            "name": "<img src=x onerror=alert(23)>.html",
            "mimeType": "text/html",
            "buffer": b"<script>",
        }
    )
    expect(window.page.get_by_label("Attachments")).to_contain_text("alert(23)>.html")
    window.message.fill("look")
    window.message.press("Enter")
    expect(window.bubbles().last).to_contain_text("<img src=x onerror=alert(23)>.html")
    expect(window.title).to_have_text("<script>alert(21)</script>")
    assert window.trouble == []
