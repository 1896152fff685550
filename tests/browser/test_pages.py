"""The files and system pages."""

from collections.abc import Callable

from playwright.sync_api import expect

from tests.browser.server_process import ServerProcess
from tests.browser.window import Window

Visit = Callable[..., Window]

HOSTILE = "<img src=x onerror=alert(31)>.md"


def test_files_are_browsed_read_given_and_taken(visit: Visit, server: ServerProcess) -> None:
    agent_id = server.begin("clerk", "Files")
    window = visit(f"/#/c/{agent_id}")
    page = window.page
    page.get_by_role("button", name="Conversation actions").click()
    page.get_by_role("menuitem", name="Files").click()
    expect(page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    page.locator("input[type=file]").set_input_files(
        [
            {"name": HOSTILE, "mimeType": "text/markdown", "buffer": b"# Shopping\n\n- milk"},
            {"name": "data.bin", "mimeType": "application/octet-stream", "buffer": b"\xff\xfe\x00"},
        ]
    )
    entries = page.get_by_role("list", name="Files and folders")
    expect(entries.get_by_role("listitem")).to_have_count(2)
    entries.get_by_role("button", name=HOSTILE, exact=False).first.click()
    expect(entries.get_by_role("heading", name="Shopping")).to_be_visible()
    entries.get_by_role("button", name="data.bin").first.click()
    expect(entries).to_contain_text("No preview available.")
    with page.expect_download() as download:
        entries.get_by_role("link", name=f"Download {HOSTILE}").click()
    assert download.value.path().read_text().startswith("# Shopping")
    entries.get_by_role("button", name="Delete data.bin").click()
    window.confirm("Delete")
    expect(entries.get_by_role("listitem")).to_have_count(1)
    assert window.trouble == []


def test_files_that_the_agent_writes_appear_in_their_folders(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("clerk", "Writer")
    window = visit(f"/#/files/{agent_id}")
    expect(window.page.get_by_role("heading", name="This folder is empty")).to_be_visible()
    server.say(agent_id, 'call files_write {"path": "/plans/one.txt", "content": "Begin."}')
    window.page.get_by_role("link", name="plans").click()
    window.page.get_by_role("button", name="one.txt").first.click()
    expect(window.page.get_by_role("main")).to_contain_text("Begin.")
    window.page.get_by_role("navigation", name="Folder path").get_by_role(
        "link", name="Files"
    ).click()
    expect(window.page.get_by_role("link", name="plans")).to_be_visible()


def test_the_system_tells_how_it_is_and_what_does_not_load(
    visit: Visit, server: ServerProcess
) -> None:
    broken = server.project / "agents" / "broken.toml"
    window = visit("/#/system")
    main = window.page.get_by_role("main")
    expect(main).to_contain_text("All systems healthy")
    expect(main.get_by_role("list", name="All definitions")).to_contain_text("agents/clerk.toml")
    broken.write_text('name = "broken"\nsystemPromt = "Oops"\n')
    try:
        expect(main).to_contain_text("agents/broken.toml")
    finally:
        broken.unlink()
    assert window.trouble == []


def test_another_agent_is_chosen_in_the_head_of_a_conversation(
    visit: Visit, server: ServerProcess
) -> None:
    window = visit(f"/#/c/{server.begin('clerk', 'From here')}")
    window.page.get_by_role("button", name="Clerk: chat with another agent").click()
    window.page.get_by_role("menuitemradio", name="Careful").click()
    expect(
        window.page.get_by_role("button", name="Careful: chat with another agent")
    ).to_be_visible()
    expect(window.message).to_be_focused()


def test_the_system_page_tells_of_mcp_servers_and_refused_calls(
    visit: Visit, server: ServerProcess
) -> None:
    agent_id = server.begin("clerk", "Curious")
    refusal = {
        "number": 7,
        "at": "2026-11-16T09:00:00Z",
        "agentId": agent_id,
        "kind": "tool",
        "name": "shell",
        "rule": "'shell' is refused (toolAllowlist)",
    }
    servers: list[dict[str, object]] = [
        {"name": "papers", "state": "connected", "tools": 3, "problems": []},
        {"name": "calendar", "state": "lost", "tools": 0, "problems": ["program not found"]},
    ]
    window = visit()
    page = window.page
    page.route("**/api/mcp", lambda route: route.fulfill(json={"servers": servers}))
    page.route(
        "**/api/refusals",
        lambda route: route.fulfill(json={"refusals": [refusal], "hasMore": True}),
    )
    page.route(
        "**/api/refusals?before=7",
        lambda route: route.fulfill(
            json={"refusals": [{**refusal, "number": 3, "name": "web_fetch"}], "hasMore": False}
        ),
    )
    window.list.get_by_role("link", name="System").click()
    listed = page.get_by_role("list", name="All MCP servers").get_by_role("listitem")
    expect(listed).to_contain_text(["papers Connected · 3 tools", "calendar Disconnected"])
    expect(listed.last).to_contain_text("program not found")
    refused = page.get_by_role("list", name="Refused calls").get_by_role("listitem")
    expect(refused).to_contain_text("shell by Curious")
    page.get_by_role("button", name="Show older").click()
    expect(refused).to_have_count(2)
    expect(refused.last).to_contain_text("web_fetch")
    refused.first.get_by_role("link", name="Curious").click()
    expect(window.title).to_have_text("Curious")
    assert window.trouble == []
