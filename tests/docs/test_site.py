"""`make docs`: the site holds together, needs nothing from elsewhere, and leaves nothing out."""

import re
from pathlib import Path

import pytest

from manual.__main__ import build
from manual.site import PAGES, generated_pages
from retinue.cli.main import COMMANDS
from retinue.settings import Settings
from retinue.settings.env_settings import variable_names


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("manual")).parent


def test_every_page_is_built_and_no_link_leads_nowhere(site: Path) -> None:
    # The build is strict: a link to a page or a heading that is not there ends it.
    expected = {page.relative_to(PAGES).with_suffix(".html") for page in PAGES.rglob("*.md")}
    built = {page.relative_to(site) for page in site.rglob("*.html")}
    assert expected <= built


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        for line in page.read_text("utf-8").splitlines():
            loaded = re.findall(
                r"<(?:script|link|img)\b[^>]*\b(?:src|href)=[\"']?https?:[^>]*>", line
            )
            assert loaded == [], page


async def test_the_reference_has_every_setting_command_tool_and_event() -> None:
    pages = await generated_pages()
    for name in variable_names(Settings):
        if name != "RETINUE_CRON":  # a list of tables, each with a section of its own
            assert f"`{name}" in pages["reference/settings.md"], name
    for name in COMMANDS:
        assert f"### `retinue {name}`" in pages["reference/commands.md"]
    for name in ("files_write", "agents_message", "schedule_create", "ask_user", "shell"):
        assert f"### `{name}`" in pages["reference/tools.md"]
    assert "### `POST /api/agents/{agent_id}/messages`" in pages["reference/http.md"]
    assert "## `delta`" in pages["reference/events.md"]
    assert "| `toolAllowlist` |" in pages["reference/files.md"]
