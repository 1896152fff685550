"""Tools from `define_tool` calls in files of definitions, prompts and hooks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from retinue.definitions.catalog import Catalog
from retinue.definitions.declarations import DeclaredTool
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.tools.function_tool import name_problem
from retinue.tools.package_tools import source_of
from retinue.tools.port import Tool
from retinue.tools.tool_definition import DefinedTool


class DeclaredToolbox:
    """Implements `Toolbox` for the tools that a catalog collected."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen: Mapping[str, DeclaredTool] = {}
        self._tools: Mapping[str, Tool] = {}
        self._problems: Sequence[LoadProblem] = ()

    async def tools(self) -> Mapping[str, Tool]:
        declared = self._catalog.tools()
        if declared is not self._seen:
            self._seen = declared
            self._build()
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return self._problems

    def _build(self) -> None:
        tools: dict[str, Tool] = {}
        problems: list[LoadProblem] = []
        for key, one in self._seen.items():
            problem = name_problem(one.name)
            if problem is not None:
                problems.append(LoadProblem(file=one.file, line=one.line, message=problem))
            elif isinstance(one.tool, DefinedTool):
                try:
                    made = one.tool.as_tool(source=source_of(key))
                    tools[key] = replace(made, file=one.file, line=one.line)
                except DefinitionError as error:
                    problem = LoadProblem(
                        file=one.file, field=error.field, line=one.line, message=error.reason
                    )
                    problems.append(problem)
        self._tools, self._problems = tools, problems
