"""Combines several sources of tools."""

import asyncio
from collections.abc import Mapping, Sequence

from retinue.problems import LoadProblem
from retinue.tools.execution import describe
from retinue.tools.function_tool import RESERVED_PREFIX, name_problem
from retinue.tools.port import Tool, Toolbox


class CombinedToolbox:
    """Implements `Toolbox`; of two tools with the same name, the earlier source wins."""

    def __init__(self, *sources: Toolbox) -> None:
        self._sources = sources
        self._seen: Sequence[Mapping[str, Tool]] = ()
        self._tools: Mapping[str, Tool] = {}
        self._problems: Sequence[LoadProblem] = ()
        self._failures: Sequence[LoadProblem] = ()

    async def tools(self) -> Mapping[str, Tool]:
        answers = await asyncio.gather(
            *(source.tools() for source in self._sources), return_exceptions=True
        )
        self._failures = [
            LoadProblem(message=f"{type(source).__name__}: cannot list tools: {describe(answer)}")
            for source, answer in zip(self._sources, answers, strict=True)
            if isinstance(answer, BaseException)
        ]
        listed = [answer for answer in answers if not isinstance(answer, BaseException)]
        unchanged = len(listed) == len(self._seen) and all(
            new is old for new, old in zip(listed, self._seen, strict=True)
        )
        if not unchanged:
            self._combine(listed)
        return self._tools

    def listed(self) -> Mapping[str, Tool]:
        """Return the tools of the last listing."""
        return self._tools

    def problems(self) -> Sequence[LoadProblem]:
        own = [*self._failures, *self._problems]
        return [problem for source in self._sources for problem in source.problems()] + own

    def _combine(self, listed: Sequence[Mapping[str, Tool]]) -> None:
        tools: dict[str, Tool] = {}
        problems: list[LoadProblem] = []
        for key, tool in (entry for answer in listed for entry in answer.items()):
            problem = _problem(tool, tools.get(key))
            if problem is None:
                tools[key] = tool
            else:
                problems.append(problem)
        self._seen, self._tools, self._problems = listed, tools, problems


def _problem(tool: Tool, other: Tool | None) -> LoadProblem | None:
    is_own = tool.source == "builtin" and tool.name.startswith(RESERVED_PREFIX)
    problem = None if is_own else name_problem(tool.name)
    if problem is None and other is not None:
        place = f" ({other.file})" if other.file else ""
        problem = f"{other.source}{place} already has a tool {tool.name!r}"
    if problem is None:
        return None
    message = f"skipped: {problem}"
    if tool.file:
        return LoadProblem(file=tool.file, line=tool.line, message=message)
    return LoadProblem(message=f"{tool.source}: {message}")
