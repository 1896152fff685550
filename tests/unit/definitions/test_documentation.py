"""The examples of the reference page are a project that loads."""

import re
from pathlib import Path

from tests.unit.definitions.project import Project

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "definitions.md"
BLOCK = re.compile(r"^```(?:toml|markdown)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ((?:agents|prompts)/\S+)")


def test_the_examples_load_together_without_a_warning(project: Project) -> None:
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    for block in blocks:
        name = FILE.search(block)
        assert name is not None, block
        project.write(name[1], block)
    tools = {"order", "time", "shell", "draw", "fail_asset", "approve_asset", "order_many"}
    catalog = project.catalog(tools)

    assert len(blocks) == 7
    assert catalog.errors() == ()
    assert catalog.prompt("asset_worker").placeholders == {"SHOP", "task"}
