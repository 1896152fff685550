"""Every example of every page is done as it is written; see docs/writing.md for how they are."""

import asyncio
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from retinue.assembly import read_project
from retinue.definitions.formats import read_markdown
from retinue.settings import load_settings
from tests.docs.blocks import PAGES, REPOSITORY, Block, blocks_of, script, session
from tests.docs.reader import Reader


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    home = tmp_path / "you"
    home.mkdir()
    reader = Reader(home, monkeypatch)
    yield reader
    reader.leave()


@pytest.mark.parametrize(
    "page", PAGES, ids=[page.relative_to(REPOSITORY).as_posix() for page in PAGES]
)
def test_what_a_page_shows_is_what_happens(page: Path, reader: Reader) -> None:
    for block in blocks_of(page.read_text("utf-8")):
        try:
            follow(block, reader)
        except Exception as error:
            error.add_note(f"in the example at {page.name}:{block.line}")
            raise
    assert load_settings(reader.here, {}).warnings == ()
    project = asyncio.run(read_project(reader.here, {}))
    assert [str(problem) for problem in project.catalog.errors()] == []


def follow(block: Block, reader: Reader) -> None:
    """Do what one block shows."""
    if block.is_unrun:
        return
    match block.language:
        case "console" | "sh":
            for command in session(block) if block.language == "console" else script(block):
                reader.type(command)
        case "python" if block.path is None:
            reader.run_python(block.text)
        case "toml":
            tomllib.loads(block.text)
        case "json":
            json.loads(block.text)
        case "yaml":
            yaml.safe_load(block.text)
        case "markdown":
            read_markdown(block.text, "the example", body_key="text")
        case "python" | "text":
            pass
        case other:
            raise AssertionError(f"no example is written in {other!r}: see docs/writing.md")
    if block.path is not None:
        reader.write(block.path, block.text)
