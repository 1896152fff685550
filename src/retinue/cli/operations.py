"""`retinue PLUGIN OPERATION`: operations of plugins as commands, made when they are called."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retinue.cli.connecting import find_server, require_project, run_with_client
from retinue.cli.options import project_directory
from retinue.cli.printing import say
from retinue.errors import UsageError
from retinue.plugins.command_line import Parsed, parse, parser_of, written

if TYPE_CHECKING:
    from retinue.cli.client import Client, PluginView

DONE = 0


def run_plugin(name: str, arguments: Sequence[str]) -> int | None:
    """Run an operation; None when the project has no such plugin."""
    project = project_directory(_directory(arguments))
    try:
        require_project(project)
    except UsageError:
        return None
    if find_server(project) is None and name not in _names(project):
        return None  # found out without opening the store

    async def work(client: "Client") -> int | None:
        plugin = next((one for one in await client.plugins() if one.id == name), None)
        if plugin is None:
            return None
        parsed = _parsed(plugin, arguments)
        result = await _operate(client, plugin, parsed)
        say(written(result, is_json=parsed.options["json"]))
        return DONE

    return run_with_client(project, work)


def _names(project: Path) -> Sequence[str]:
    import asyncio

    from retinue.assembly import read_plugins
    from retinue.cli.logs import keep_quiet

    keep_quiet()
    return list(asyncio.run(read_plugins(project)))


def _parsed(plugin: "PluginView", arguments: Sequence[str]) -> Parsed:
    import msgspec

    operations = [msgspec.structs.asdict(one) for one in plugin.operations]
    parser = parser_of(f"retinue {plugin.id}", plugin.description, operations, shared=_share)
    return parse(parser, _after_the_operation(arguments))


async def _operate(client: "Client", plugin: "PluginView", parsed: Parsed) -> Any:
    from retinue.cli.references import find_agent

    options = parsed.options
    agent_id = None
    if options["as_agent"] is not None:
        agent_id = (await find_agent(client, options["as_agent"])).id
    return await client.operate(
        plugin.id,
        parsed.operation,
        parsed.arguments,
        key=options["idempotency_key"],
        agent_id=agent_id,
    )


def _share(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.add_argument("--dir", help="the project directory")
    command.add_argument("--debug", action="store_true", help="show the traceback of an error")
    command.add_argument(
        "--as-agent", metavar="AGENT", help="for this agent, within its scope; else for yourself"
    )
    command.add_argument(
        "--idempotency-key", metavar="KEY", help="calls with one key take effect once"
    )


def _after_the_operation(arguments: Sequence[str]) -> Sequence[str]:
    """Put shared options that came first after the operation, where they are understood."""
    before: list[str] = []
    rest = list(arguments)
    while rest and rest[0].startswith("--") and rest[0] not in ("--help", "-h"):
        before.append(rest.pop(0))
        if before[-1] == "--dir" and rest:
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
