from dataclasses import replace

from retinue.tools.combined_tools import combined_tools
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool


def listing(*tools: Tool) -> dict[str, Tool]:
    return {made.name: made for made in tools}


def made(name: str, source: str) -> Tool:
    return replace(tool(name="x")(lambda: None).as_tool(source=source), name=name)


def test_of_two_tools_with_one_name_the_first_stands_and_the_other_is_reported() -> None:
    own, project = made("a", "builtin"), (made("a", "project"), made("b", "project"))
    tools, problems = combined_tools([listing(own), listing(*project)])
    assert {name: entry.source for name, entry in tools.items()} == {"a": "builtin", "b": "project"}
    assert [str(problem) for problem in problems] == [
        "project: skipped: builtin already has a tool 'a'"
    ]


def test_names_of_the_engine_and_impossible_names_are_kept_out() -> None:
    own, server = made("system_own", "builtin"), (made("system_x", "mcp:s"), made("a b", "mcp:s"))
    tools, problems = combined_tools([listing(own), listing(*server)])
    assert list(tools) == ["system_own"]
    assert ["system_x" in p or "a b" in p for p in map(str, problems)] == [True, True]
