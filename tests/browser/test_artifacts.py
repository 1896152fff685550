"""The panel for lists, notes and views, updated live by users and agents."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.hostile_text import TEXTS
from tests.browser.server_process import ServerProcess
from tests.browser.test_accessibility import complaints
from tests.browser.window import Window

Visit = Callable[..., Window]

EVIL = '<img src=x onerror="alert(41)">'


def panel(window: Window) -> Locator:
    return window.page.get_by_role("complementary", name="Lists and notes")


def open_panel(window: Window) -> Locator:
    window.list.get_by_role("button", name="Lists and notes").click()
    expect(panel(window).get_by_role("heading", name="Notes", exact=True)).to_be_visible()
    return panel(window)


def keep(server: ServerProcess, plugin: str, operation: str, **arguments: Any) -> Any:
    path = f"/api/plugins/{plugin}/operations/{operation}"
    return server.call("POST", path, {"arguments": arguments})["result"]


def test_a_list_is_made_filled_completed_ordered_and_undone(visit: Visit) -> None:
    window = visit()
    side = open_panel(window)
    side.get_by_role("button", name="New list").click()
    side.get_by_role("textbox", name="New list name").fill("Shopping")
    window.page.keyboard.press("Enter")
    expect(side.get_by_role("heading", name="Shopping")).to_be_visible()
    for title in ("Milk", "Bread", "Apples"):
        side.get_by_role("textbox", name="New item").fill(title)
        window.page.keyboard.press("Enter")
        expect(side.get_by_role("checkbox", name=f"Done: {title}")).to_be_visible()
    items = side.get_by_role("list", name="Items", exact=True).get_by_role("listitem")
    expect(items).to_have_text(["Milk", "Bread", "Apples"])
    side.get_by_role("button", name="Apples").focus()
    window.page.keyboard.press("Alt+ArrowUp")
    expect(items).to_have_text(["Milk", "Apples", "Bread"])
    expect(side.get_by_role("button", name="Apples")).to_be_focused()
    side.get_by_role("checkbox", name="Done: Milk").click()
    expect(items).to_have_text(["Apples", "Bread"])
    expect(side).to_contain_text("Completed (1)")
    side.get_by_role("button", name="Undo").click()
    expect(items).to_have_text(["Milk", "Apples", "Bread"])
    side.get_by_role("button", name="Bread").click()
    form = side.get_by_role("form", name="Edit Bread")
    form.get_by_role("textbox", name="Notes").fill("Rye")
    form.get_by_role("textbox", name="Tags").fill("#baker, fresh")
    form.get_by_role("button", name="Save").click()
    expect(items.last).to_contain_text("#baker · #fresh")
    expect(items.last).to_contain_text("Rye")
    assert window.trouble == []


def test_a_list_has_fields_of_its_own_and_is_filtered_with_errors_in_their_place(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Reading")
    for title in ("Emma", "Ulysses"):
        keep(server, "lists", "item-add", list="Reading", title=title)
    window = visit()
    side = open_panel(window)
    side.get_by_role("button", name="Reading").click()
    side.get_by_role("button", name="Actions for Reading").click()
    window.page.get_by_role("menuitem", name="Fields and tags").click()
    side.get_by_role("button", name="Add field").click()
    side.get_by_role("textbox", name="Field 1 name").fill("Pages")
    side.get_by_role("combobox", name="Field 1 type").select_option("number")
    side.get_by_role("button", name="Save").click()
    side.get_by_role("button", name="Emma").click()
    side.get_by_role("spinbutton", name="Pages").fill("474")
    side.get_by_role("button", name="Save").click()
    expect(side).to_contain_text("Pages: 474")
    side.get_by_role("button", name="Actions for Reading").click()
    window.page.get_by_role("menuitem", name="Filter").click()
    query = side.get_by_role("textbox", name="Filter list")
    query.fill("pages > 400")
    items = side.get_by_role("list", name="Items", exact=True).get_by_role("listitem")
    expect(items).to_have_count(1)
    query.fill("pages > > 400")
    expect(query).to_have_attribute("aria-invalid", "true")
    expect(side.locator("mark")).to_have_text(">")
    query.fill("😀😀 pages > > 400")
    expect(side.locator("code")).to_contain_text("😀")
    expect(side.locator("mark")).to_have_text(">")
    query.fill("")
    expect(items).to_have_count(2)


def test_what_an_agent_changes_appears_in_every_window_with_who_and_what(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("clerk", "Keeper")
    note = keep(server, "notes", "create", title="Journal", content="Monday\nTuesday\n")["note"]
    keep(server, "lists", "create", name="Errands")
    one = visit(f"/#/c/{agent_id}")
    other = visit()
    sides = [open_panel(one), open_panel(other)]
    sides[0].get_by_role("button", name="Journal").click()
    sides[1].get_by_role("button", name="Errands").click()
    expect(sides[0]).to_contain_text("Tuesday")
    one.say('call lists_item_add {"list": "Errands", "title": "Post office"}')
    expect(sides[1].get_by_role("checkbox", name="Done: Post office")).to_be_visible()
    expect(sides[1].get_by_role("listitem")).to_contain_text("Changed by Keeper")
    one.say(
        'call notes_edit {"note": "%s", "old": "Tuesday", "new": "Wednesday"}' % note["id"]  # noqa: UP031
    )
    expect(sides[0]).to_contain_text("Changed by Keeper")
    changed = sides[0].get_by_role("list", name="Changes")
    expect(changed).to_contain_text("Removed: Tuesday")
    expect(changed).to_contain_text("Added: Wednesday")
    sides[0].get_by_role("button", name="Undo").first.click()
    expect(sides[0].locator(".prose")).to_contain_text("Tuesday")
    sides[1].get_by_role("button", name="Undo").first.click()
    expect(sides[1]).to_contain_text("This list is empty.")
    assert one.trouble == other.trouble == []


def test_a_note_is_written_and_a_text_that_changed_meanwhile_is_not_lost_unasked(
    visit: Visit, server: ServerProcess
) -> None:
    note = keep(server, "notes", "create", title="Shared", content="First.")["note"]
    window = visit()
    side = open_panel(window)
    side.get_by_role("button", name="Shared").click()
    side.get_by_role("button", name="Edit").click()
    text = side.get_by_role("textbox", name="Text of Shared")
    text.fill("# Mine\n\nWords.")
    keep(server, "notes", "write", note=note["id"], content="Theirs.")
    expect(side).to_contain_text("changed while you were editing")
    side.get_by_role("button", name="Save").click()
    window.confirm("Cancel")
    expect(text).to_have_value("# Mine\n\nWords.")
    side.get_by_role("button", name="Save").click()
    window.confirm("Overwrite")
    expect(side.get_by_role("heading", name="Mine")).to_be_visible()
    side.get_by_role("button", name="Actions for Shared").click()
    window.page.get_by_role("menuitem", name="Changes").click()
    expect(side.get_by_role("list", name="Changes").get_by_role("listitem")).to_have_count(3)


def test_a_query_is_kept_as_a_view_renamed_and_deleted(visit: Visit, server: ServerProcess) -> None:
    keep(server, "lists", "create", name="Garden")
    keep(server, "lists", "item-add", list="Garden", title="Water the figs", tags=["figs"])
    window = visit()
    side = open_panel(window)
    side.get_by_role("button", name="New query").click()
    side.get_by_role("textbox", name="Query").fill("tag = figs")
    expect(side.get_by_role("list", name="Results")).to_contain_text("Water the figs")
    side.get_by_role("textbox", name="View name").fill("About figs")
    side.get_by_role("button", name="Save view").click()
    expect(side.get_by_role("heading", name="About figs")).to_be_visible()
    keep(server, "lists", "item-add", list="Garden", title="Eat the figs", tags=["figs"])
    expect(side.get_by_role("list", name="Results").get_by_role("listitem")).to_have_count(2)
    side.get_by_role("button", name="Actions for About figs").click()
    window.page.get_by_role("menuitem", name="Delete").click()
    views = side.get_by_role("list", name="Views")
    expect(views).not_to_contain_text("About figs")
    side.get_by_role("button", name="Undo").click()
    expect(views).to_contain_text("About figs")


def test_lists_and_notes_are_found_by_the_palette_and_by_search(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Cellar")
    keep(server, "lists", "item-add", list="Cellar", title="Quince jelly")
    keep(server, "notes", "create", title="Recipes", content="Quince needs long cooking.")
    window = visit()
    expect(window.list).to_be_visible()
    window.page.keyboard.press("Control+k")
    expect(window.page.get_by_role("combobox", name="Command menu")).to_be_focused()
    window.page.keyboard.type("quince")
    expect(window.page.get_by_role("option", name="Recipes")).to_be_visible()
    window.page.get_by_role("option", name="Quince jelly").click()
    expect(panel(window).get_by_role("heading", name="Cellar")).to_be_visible()
    panel(window).get_by_role("button", name="All lists and notes").click()
    panel(window).get_by_role("searchbox").fill("quince")
    expect(panel(window).get_by_role("list", name="Results").get_by_role("listitem")).to_have_count(
        2
    )


def test_hostile_names_items_and_notes_are_only_text(visit: Visit, server: ServerProcess) -> None:
    keep(server, "lists", "create", name=f"Evil {EVIL}")
    keep(server, "lists", "item-add", list=f"Evil {EVIL}", title=EVIL, notes=TEXTS[3], tags=["<b>"])
    keep(server, "lists", "item-add", list=f"Evil {EVIL}", title="x" * 300)
    note = keep(server, "notes", "create", title=f"Note {EVIL}", content="\n\n".join(TEXTS))["note"]
    window = visit(width=1280)
    side = open_panel(window)
    side.get_by_role("button", name="Evil <img").click()
    expect(side.get_by_role("list", name="Items", exact=True)).to_contain_text(EVIL)
    side.get_by_role("button", name="All lists and notes").click()
    side.get_by_role("button", name="Note <img").click()
    expect(side.locator(".prose")).to_contain_text("nine")
    expect(side.locator(".prose").locator("script, style, form, iframe, [onerror]")).to_have_count(
        0
    )
    window.page.keyboard.press("Control+k")
    expect(window.page.get_by_role("combobox", name="Command menu")).to_be_focused()
    window.page.keyboard.type("evil")
    expect(window.page.get_by_role("option", name="Evil <img").first).to_be_visible()
    window.page.wait_for_timeout(200)
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert window.trouble == []
    keep(server, "notes", "delete", note=note["id"])


def test_on_a_phone_the_panel_is_a_sheet_that_escape_and_back_close(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Pockets")
    window = visit(width=390, height=844, is_phone=True)
    window.page.get_by_role("button", name="Open sidebar").click()
    side = open_panel(window)
    box = side.bounding_box()
    assert box is not None and box["width"] == 390 and box["height"] == 844
    side.get_by_role("button", name="Pockets").click()
    side.get_by_role("textbox", name="New item").fill("Keys")
    window.page.keyboard.press("Enter")
    expect(side.get_by_role("checkbox", name="Done: Keys")).to_be_visible()
    assert window.page.evaluate("document.documentElement.scrollWidth") <= 390
    window.page.keyboard.press("Escape")
    expect(side.get_by_role("heading", name="Notes", exact=True)).to_be_visible()
    side.get_by_role("button", name="Close lists and notes").click()
    expect(side).to_have_count(0)


def test_what_is_open_in_the_panel_goes_along_with_a_message_unseen(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Parcels")
    item = keep(server, "lists", "item-add", list="Parcels", title="From Lisbon")["item"]
    agent_id = server.begin("clerk", "Asked about it")
    window = visit(f"/#/c/{agent_id}")
    side = open_panel(window)
    side.get_by_role("button", name="Parcels").click()
    side.get_by_role("button", name="From Lisbon").click()
    window.say("hello")
    expect(window.bubbles().get_by_text("hello", exact=True)).to_be_visible()
    expect(window.bubbles()).not_to_contain_text("Lisbon")
    expect(window.answers("Clerk")).to_be_visible()
    records = server.call("GET", f"/api/agents/{agent_id}/history?limit=10")["records"]
    said = next(record["text"] for record in records if record["kind"] == "user")
    assert said.startswith("<context ") and said.endswith("\nhello")
    assert 'type="list"' in said and 'name="Parcels"' in said and item["id"] in said


def test_what_changed_while_the_server_was_away_is_there_when_it_is_back(
    visit: Visit, server: ServerProcess
) -> None:
    keep(server, "lists", "create", name="Patience")
    keep(server, "lists", "item-add", list="Patience", title="Before")
    window = visit()
    side = open_panel(window)
    side.get_by_role("button", name="Patience").click()
    expect(side.get_by_role("checkbox", name="Done: Before")).to_be_visible()
    server.kill()
    side.get_by_role("textbox", name="New item").fill("Lost?")
    window.page.keyboard.press("Enter")
    expect(window.page.get_by_text("Couldn’t save the change.")).to_be_visible()
    expect(side.get_by_role("textbox", name="New item")).to_have_value("Lost?")
    server.start()
    keep(server, "lists", "item-add", list="Patience", title="After")
    expect(side.get_by_role("checkbox", name="Done: After")).to_be_visible()
    side.get_by_role("textbox", name="New item").press("Enter")
    expect(side.get_by_role("checkbox", name="Done: Lost?")).to_be_visible()
    expect(side.get_by_role("checkbox")).to_have_count(3)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_panel_has_no_serious_fault(visit: Visit, server: ServerProcess, theme: str) -> None:
    keep(server, "lists", "create", name=f"Seen {theme}", fields=[{"label": "Due", "type": "date"}])
    keep(server, "lists", "item-add", list=f"Seen {theme}", title="Thing", tags=["one"])
    keep(server, "notes", "create", title=f"Read {theme}", content="# Title\n\nWords.")
    window = visit()
    scheme = "dark" if theme == "dark" else "light"
    window.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    side = open_panel(window)
    faults = complaints(window.page)
    side.get_by_role("button", name=f"Seen {theme}").click()
    side.get_by_role("button", name="Thing").click()
    expect(side.get_by_role("form", name="Edit Thing")).to_be_visible()
    faults += complaints(window.page)
    side.get_by_role("button", name="All lists and notes").click()
    side.get_by_role("button", name=f"Read {theme}").click()
    side.get_by_role("button", name="Edit").click()
    faults += complaints(window.page)
    side.get_by_role("button", name="All lists and notes").click()
    side.get_by_role("button", name="New query").click()
    side.get_by_role("textbox", name="Query").fill("due > >")
    expect(side.locator("mark")).to_be_visible()
    faults += complaints(window.page)
    assert faults == []
