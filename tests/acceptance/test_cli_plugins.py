"""`retinue PLUGIN OPERATION`, with the example project, alone and beside a server."""

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.acceptance.cli import look, retinue, serving

EXAMPLE = Path(__file__).parents[2] / "examples" / "bookmarks"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shutil.copytree(
        EXAMPLE, tmp_path / "project", ignore=shutil.ignore_patterns("*.db", ".retinue")
    )
    return tmp_path / "project"


def test_the_example_keeps_and_finds_links(project: Path) -> None:
    added = look("bookmarks", "add", "--url", "https://a.example", "--title=Ä", project=project)
    assert (added.code, added.err) == (0, "")
    assert json.loads(added.out) == {"url": "https://a.example", "title": "Ä"}
    found = look("--json", "bookmarks", "find", "--text", "a.ex", project=project)
    assert found.out == '[{"url": "https://a.example", "title": "Ä"}]\n'
    gone = look("bookmarks", "remove", "--url", "https://a.example", project=project)
    assert gone.out == "https://a.example is forgotten.\n"
    again = look("bookmarks", "remove", "--url", "x", "--json", project=project)
    assert again.code == 1
    assert json.loads(again.err)["error"]["code"] == "not_found"


def test_help_is_made_from_the_declaration(project: Path) -> None:
    of_plugin = look("bookmarks", "--help", project=project)
    assert of_plugin.code == 0
    assert "Links worth keeping" in of_plugin.out
    assert "Forget a link." in of_plugin.out
    of_operation = look("bookmarks", "add", "--help", project=project)
    assert of_operation.code == 0
    assert "--title TEXT" in of_operation.out
    assert "What it is called." in of_operation.out
    listed = look("plugins", project=project)
    assert re.search(r"^bookmarks +find +pure +Find bookmarks", listed.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "--url", "x"], "the following arguments are required: --title"),
        (["find", "--what", "x"], "unrecognized arguments: --what x"),
        (["sell"], "invalid choice: 'sell'"),
        ([], "required: OPERATION"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(
    project: Path, arguments: list[str], said: str
) -> None:
    done = look("bookmarks", *arguments, project=project)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "See: retinue bookmarks --help" in done.err


def test_an_unknown_plugin_is_an_unknown_command_and_opens_nothing(project: Path) -> None:
    done = look("bokmarks", "find", project=project)
    assert done.code == 2
    assert "unknown command 'bokmarks'" in done.err
    assert not (project / ".retinue").exists()


def test_a_plugin_that_does_not_load_is_told_where_it_is_missed(project: Path) -> None:
    file = project / "plugins" / "bookmarks.py"
    good = file.read_text("utf-8")
    file.write_text(f"def broken(:\n{good}", "utf-8")
    missed = look("bookmarks", "find", project=project)
    assert missed.code == 2
    assert "unknown command 'bookmarks'" in missed.err
    assert "plugins/bookmarks.py:1: invalid syntax" in missed.err
    listed = look("plugins", project=project)
    assert listed.code == 1
    assert "error: plugins/bookmarks.py:1: invalid syntax" in listed.out
    with serving(project):
        told = look("plugins", "--json", project=project)
        assert [one["file"] for one in json.loads(told.out)["problems"]] == ["plugins/bookmarks.py"]
        assert "plugins/bookmarks.py:1: " in look("bookmarks", "find", project=project).err
        file.write_text(good, "utf-8")
        assert look("bookmarks", "find", project=project).code == 0


def test_beside_a_server_the_server_answers_within_the_agents_scope(project: Path) -> None:
    with serving(project):
        add = ("bookmarks", "add", "--url", "https://b.example", "--title", "B")
        for _ in range(2):
            done = retinue(*add, "--idempotency-key", "one", project=project)
            assert done.code == 0, done.err
        found = look("bookmarks", "find", "--json", project=project)
        assert len(json.loads(found.out)) == 1
        look("send", "librarian", "hello", project=project)
        scoped = ("--as-agent", "librarian")
        assert look("bookmarks", "find", *scoped, project=project).code == 0
        assert look("bookmarks", *scoped, "find", project=project).code == 0
        refused = look("bookmarks", "remove", "--url", "x", *scoped, project=project)
        assert refused.code == 1
        assert "'bookmarks_remove' is not allowed for this agent" in refused.err
        wrong = look("bookmarks", "remove", "--url", "x", "--idempotency-key", "k", project=project)
        assert "takes no key" in wrong.err


DEADLY = """\
import os
from retinue import define_plugin, operation

@operation
def die() -> None:
    os._exit(1)

@operation(effect="pure")
def look() -> None:
    os._exit(1)

plugin = define_plugin(id="deadly", operations=[die, look])
"""


def test_who_is_left_without_an_answer_is_not_told_to_do_it_again(project: Path) -> None:
    (project / "plugins" / "deadly.py").write_text(DEADLY)
    for operation, said in (
        ("die", "unknown whether deadly die took effect: check before you repeat it"),
        ("look", "try again soon"),
    ):
        with serving(project):
            done = look("deadly", operation, project=project)
            assert done.code == 1
            assert said in done.err


SHOP = """\
from typing import Annotated

from pydantic import Field
from retinue import OperationContext, define_plugin, operation

@operation
def order(ctx: OperationContext, count: Annotated[int, Field(le=5)] = 1) -> int:
    return count * len(ctx.env("SHOP_KEY"))

plugin = define_plugin(id="shop", operations=[order])
"""


def test_an_operation_reads_variables_without_a_server_too(project: Path) -> None:
    (project / "plugins" / "shop.py").write_text(SHOP)
    missing = look("shop", "order", project=project)
    assert missing.code == 1
    assert "this needs a value for SHOP_KEY: set it for your account (`retinue env" in missing.err
    assert retinue("env", "set", "SHOP_KEY", project=project, stdin="sesame\n").code == 0
    assert look("shop", "order", project=project).out == "6\n"
    too_many = look("shop", "order", "--count", "6", project=project)
    assert too_many.code == 2
    assert "'count': Input should be less than or equal to 5" in too_many.err


def test_packing_tells_that_a_plugin_stays_behind(project: Path) -> None:
    done = look("pack", "librarian", project=project)
    assert done.code == 0, done.err
    told = "plugins/bookmarks.py: plugins are not packed, so the package lacks bookmarks_add"
    assert f"{told}, bookmarks_find" in done.out + done.err
    assert "built-in tools" not in done.out
