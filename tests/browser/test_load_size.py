"""The size of the initial download and the time to first paint."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.window import Window

STATIC = Path(__file__).resolve().parents[2] / "src/retinue/server/static"
MOST_BYTES = 120_000
"""Compressed: the page, its scripts and its styles; pages and dialogs come when they are opened."""

FIRST_PAINT = """() => new Promise((resolve) =>
  new PerformanceObserver((list) => {
    for (const { startTime } of list.getEntriesByName("first-contentful-paint")) resolve(startTime);
  }).observe({ type: "paint", buffered: true })
)"""
"""An observer: the page's security policy refuses the polling of `wait_for_function`."""


def test_what_every_visit_fetches_is_small() -> None:
    page = (STATIC / "index.html").read_text()
    names = {"index.html", *re.findall(r'(?:src|href)="/([^"]+\.(?:js|css))"', page)}
    assert len(names) > 3
    sizes = {name: len(gzip.compress((STATIC / name).read_bytes(), 9)) for name in names}
    assert sum(sizes.values()) <= MOST_BYTES, sizes


def test_the_app_shows_itself_soon(
    visit: Callable[..., Window], record_property: Callable[[str, object], None]
) -> None:
    window = visit()
    expect(window.list).to_be_visible()
    window.page.reload()
    expect(window.list).to_be_visible()
    painted: float = window.page.evaluate(FIRST_PAINT)
    record_property("first_contentful_paint_ms", round(painted))
    assert painted < 4_000
