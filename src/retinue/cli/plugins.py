"""`retinue plugins`: what operations plugins bring, and which of their files do not load."""

from typing import TYPE_CHECKING

from retinue.cli.connecting import run_with_client
from retinue.cli.options import Common
from retinue.cli.printing import one_line, print_json, print_table, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.cli.client import Client, PluginView

_SUMMARY = 80


def plugins(common: Common) -> None:
    """List plugins and their operations; `retinue PLUGIN OPERATION --help` says more."""

    async def work(client: "Client") -> None:
        found = await client.plugins()
        if common.is_json:
            print_json({"plugins": found})
        else:
            _print(found)

    run_with_client(common.project, work)


def _print(found: "Sequence[PluginView]") -> None:
    if not found:
        say("No plugins yet. A file in plugins/ makes one: see docs/plugins.md")
        return
    rows = [
        (plugin.id, operation.id, operation.effect, one_line(operation.summary, _SUMMARY))
        for plugin in found
        for operation in plugin.operations
    ]
    print_table(("PLUGIN", "OPERATION", "EFFECT", "WHAT IT DOES"), rows)
