"""What the text names exists: commands, routes and settings in code font, and linked pages."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from manual.http import openapi
from retinue.assembly import read_plugins
from retinue.cli.main import COMMANDS
from retinue.settings import Settings
from retinue.settings.keys import snake_case
from retinue.settings.table_reader import nested_shape
from tests.docs.blocks import PAGES, REPOSITORY

IDS = [page.relative_to(REPOSITORY).as_posix() for page in PAGES]
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
COMMAND = re.compile(r"(?:^|\W)retinue ([a-z]+)")
ROUTE = re.compile(r"(?:(?P<methods>[A-Z]+(?:/[A-Z]+)*) )?(?P<path>/(?:api|threads)/[\w/{}.-]+)")
SETTING = re.compile(r"\b(limits|server|agents|heartbeat|tools)\.(\w+)$")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[\w-]+)?\)")


def codes(page: Path) -> Iterator[str]:
    yield from CODE.findall(BLOCK.sub("", page.read_text("utf-8")))


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    async def names() -> set[str]:
        return set((await read_plugins(tmp_path_factory.mktemp("empty")))[0])

    return asyncio.run(names())


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_that_a_page_names_exist(page: Path, plugins: set[str]) -> None:
    named = {name for code in codes(page) for name in COMMAND.findall(code)}
    assert named - COMMANDS.keys() - plugins == set()


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_routes_that_a_page_names_exist(page: Path) -> None:
    known = {
        path: {method.upper() for method in methods} for path, methods in openapi()["paths"].items()
    }
    known["/api/ws"] = {"GET"}
    for code in codes(page):
        for found in ROUTE.finditer(code):
            asked = set(filter(None, (found["methods"] or "").split("/")))
            fitting = [methods for path, methods in known.items() if fits(path, found["path"])]
            assert any(asked <= methods for methods in fitting), found.group()


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_settings_that_a_page_names_exist(page: Path) -> None:
    for code in codes(page):
        for table, key in SETTING.findall(code):
            inner, _ = nested_shape(Settings.model_fields[table].annotation)
            assert inner is not None
            assert snake_case(key) in inner.model_fields, code


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_pages_that_a_page_links_to_exist(page: Path) -> None:
    missing = [
        target
        for target in LINK.findall(page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def fits(path: str, named: str) -> bool:
    """Whether a path that a page names is this one, with its parameters or with values."""
    return re.fullmatch(re.sub(r"{[^}]*}", "[^/]+", path), named) is not None
