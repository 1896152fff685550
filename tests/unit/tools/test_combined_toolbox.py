from collections.abc import Mapping, Sequence
from dataclasses import replace

from retinue.problems import LoadProblem
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool
from retinue.tools.toolbox import CombinedToolbox


class Box:
    def __init__(self, *tools: Tool, problem: str | None = None) -> None:
        self.content: Mapping[str, Tool] = {made.name: made for made in tools}
        self.told = [LoadProblem(message=problem)] if problem else []

    async def tools(self) -> Mapping[str, Tool]:
        return self.content

    def problems(self) -> Sequence[LoadProblem]:
        return self.told


class BrokenBox(Box):
    async def tools(self) -> Mapping[str, Tool]:
        raise ConnectionError("no line")


def made(name: str, source: str) -> Tool:
    return replace(tool(name="x")(lambda: None).as_tool(source=source), name=name)


async def test_of_two_tools_with_one_name_the_first_stands_and_the_other_is_reported() -> None:
    box = CombinedToolbox(
        Box(made("a", "builtin")), Box(made("a", "project"), made("b", "project"), problem="p")
    )
    assert {name: entry.source for name, entry in (await box.tools()).items()} == {
        "a": "builtin",
        "b": "project",
    }
    assert [str(told) for told in box.problems()] == [
        "p",
        "project: skipped: builtin already has a tool 'a'",
    ]


async def test_names_of_the_engine_and_impossible_names_are_kept_out() -> None:
    box = CombinedToolbox(
        Box(made("system_own", "builtin")), Box(made("system_x", "mcp:s"), made("a b", "mcp:s"))
    )
    assert list(await box.tools()) == ["system_own"]
    assert ["system_x" in p or "a b" in p for p in map(str, box.problems())] == [True, True]


async def test_a_source_that_fails_takes_no_other_along() -> None:
    broken = BrokenBox()
    box = CombinedToolbox(broken, Box(made("a", "builtin")))
    assert list(await box.tools()) == ["a"]
    (told,) = box.problems()
    assert str(told) == "BrokenBox: cannot list tools: ConnectionError: no line"


async def test_the_same_mapping_comes_back_until_a_source_changes() -> None:
    source = Box(made("a", "builtin"))
    box = CombinedToolbox(source)
    before = await box.tools()
    assert await box.tools() is before
    source.content = {"b": made("b", "builtin")}
    assert list(await box.tools()) == ["b"]
