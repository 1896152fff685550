"""What a browser has to fetch before the app is there, and how soon it shows itself."""

import gzip
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.window import Window

STATIC = Path(__file__).resolve().parents[2] / "src/retinue/server/static"
MOST_BYTES = 120_000
"""Compressed: the page, its scripts and its styles; pages and dialogs come when they are opened."""


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
    paint = "performance.getEntriesByName('first-contentful-paint')[0]"
    window.page.wait_for_function(paint)
    painted: float = window.page.evaluate(f"{paint}.startTime")
    record_property("first_contentful_paint_ms", round(painted))
    assert painted < 4_000
