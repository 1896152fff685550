"""`retinue definitions`: lists definitions and files that fail to load."""

from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.output import console, one_line, print_json, print_table, say
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common

if TYPE_CHECKING:
    from retinue.cli.client import Client
    from retinue.server.definition_wire import DefinitionEntry, DefinitionList
    from retinue.server.wire import ProblemEntry

_DESCRIPTION = 120
_WIDE = 90  # columns needed to show descriptions


def definitions(
    common: Common,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this definition as a tree.")
    ] = None,
) -> int:
    """List definitions, or show one as a tree; exits 1 if a file fails to load."""

    async def work(client: "Client") -> int:
        if name is not None:
            await _print_tree(client, name, is_json=common.is_json)
            return 0
        found = await client.definitions()
        if common.is_json:
            print_json(found)
        else:
            _print(found)
        return 1 if any(problem.severity == "error" for problem in found.problems) else 0

    return run_with_client(common.project, work)


async def _print_tree(client: "Client", name: str, *, is_json: bool) -> None:
    from retinue.cli.definition_tree import definition_lines

    graph = await client.graph(name)
    if is_json:
        print_json(graph)
        return
    for line in definition_lines(graph):
        say(line)


def _print(found: "DefinitionList") -> None:
    columns = 4 if console().width >= _WIDE else 3
    rows = [
        (
            f"{entry.name} *" if entry.is_default else entry.name,
            entry.model or "–",
            _source(entry),
            one_line(entry.description, _DESCRIPTION),
        )[:columns]
        for entry in found.definitions
    ]
    print_table(("NAME", "MODEL", "FILE", "DESCRIPTION")[:columns], rows)
    if any(entry.is_default for entry in found.definitions):
        say("* default definition")
    if found.problems:
        say()
        for problem in found.problems:
            say(problem_line(problem))


def _source(entry: "DefinitionEntry") -> str:
    if entry.package is not None:
        return f"package {entry.package.name} {entry.package.version}"
    return entry.file or "built in"


def problem_line(problem: "ProblemEntry") -> str:
    """Format a problem with severity, file and line."""
    return f"{problem.severity}: {problem_text(problem)}"


def problem_text(problem: "ProblemEntry") -> str:
    """Format a problem with file and line."""
    where = f"{problem.file}:{problem.line}" if problem.line else problem.file
    place = f"{where}: " if where else ""
    field = f"{problem.field}: " if problem.field else ""
    last = " (still using the last good version)" if problem.using_last_good else ""
    return f"{place}{field}{problem.message}{last}"
