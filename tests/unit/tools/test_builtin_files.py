from collections.abc import Mapping
from pathlib import Path

import pytest

from retinue.clock import SystemClock
from retinue.settings.tables import ToolsSettings
from retinue.tools.builtin.builtin_tools import builtin_tools
from retinue.tools.execution import run_check
from retinue.tools.function_tool import builtin_listing
from retinue.tools.port import Tool, Verified
from tests.unit.tools.support import Context, run


@pytest.fixture
async def tools() -> Mapping[str, Tool]:
    made = builtin_tools(clock=SystemClock(), private=Path("/nowhere"), settings=ToolsSettings())
    return builtin_listing(made)


async def test_every_file_tool_says_what_it_promises_and_needs(tools: Mapping[str, Tool]) -> None:
    files = {name: t for name, t in tools.items() if name.startswith("files_")}
    assert {name: (tool.effect, tool.capabilities) for name, tool in files.items()} == {
        "files_list": ("pure", ("files.read",)),
        "files_read": ("pure", ("files.read",)),
        "files_write": ("keyed", ("files.write",)),
        "files_append": ("once", ("files.write",)),
        "files_edit": ("verifiable", ("files.write",)),
        "files_delete": ("verifiable", ("files.write",)),
    }
    for tool in files.values():
        assert tool.source == "builtin"
        assert all("description" in entry for entry in tool.parameters["properties"].values())


async def test_what_was_written_can_be_read_listed_and_deleted(
    ctx: Context, tools: Mapping[str, Tool]
) -> None:
    done = await run(tools["files_write"], ctx, path="/notes/plan.md", content="one\ntwo\n")
    assert done.output.text == "Wrote /notes/plan.md (8 bytes)."
    await run(tools["files_append"], ctx, path="/notes/plan.md", content="three\n")
    assert (await run(tools["files_read"], ctx, path="/notes/plan.md")).output.text == (
        "one\ntwo\nthree\n"
    )
    listed = await run(tools["files_list"], ctx, recursive=True)
    assert listed.output.text == "/notes/plan.md  14 bytes  text/markdown"
    assert (await run(tools["files_delete"], ctx, path="/notes/plan.md")).status == "ok"
    assert (await run(tools["files_list"], ctx, path="/notes")).output.text == (
        "No files in /notes."
    )


async def test_a_part_of_a_file_says_which_part_it_is(
    ctx: Context, tools: Mapping[str, Tool]
) -> None:
    await ctx.files.write("/a", b"1\n2\n3\n4\n")
    done = await run(tools["files_read"], ctx, path="/a", offset=2, limit=2)
    assert done.output.text == "2\n3\n[lines 2 to 3 of 4]"
    done = await run(tools["files_read"], ctx, path="/a", offset=9)
    assert (done.status, done.output.text) == ("error", "/a has 4 lines; there is no line 9.")


@pytest.mark.parametrize("data", [b"\x00\x01", b"\xff\xfe\xfa"])
async def test_a_file_that_is_not_text_is_not_shown(
    ctx: Context, tools: Mapping[str, Tool], data: bytes
) -> None:
    await ctx.files.write("/a.bin", data)
    done = await run(tools["files_read"], ctx, path="/a.bin")
    assert "is not a text file" in done.output.text


async def test_an_edit_needs_exactly_one_match(ctx: Context, tools: Mapping[str, Tool]) -> None:
    edit = tools["files_edit"]
    await ctx.files.write("/a", b"aaa b c")
    assert "does not occur" in (await run(edit, ctx, path="/a", old="x", new="y")).output.text
    assert "occurs 2 times" in (await run(edit, ctx, path="/a", old="aa", new="y")).output.text
    assert "must be different" in (await run(edit, ctx, path="/a", old="b", new="b")).output.text
    assert (await run(edit, ctx, path="/a", old="b", new="B")).status == "ok"
    assert await ctx.files.read("/a") == b"aaa B c"


@pytest.mark.parametrize(
    ("now", "old", "new", "answer"),
    [
        ("one three", "two", "three", True),
        ("one two", "two", "three", False),
        ("one ", "two", "", True),
        ("one two", "two", "", False),
        ("one two and more", "two", "two and more", None),
        ("other", "two", "three", None),
    ],
)
async def test_a_lost_edit_is_looked_up_in_the_file(
    ctx: Context, tools: Mapping[str, Tool], now: str, old: str, new: str, answer: bool | None
) -> None:
    await ctx.files.write("/a", now.encode())
    arguments = {"path": "/a", "old": old, "new": new}
    found = await run_check(tools["files_edit"], ctx, arguments, timeout_seconds=5)
    assert (found.happened if found else None) is answer


async def test_a_lost_deletion_is_looked_up_in_the_tree(
    ctx: Context, tools: Mapping[str, Tool]
) -> None:
    await ctx.files.write("/a", b"")
    delete = tools["files_delete"]
    assert await run_check(delete, ctx, {"path": "/a"}, timeout_seconds=5) == Verified(
        happened=False
    )
    gone = await run_check(delete, ctx, {"path": "/b"}, timeout_seconds=5)
    assert gone is not None
    assert gone.happened


@pytest.mark.parametrize("name", ["files_read", "files_delete"])
async def test_a_missing_file_and_a_path_outside_are_results(
    ctx: Context, tools: Mapping[str, Tool], name: str
) -> None:
    assert "no file" in (await run(tools[name], ctx, path="/none")).output.text
    assert "outside" in (await run(tools[name], ctx, path="../../etc/passwd")).output.text
