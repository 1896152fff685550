"""Collects the pages and their navigation in one folder for the site builder."""

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from manual.commands import commands_page
from manual.events import events_page
from manual.files import files_page
from manual.http import http_page
from manual.project import empty_project
from manual.settings import settings_page
from manual.tools import tools_page

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = REPOSITORY / "docs"
_CONFIGURATION = Path(__file__).with_name("zensical.toml")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_FIRST = ("index.md", "install.md", "quickstart.md", "concepts.md")
_LAST = ("glossary.md", "conformance.md", "writing.md")

Entry = Mapping[str, "str | Sequence[Entry]"]


async def generated_pages() -> Mapping[str, str]:
    """Generate the reference pages, by their path in `docs/`."""
    async with empty_project() as app:
        return {
            "reference/settings.md": settings_page(),
            "reference/files.md": files_page(),
            "reference/commands.md": await commands_page(app),
            "reference/tools.md": await tools_page(app),
            "reference/http.md": http_page(),
            "reference/events.md": events_page(),
        }


async def gather(folder: Path) -> Path:
    """Put the sources of the site into a folder, and return its configuration."""
    pages = folder / "docs"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(PAGES, pages)
    for address, text in (await generated_pages()).items():
        (pages / address).write_text(text, encoding="utf-8")
    configuration = folder / "zensical.toml"
    settings = _CONFIGURATION.read_text("utf-8")
    configuration.write_text(f"{settings}nav = {_toml(navigation(pages))}\n", encoding="utf-8")
    return configuration


def navigation(pages: Path) -> Sequence[Entry]:
    """Order the pages: introduction, how-tos by title, reference, decisions, the rest."""
    how_tos = [path for path in pages.glob("*.md") if path.name not in (*_FIRST, *_LAST)]
    return [
        *_entries(pages, (pages / name for name in _FIRST)),
        {"How to": _by_title(pages, how_tos)},
        {"Reference": _by_title(pages, (pages / "reference").glob("*.md"))},
        {"Decisions": _entries(pages, sorted((pages / "decisions").glob("*.md")))},
        *_entries(pages, (pages / name for name in _LAST)),
    ]


def title_of(page: Path) -> str:
    found = _TITLE.search(page.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{page}: a page must start with `# Title`")
    return found[1].strip()


def _by_title(pages: Path, paths: Iterable[Path]) -> list[Entry]:
    return _entries(pages, sorted(paths, key=lambda path: title_of(path).casefold()))


def _entries(pages: Path, paths: Iterable[Path]) -> list[Entry]:
    return [{title_of(path): path.relative_to(pages).as_posix()} for path in paths]


def _toml(value: "str | Sequence[Entry] | Entry") -> str:
    match value:
        case str():
            return json.dumps(value)
        case Mapping():
            pairs = (f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items())
            return "{ " + ", ".join(pairs) + " }"
        case _:
            return "[" + ", ".join(map(_toml, value)) + "]"
