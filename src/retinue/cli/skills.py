"""`retinue skills`: lists skills and those that fail to load."""

from typing import TYPE_CHECKING

from retinue.cli.definitions import problem_line
from retinue.cli.output import one_line, print_json, print_table, say
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common

if TYPE_CHECKING:
    from retinue.cli.client import Client
    from retinue.server.plugin_wire import SkillList

_DESCRIPTION = 80
_KINDS = {"plugin": "plugin commands", "project": "instructions"}


def skills(common: Common) -> int:
    """List skills; exits 1 if one fails to load."""

    async def work(client: "Client") -> int:
        found = await client.skills()
        if common.is_json:
            print_json(found)
        else:
            _print(found)
        return 1 if found.problems else 0

    return run_with_client(common.project, work)


def _print(found: "SkillList") -> None:
    if found.skills:
        rows = [
            (one.name, _KINDS[one.kind], one_line(one.description, _DESCRIPTION))
            for one in found.skills
        ]
        print_table(("SKILL", "KIND", "DESCRIPTION"), rows)
    elif not found.problems:
        say("No skills yet. Add a folder with a SKILL.md to skills/. See: docs/skills.md")
    for problem in found.problems:
        say(problem_line(problem))
