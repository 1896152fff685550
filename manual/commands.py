"""The Commands page: the help text of each command."""

import contextlib
import io

from manual.markdown import block, code, page, table
from retinue.assembly import App
from retinue.cli.main import GROUPS, overview, run
from retinue.plugins.command_line import options_of
from retinue.plugins.port import Operation, Plugin

_INTRODUCTION = """\
Commands use the running server if there is one, and otherwise open the store themselves. Exit
codes: 0 success, 1 failure, 2 invalid usage. With `--json`, all output is JSON, including
errors."""


_OPERATIONS = """\
Plugin operations are also commands: `retinue PLUGIN OPERATION`. These are built in; `retinue
plugins` lists those of a project, and `--help` shows the common options."""


async def commands_page(app: App) -> str:
    sections: list[str] = []
    for group, commands in GROUPS.items():
        sections.append(f"## {group}")
        sections += [f"### `retinue {name}`\n\n{block(_help(name))}" for name in commands]
    plugins = app.engine.project.current.plugins
    operations = [
        _operation(plugin, operation)
        for plugin in plugins.values()
        for operation in plugin.operations
    ]
    if operations:
        sections += ["## Operations", _OPERATIONS, *operations]
    return page("Commands", _INTRODUCTION, block(overview()), *sections)


def _operation(plugin: Plugin, operation: Operation) -> str:
    described = {"parameters": operation.parameters}
    rows = [
        (
            code(option.flag),
            f"{option.takes}, repeatable" if option.is_repeated else option.takes,
            "yes" if option.is_required else "",
            option.text,
        )
        for option in options_of(described)
    ]
    lines = [
        f"### `retinue {plugin.id} {operation.id}`",
        operation.summary,
        table(("option", "takes", "required", "description"), rows),
    ]
    return "\n\n".join(filter(None, lines))


def _help(name: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exit_code = run([name, "--help"])
    assert exit_code == 0, name
    return out.getvalue()
