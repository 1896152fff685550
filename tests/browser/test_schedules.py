"""The schedules page: create, run, pause, edit and delete; heartbeat tasks."""

from collections.abc import Callable

from playwright.sync_api import Locator, expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]


def schedule(window: Window, title: str) -> Locator:
    return window.page.get_by_role("article", name=title, exact=True)


def fill_in(window: Window, title: str, cron: str, prompt: str = "hello") -> Locator:
    window.page.get_by_role("button", name="New schedule").click()
    form = window.page.get_by_role("form", name="New schedule")
    form.get_by_label("Title").fill(title)
    form.get_by_label("Cron expression").fill(cron)
    form.get_by_label("Time zone").fill("Europe/Berlin")
    form.get_by_label("Instructions").fill(prompt)
    return form


def test_a_schedule_is_made_run_paused_changed_and_deleted(visit: Visit) -> None:
    window = visit("/#/schedules")
    form = fill_in(window, "Morning", "61 8 * * *")
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_role("alert")).to_contain_text("Invalid minute: '61'")
    expect(form.get_by_label("Cron expression")).to_have_attribute("aria-invalid", "true")
    form.get_by_label("Cron expression").fill("0 8 * * MON-FRI")
    expect(form).to_contain_text("Runs weekdays at 08:00.")
    form.get_by_role("button", name="Create").click()
    card = schedule(window, "Morning")
    expect(card).to_contain_text("Weekdays at 08:00, Europe/Berlin")
    expect(card).to_contain_text("0 8 * * MON-FRI")
    expect(card).to_contain_text("Never")

    card.get_by_role("button", name="Run history").click()
    expect(card).to_contain_text("No runs yet.")
    card.get_by_role("button", name="Run now").click()
    runs = card.get_by_role("list", name="Run history")
    expect(runs).to_contain_text("Done, started manually")

    card.get_by_role("button", name="Pause").click()
    expect(card).to_contain_text("Paused")
    card.get_by_role("button", name="Resume").click()
    expect(card.get_by_role("button", name="Pause")).to_be_visible()

    card.get_by_role("button", name="Actions for Morning").click()
    window.page.get_by_role("menuitem", name="Edit").click()
    change = window.page.get_by_role("form", name="Edit Morning")
    expect(change.get_by_label("Instructions")).to_have_value("hello")
    change.get_by_label("Title").fill("Evening")
    change.get_by_role("button", name="Save").click()
    card = schedule(window, "Evening")
    card.get_by_role("link", name="Open").click()
    expect(window.answers()).to_contain_text("offline model")

    window.page.go_back()
    schedule(window, "Evening").get_by_role("button", name="Actions for Evening").click()
    window.page.get_by_role("menuitem", name="Delete").click()
    window.confirm("Delete")
    expect(schedule(window, "Evening")).to_have_count(0)
    assert window.trouble == []


def test_what_is_watched_where_it_is_done_and_who_is_told_can_be_edited(
    visit: Visit, server: ServerProcess
) -> None:
    notes = server.project / "watched.md"
    notes.write_text("milk\n")
    chat = server.begin("assistant", "Where it is told")
    window = visit("/#/schedules")
    form = fill_in(window, "Watched", "* * * * *")
    form.get_by_label("Send the result to").select_option(chat)
    form.get_by_label("What to watch").select_option("file")
    form.get_by_role("button", name="Create").click()
    expect(form.get_by_role("alert")).to_contain_text("Enter what to watch.")
    form.get_by_label("Run only when this changes").fill("watched.md")
    form.get_by_role("button", name="Create").click()
    card = schedule(window, "Watched")
    expect(card).to_contain_text("watched.md")
    (made,) = [
        s for s in server.call("GET", "/api/schedules")["schedules"] if s["title"] == "Watched"
    ]
    assert (made["reportTo"], made["watch"]["what"]) == (chat, "watched.md")

    card.get_by_role("button", name="Actions for Watched").click()
    window.page.get_by_role("menuitem", name="Edit").click()
    change = window.page.get_by_role("form", name="Edit Watched")
    expect(change.get_by_label("Run only when this changes")).to_have_value("watched.md")
    change.get_by_label("Conversation").select_option(chat)
    change.get_by_label("What to watch").select_option("")
    change.get_by_role("button", name="Save").click()
    expect(change).to_have_count(0)
    changed = server.call("GET", f"/api/schedules/{made['id']}")
    assert (changed["target"], changed["reportTo"], changed["watch"]) == (chat, None, None)
    server.call("DELETE", f"/api/schedules/{made['id']}")
    assert window.trouble == []


def test_a_change_from_elsewhere_shows_by_itself_and_a_failed_run_says_why(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit("/#/schedules", width=390, height=800, is_phone=True)
    expect(window.page.get_by_role("heading", name="Heartbeat")).to_be_visible()
    made = server.call(
        "POST",
        "/api/schedules",
        {
            "title": "<b>Fragile</b>",
            "prompt": "break down",
            "at": "2099-01-01T08:00",
            "timezone": "UTC",
            "definition": "stranger",
        },
    )
    card = schedule(window, "<b>Fragile</b>")
    expect(card).to_contain_text("Once on Jan 1, 2099")
    card.get_by_role("button", name="Run now").click()
    expect(card).to_contain_text("Last run failed")
    expect(card).to_contain_text("It broke.")
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
    server.call("DELETE", f"/api/schedules/{made['id']}")
    expect(card).to_have_count(0)
    assert window.trouble == []


def test_a_batch_of_the_heartbeat_shows_what_woke_it(visit: Visit, server: ServerProcess) -> None:
    (server.project / "heartbeat").mkdir(exist_ok=True)
    (server.project / "seen.md").write_text("one\n")
    task = "---\nevery: 24h\nwatch: {file: seen.md}\n---\nSay what is new."
    (server.project / "heartbeat" / "look.md").write_text(task)
    window = visit("/#/schedules", width=390, height=800, is_phone=True)
    tasks = window.page.get_by_role("list", name="Heartbeat tasks")
    batches = window.page.get_by_role("list", name="Recent batches").get_by_role("listitem")
    run = tasks.get_by_role("button", name="Run now")
    run.click()
    expect(batches.filter(has_text="Done")).to_have_count(1)
    (server.project / "seen.md").write_text("one\ntwo\n")
    run.click()
    expect(batches.filter(has_text="Done")).to_have_count(2)
    expect(batches.last.get_by_text("Changes")).to_have_count(0)
    batches.first.get_by_text("Changes").click()
    expect(batches.first).to_contain_text("+two")
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert window.trouble == []
