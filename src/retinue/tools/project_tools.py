"""The tools of a project (`tools/*.py`), reloaded when they change."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from retinue.definitions.declarations import Declared, DeclaredTool
from retinue.definitions.kept_sources import NOTHING_KEPT, GoodFile, KeptSources
from retinue.errors import DefinitionError
from retinue.problems import LoadProblem
from retinue.tools.function_tool import FunctionTool, name_problem
from retinue.tools.port import Tool
from retinue.tools.python_folder import GROUP, PythonFolder
from retinue.tools.tool_definition import DefinedTool


class ProjectTools:
    """Reads a folder of Python files; blocking, for one thread at a time."""

    def __init__(
        self, directory: Path, *, shown_in: str = "", kept: KeptSources = NOTHING_KEPT
    ) -> None:
        self._folder = PythonFolder(
            directory, self._tools_in, word="tool", shown_in=shown_in, kept=kept
        )
        self._tools: Mapping[str, Tool] = {}
        self._problems: Sequence[LoadProblem] = ()

    def read(self) -> Mapping[str, Tool]:
        """The tools by name, as the files are now: the same mapping when nothing changed."""
        if self._folder.refresh():
            self._collect()
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        return self._problems

    def files(self) -> list[str]:
        return self._folder.names()

    def good_files(self) -> list[GoodFile]:
        return self._folder.good_files()

    def _tools_in(self, module: ModuleType, declared: Sequence[Declared]) -> Mapping[str, Tool]:
        """Build the module's tools; raises all errors at once."""
        file = str(module.__file__)
        _refuse_others(declared, file)
        tools: dict[str, Tool] = {}
        wrong: list[DefinitionError] = []
        distinct = {id(value): value for value in vars(module).values()}
        distinct |= {id(one.tool): one.tool for one in declared if isinstance(one, DeclaredTool)}
        for value in distinct.values():
            try:
                made = _made(value, module)
            except DefinitionError as error:
                wrong.append(error)
                continue
            if made is None:
                continue
            problem = name_problem(made.name)
            if problem is None and made.name in tools:
                problem = f"tool {made.name!r} is defined twice"
            if problem is not None:
                wrong.append(DefinitionError(problem, file=file, line=made.line))
            tools[made.name] = replace(made, file=self._folder.shown(Path(file)))
        if wrong:
            raise ExceptionGroup(GROUP, wrong)
        return tools

    def _collect(self) -> None:
        tools: dict[str, Tool] = {}
        homes: dict[str, str] = {}
        problems = [problem for file in self._folder.files.values() for problem in file.problems]
        for name, file in self._folder.files.items():
            for tool in file.made.values():
                if tool.name in tools:
                    message = f"skipped: {homes[tool.name]} already has a tool {tool.name!r}"
                    problems.append(LoadProblem(file=tool.file, line=tool.line, message=message))
                else:
                    tools[tool.name] = tool
                    homes[tool.name] = name
        self._tools, self._problems = tools, problems


def _made(value: object, module: ModuleType) -> Tool | None:
    """Build the tool if `value` is one that the module itself defines."""
    match value:
        case DefinedTool() if value.file == module.__file__:
            return replace(value.as_tool(source="project"), line=value.line)
        case FunctionTool() if value.function.__module__ == module.__name__:
            code = getattr(value.function, "__code__", None)
            return replace(value.as_tool(source="project"), line=code and code.co_firstlineno)
        case Tool():
            return replace(value, source="project")
        case _:
            return None


def _refuse_others(declared: Sequence[Declared], file: str) -> None:
    for one in declared:
        if not isinstance(one, DeclaredTool):
            message = (
                "only tools can be defined here; hooks, prompts and agents have their own folders"
            )
            raise DefinitionError(message, file=file, line=one.line)
