"""Reconnection after a server restart without lost or duplicate messages."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


def test_a_window_goes_on_by_itself_after_the_server_was_killed(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.begin()
    window.say("hello")
    expect(window.answers()).to_have_count(1)
    window.page.evaluate("window.wasNotReloaded = true")

    server.kill()
    expect(window.page.get_by_text("Connection lost")).to_be_visible()
    window.message.fill("are you there?")
    window.message.press("Enter")
    expect(window.page.get_by_role("alert")).to_contain_text("Not sent")
    expect(window.message).to_have_value("are you there?")

    server.start()
    expect(window.page.get_by_text("Connection lost")).to_have_count(0)
    expect(window.page.get_by_text("Not sent")).to_have_count(0)
    expect(window.page.get_by_text("Reconnected. Send your message again.")).to_be_visible()
    window.message.press("Enter")
    expect(window.message).to_have_value("")
    expect(window.bubbles()).to_have_text(["hello", "are you there?"])
    expect(window.answers()).to_have_count(2)
    server.say(window.place(), "hello from elsewhere")
    expect(window.answers()).to_have_count(3)
    assert window.page.evaluate("window.wasNotReloaded")
    assert window.trouble == []


def test_an_answer_that_a_crash_cut_is_given_once(visit: Visit, server: ServerProcess) -> None:
    window = visit()
    window.begin()
    window.say("count to 1000")
    expect(window.answers()).to_contain_text("1, 2, 3")
    server.kill()
    expect(window.answers()).to_have_count(0)
    server.start()
    expect(window.answers()).to_contain_text("999, 1000.")
    window.rests()
    expect(window.answers()).to_have_count(1)
    expect(window.bubbles()).to_have_text("count to 1000")


def test_a_page_that_opens_while_the_server_is_down_connects_later(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    expect(window.list).to_be_visible()
    window.page.route("**/api/**", lambda route: route.abort())
    window.page.route_web_socket("**/api/ws", lambda socket: socket.close())
    window.page.reload()
    expect(window.page.get_by_text("Can’t connect to Retinue")).to_be_visible()
    window.page.unroute_all()
    window.page.reload()
    expect(window.list).to_be_visible()


def test_without_sockets_the_same_arrives_as_server_sent_events(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit()
    window.lose_sockets()
    expect(window.list).to_be_visible()
    window.begin()
    window.say("count to 1000")
    expect(window.answers()).to_contain_text("1, 2, 3")
    expect(window.answers()).to_contain_text("999, 1000.")
    expect(window.answers()).to_have_count(1)


def test_a_tool_that_runs_while_the_page_opens_is_shown_as_running(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("assistant", "Slow")
    server.call(
        "POST", f"/api/agents/{agent_id}/messages", {"content": 'call hold {"gate": "late"}'}
    )
    window = visit(f"/#/c/{agent_id}")
    expect(window.call("hold")).to_contain_text("Running")
    expect(window.call("hold")).to_contain_text("waited")
    server.open_gate("late")
    window.rests()
    expect(window.call("hold")).not_to_contain_text("Running")
