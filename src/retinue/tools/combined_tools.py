"""Several listings of tools as one."""

from collections.abc import Mapping, Sequence

from retinue.problems import LoadProblem
from retinue.tools.function_tool import RESERVED_PREFIX, name_problem
from retinue.tools.port import Tool


def combined_tools(
    listings: Sequence[Mapping[str, Tool]],
) -> tuple[Mapping[str, Tool], Sequence[LoadProblem]]:
    """Put listings together: of two tools with one name, that of the earlier listing stands."""
    tools: dict[str, Tool] = {}
    problems: list[LoadProblem] = []
    for key, tool in (entry for listing in listings for entry in listing.items()):
        problem = _problem(tool, tools.get(key))
        if problem is None:
            tools[key] = tool
        else:
            problems.append(problem)
    return tools, problems


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
