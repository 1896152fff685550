"""`retinue plugins`: what operations plugins bring, and which of their files do not load."""

from typing import TYPE_CHECKING

from retinue.cli.connection import run_with_client
from retinue.cli.definitions import problem_line
from retinue.cli.options import Common
from retinue.cli.printing import one_line, print_json, print_table, say

if TYPE_CHECKING:
    from retinue.cli.client import Client
    from retinue.server.plugin_wire import PluginList

_SUMMARY = 80


def plugins(common: Common) -> int:
    """List plugins and their operations; exits 1 when one does not load.

    `retinue PLUGIN OPERATION --help` says more.
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
    print_table(("PLUGIN", "OPERATION", "EFFECT", "WHAT IT DOES"), rows)
    for problem in found.problems:
        say(problem_line(problem))
