"""Fixtures: a server and a browser per test process, and a new browser profile per test."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.hostile_text import ANSWERS
from tests.browser.server_process import ServerProcess, make_project
from tests.browser.window import Window, watched

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
STATIC = Path(__file__).resolve().parents[2] / "src/retinue/server/static/index.html"

PATIENCE_MS = 20_000

Profile = Callable[..., BrowserContext]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for one module: while it is open, no other test can run an event loop."""
    assert CHROMIUM.exists(), "the browser tests need Debian's chromium: run `make system`"
    assert STATIC.exists(), "the browser tests need the built web app: run `make web`"
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    server = ServerProcess(make_project(tmp_path_factory.mktemp("project"), ANSWERS))
    server.start()
    yield server
    server.close()


@pytest.fixture
def profile(browser: Browser) -> Iterator[Profile]:
    """Create new browser profiles."""
    made: list[BrowserContext] = []

    def make(*, width: int = 1280, height: int = 800, is_phone: bool = False) -> BrowserContext:
        context = browser.new_context(
            viewport={"width": width, "height": height}, has_touch=is_phone, is_mobile=is_phone
        )
        context.set_default_timeout(PATIENCE_MS)
        made.append(context)
        return context

    yield make
    for context in made:
        context.close()


@pytest.fixture
def visit(profile: Profile, server: ServerProcess) -> Callable[..., Window]:
    """Open signed-in windows that share one profile."""
    contexts: list[BrowserContext] = []

    def open_window(path: str = "/", **look: int | bool) -> Window:
        if not contexts:
            context = profile(**look)
            response = context.request.post(
                f"{server.base}/api/login",
                data={"token": server.token},
                headers={"Origin": server.base, "X-Retinue": "1"},
            )
            assert response.ok, response.text()
            contexts.append(context)
        page: Page = watched(contexts[0].new_page(), server.base)
        page.goto(f"{server.base}{path}")
        return Window(page)

    return open_window
