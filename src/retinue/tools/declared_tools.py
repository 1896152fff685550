"""Tools from `define_tool` calls in files of definitions, prompts and hooks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from retinue.definitions.declarations import DeclaredTool
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.tools.function_tool import name_problem
from retinue.tools.package_tools import source_of
from retinue.tools.port import Tool
from retinue.tools.tool_definition import DefinedTool


def declared_tools(
    declared: Mapping[str, DeclaredTool],
) -> tuple[Mapping[str, Tool], Sequence[LoadProblem]]:
    """Make the tools that a catalog collected, and list what is wrong with the rest."""
    tools: dict[str, Tool] = {}
    problems: list[LoadProblem] = []
    for key, one in declared.items():
        problem = name_problem(one.name)
        if problem is not None:
            problems.append(LoadProblem(file=one.file, line=one.line, message=problem))
        elif isinstance(one.tool, DefinedTool):
            try:
                made = one.tool.as_tool(source=source_of(key))
                tools[key] = replace(made, file=one.file, line=one.line)
            except DefinitionError as error:
                problems.append(
                    LoadProblem(
                        file=one.file, field=error.field, line=one.line, message=error.reason
                    )
                )
    return tools, problems
