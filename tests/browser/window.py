"""The page object for one window of the web app."""

import re

from playwright.sync_api import ConsoleMessage, Dialog, Error, Locator, Page, Request, expect

TROUBLE: dict[Page, list[str]] = {}
"""Problems per page: requests to other hosts, dialogs and script errors."""

_EXPECTED = re.compile(r"WebSocket|Failed to load resource")


def watched(page: Page, base: str) -> Page:
    """Record requests to other hosts, dialogs and errors of a page."""
    trouble = TROUBLE[page] = []

    def on_request(request: Request) -> None:
        if not request.url.startswith((base, "data:", "blob:")):
            trouble.append(f"request to {request.url}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error" and not _EXPECTED.search(message.text):
            trouble.append(f"console: {message.text}")

    def on_error(error: Error) -> None:
        trouble.append(f"error: {error}")

    def on_dialog(dialog: Dialog) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("request", on_request)
    page.on("console", on_console)
    page.on("pageerror", on_error)
    page.on("dialog", on_dialog)
    return page


class Window:
    """One window of the app."""

    def __init__(self, page: Page) -> None:
        self.page = page

    @property
    def trouble(self) -> list[str]:
        return TROUBLE[self.page]

    def lose_sockets(self) -> None:
        """Reload without WebSocket support."""
        self.page.add_init_script(
            "window.WebSocket = class { constructor() { setTimeout(() => this.onclose?.(), 0); }"
            " close() {} send() {} }"
        )
        self.page.reload()

    # ------------------------------------------------------------ places

    @property
    def list(self) -> Locator:
        return self.page.get_by_role("navigation", name="Conversations")

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log")

    @property
    def message(self) -> Locator:
        return self.page.get_by_role("textbox", name="Message")

    @property
    def stop_button(self) -> Locator:
        return self.page.get_by_role("button", name="Stop", exact=True)

    @property
    def title(self) -> Locator:
        return self.page.get_by_role("heading", level=1)

    def row(self, name: str) -> Locator:
        return self.list.get_by_role("listitem").filter(has_text=name)

    def answers(self, speaker: str = "Assistant") -> Locator:
        return self.log.get_by_role("article", name=speaker)

    def bubbles(self) -> Locator:
        return self.log.get_by_role("article", name="You")

    def call(self, tool: str) -> Locator:
        return self.log.locator(".call", has_text=tool).last

    # ------------------------------------------------------------ doing

    def begin(self, speaker: str = "Assistant") -> None:
        self.list.get_by_role("button", name="New conversation", exact=True).click()
        self.page.get_by_role("main").get_by_role("button", name=re.compile(speaker)).click()
        expect(self.message).to_be_visible()

    def say(self, text: str) -> None:
        self.message.fill(text)
        self.message.press("Enter")
        expect(self.message).to_have_value("")

    def choose(self, name: str, action: str) -> None:
        """Choose an action from the menu of a conversation in the sidebar."""
        row = self.row(name)
        row.hover()
        row.get_by_role("button", name=re.compile("^Actions for")).click()
        self.page.get_by_role("menuitem", name=action, exact=True).click()

    def confirm(self, action: str) -> None:
        self.page.get_by_role("dialog").get_by_role("button", name=action, exact=True).click()

    def rests(self) -> None:
        expect(self.stop_button).to_have_count(0)

    def place(self) -> str:
        """The ID of the open conversation."""
        found = re.search(r"#/c/([^/]+)$", self.page.url)
        assert found, self.page.url
        return found.group(1)
