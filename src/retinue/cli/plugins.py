"""`retinue plugins` and `retinue PLUGIN OPERATION`: plugin operations as commands."""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retinue.cli.definitions import problem_line, problem_text
from retinue.cli.output import one_line, print_json, print_table, say
from retinue.cli.project_connection import find_server, require_project, run_with_client
from retinue.cli.shared_options import Common, project_directory
from retinue.errors import OperationError, UsageError
from retinue.plugins.command_line import Parsed, parse, parser_of, written

if TYPE_CHECKING:
    from retinue.cli.client import Client
    from retinue.server.plugin_wire import PluginEntry, PluginList

DONE = 0
_SUMMARY = 80


def plugins(common: Common) -> int:
    """List plugins and their operations; exits 1 if one fails to load.

    For details, run `retinue PLUGIN OPERATION --help`.
    """

    async def work(client: "Client") -> int:
        found = await client.plugins()
        if common.is_json:
            print_json(found)
        else:
            _print(found)
        return 1 if found.problems else 0

    return run_with_client(common.project, work)


def _print(found: "PluginList") -> None:
    rows = [
        (plugin.id, operation.id, operation.effect, one_line(operation.summary, _SUMMARY))
        for plugin in found.plugins
        for operation in plugin.operations
    ]
    print_table(("PLUGIN", "OPERATION", "EFFECT", "DESCRIPTION"), rows)
    for problem in found.problems:
        say(problem_line(problem))


def run_plugin(name: str, arguments: Sequence[str]) -> int | Sequence[str]:
    """Run an operation; if there is no such plugin, return the load errors of the project."""
    project = project_directory(_directory(arguments))
    try:
        require_project(project)
    except UsageError:
        return ()
    if find_server(project) is None:
        names, problems = asyncio.run(_read(project))
        if name not in names:
            return problems  # without opening the store

    async def work(client: "Client") -> int | Sequence[str]:
        found = await client.plugins()
        plugin = next((one for one in found.plugins if one.id == name), None)
        if plugin is None:
            return [problem_text(one) for one in found.problems]
        parsed = _parsed(plugin, arguments)
        result = await _operate(client, plugin, parsed)
        say(written(result, is_json=parsed.options["json"]))
        return DONE

    return run_with_client(project, work)


async def _read(project: Path) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of plugins and their load errors."""
    from retinue.assembly import read_plugins
    from retinue.cli.logs import keep_quiet

    keep_quiet()
    plugins, problems = await read_plugins(project)
    return list(plugins), [str(problem) for problem in problems]


def _parsed(plugin: "PluginEntry", arguments: Sequence[str]) -> Parsed:
    import msgspec

    operations = [msgspec.structs.asdict(one) for one in plugin.operations]
    parser = parser_of(f"retinue {plugin.id}", plugin.description, operations, shared=_share)
    return parse(parser, _shared_options_last(arguments))


async def _operate(client: "Client", plugin: "PluginEntry", parsed: Parsed) -> Any:
    from retinue.cli.agent_lookup import find_agent
    from retinue.cli.channel import UnreachableError

    options = parsed.options
    agent_id = None
    if options["as_agent"] is not None:
        agent_id = (await find_agent(client, options["as_agent"])).id
    key = options["idempotency_key"]
    try:
        return await client.operate(
            plugin.id, parsed.operation, parsed.arguments, key=key, agent_id=agent_id
        )
    except UnreachableError as error:
        effects = {one.id: one.effect for one in plugin.operations}
        if key is not None or effects[parsed.operation] == "pure":
            raise  # safe to repeat
        raise OperationError(
            f"the server stopped responding. It is unknown whether {plugin.id} {parsed.operation}"
            " took effect: check before you repeat it"
        ) from error


def _share(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.add_argument("--dir", help="project directory")
    command.add_argument("--debug", action="store_true", help="show tracebacks of errors")
    command.add_argument("--as-agent", metavar="AGENT", help="run as this agent, within its scope")
    command.add_argument(
        "--idempotency-key", metavar="KEY", help="calls with the same key take effect once"
    )


def _shared_options_last(arguments: Sequence[str]) -> Sequence[str]:
    """Move leading shared options after the operation, where the parser accepts them."""
    before: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("--") and rest[0] not in ("--help", "-h"):
        before.append(rest.pop(0))
        if before[-1] in ("--dir", "--as-agent", "--idempotency-key") and rest:
            before.append(rest.pop(0))
    return [rest[0], *before, *rest[1:]] if rest else []


def _directory(arguments: Sequence[str]) -> Path | None:
    given = list(arguments)
    for position, one in enumerate(given):
        if one == "--dir" and position + 1 < len(given):
            return Path(given[position + 1])
        if one.startswith("--dir="):
            return Path(one.partition("=")[2])
    return None
