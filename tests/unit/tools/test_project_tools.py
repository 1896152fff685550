import os
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from retinue.tools.project_tools import ProjectTools
from tests.unit.tools.support import Context, run

Write = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    return tmp_path / "tools"


@pytest.fixture
def write(folder: Path) -> Write:
    def write(name: str, text: str) -> Path:
        path = folder / name
        path.write_text("from retinue import tool\n" + dedent(text))
        return path

    return write


def giving(value: str, name: str = "give") -> str:
    return f"""
        @tool
        def {name}() -> str:
            return {value!r}
        """


async def test_the_tools_of_all_files_are_found(folder: Path, write: Write, ctx: Context) -> None:
    write("one.py", giving("1", "first"))
    write("two.py", giving("2", "second"))
    (folder / "notes.txt").write_text("not Python")
    box = ProjectTools(folder)
    tools = box.read()
    assert list(tools) == ["first", "second"]
    assert tools["first"].source == "project"
    assert (await run(tools["second"], ctx)).output.text == "2"
    assert list(box.problems()) == []
    assert not (folder / "__pycache__").exists()


async def test_a_missing_folder_has_no_tools(tmp_path: Path) -> None:
    assert ProjectTools(tmp_path / "none").read() == {}


async def test_nothing_is_read_again_while_nothing_changes(folder: Path, write: Write) -> None:
    write("one.py", giving("1"))
    box = ProjectTools(folder)
    assert box.read() is box.read()


async def test_an_edit_is_used_from_the_next_listing_on(
    folder: Path, write: Write, ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    write("one.py", giving("1"))
    box = ProjectTools(folder)
    for value in ("2", "3", "4"):  # as long as the one before, and within the same second
        write("one.py", giving(value))
        assert (await run(box.read()["give"], ctx)).output.text == value


async def test_a_removed_file_takes_its_tools_along(folder: Path, write: Write) -> None:
    path = write("one.py", giving("1"))
    box = ProjectTools(folder)
    box.read()
    path.unlink()
    assert box.read() == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def broken(:\n", "one.py:2: invalid syntax"),
        ("\nimport no_such_module\n", "one.py:3: ModuleNotFoundError"),
        ("raise SystemExit(1)\n", "one.py:2: SystemExit: 1"),
        ("\n\n@tool(name='system_x')\ndef f(): ...\n", "one.py:4: tool f: 'system_x' is reserved"),
        ("@tool(effect='verifiable')\ndef f(): ...\n", "one.py:2: tool f: effect 'verifiable'"),
        ("@tool\ndef f(a: 'Nowhere'): ...\n", "one.py:2: tool f: an annotation cannot"),
    ],
)
async def test_a_file_that_does_not_load_keeps_its_last_good_version(
    folder: Path, write: Write, ctx: Context, text: str, problem: str
) -> None:
    write("one.py", giving("good"))
    write("two.py", giving("other", "second"))
    box = ProjectTools(folder)
    box.read()
    write("one.py", text)
    tools = box.read()
    assert (await run(tools["give"], ctx)).output.text == "good"
    assert "second" in tools
    (told,) = box.problems()
    assert str(told).startswith(f"{folder.name}/{problem}")
    assert (told.file, told.using_last_good) == (f"{folder.name}/one.py", True)
    write("one.py", giving("repaired"))
    assert (await run(box.read()["give"], ctx)).output.text == "repaired"
    assert list(box.problems()) == []


async def test_a_file_that_never_loaded_is_named_and_gives_nothing(
    folder: Path, write: Write
) -> None:
    write("one.py", "1 / 0\n")
    box = ProjectTools(folder)
    assert box.read() == {}
    (told,) = box.problems()
    assert str(told) == f"{folder.name}/one.py:2: ZeroDivisionError: division by zero"
    assert (told.line, told.using_last_good) == (2, False)


async def test_everything_wrong_with_a_files_tools_is_told_at_once(
    folder: Path, write: Write
) -> None:
    write(
        "one.py",
        """
        @tool
        def first(a: "Nowhere"): ...

        @tool
        def good() -> str:
            return ""

        @tool
        def second(*rest: int): ...
        """,
    )
    box = ProjectTools(folder)
    assert box.read() == {}
    assert [(told.line, told.field) for told in box.problems()] == [
        (3, "tool first"),
        (10, "tool second"),
    ]


async def test_two_files_with_one_name_keep_the_first_and_say_so(
    folder: Path, write: Write, ctx: Context
) -> None:
    write("a.py", giving("a"))
    write("b.py", giving("b"))
    box = ProjectTools(folder)
    assert (await run(box.read()["give"], ctx)).output.text == "a"
    (told,) = box.problems()
    assert (told.file, told.line) == (f"{folder.name}/b.py", 3)
    assert "a.py already has a tool 'give'" in told.message


async def test_a_file_imports_its_helpers_and_sees_them_change(
    folder: Path, write: Write, ctx: Context
) -> None:
    write("_shop.py", "price = 1\n")
    write(
        "one.py",
        """
        from ._shop import price

        @tool
        def cost() -> int:
            return price
        """,
    )
    box = ProjectTools(folder)
    assert (await run(box.read()["cost"], ctx)).output.text == "1"
    write("_shop.py", "price = 2\n")
    assert (await run(box.read()["cost"], ctx)).output.text == "2"


async def test_a_tool_that_was_imported_from_another_file_is_not_there_twice(
    folder: Path, write: Write
) -> None:
    write("a.py", giving("a"))
    write("b.py", "from .a import give\nagain = give\n")
    box = ProjectTools(folder)
    assert list(box.read()) == ["give"]
    assert list(box.problems()) == []


async def test_dataclasses_and_late_annotations_of_a_file_resolve(
    folder: Path, ctx: Context
) -> None:
    (folder / "one.py").write_text(
        dedent(
            """
            from __future__ import annotations
            from dataclasses import dataclass
            from typing import TYPE_CHECKING
            from retinue import tool
            if TYPE_CHECKING:
                from retinue import ToolContext

            @dataclass
            class Place:
                name: str

            @tool
            async def go(ctx: ToolContext, to: Place) -> str:
                return f"{to.name} {ctx.call_id}"
            """
        )
    )
    tools = ProjectTools(folder).read()
    assert (await run(tools["go"], ctx, to={"name": "home"})).output.text == "home call-1"


async def test_a_file_that_is_replaced_with_the_same_time_and_size_is_noticed(
    folder: Path, write: Write, ctx: Context
) -> None:
    path = write("one.py", giving("1"))
    stat = path.stat()
    box = ProjectTools(folder)
    box.read()
    write("new", giving("2")).rename(path)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (await run(box.read()["give"], ctx)).output.text == "2"
