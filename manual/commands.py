"""The page about the command line: what each command says about itself."""

import contextlib
import io

from manual.markdown import block, page
from retinue.cli.main import GROUPS, overview, run

_INTRODUCTION = """\
Against a running server a command talks to it; without one it opens the store itself. Exit codes:
0 done, 1 failed, 2 wrongly used. With `--json` every command writes JSON, errors included."""


def commands_page() -> str:
    sections: list[str] = []
    for group, commands in GROUPS.items():
        sections.append(f"## {group}")
        sections += [f"### `retinue {name}`\n\n{block(_help(name))}" for name in commands]
    return page("Commands", _INTRODUCTION, block(overview()), *sections)


def _help(name: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run([name, "--help"])
    assert code == 0, name
    return out.getvalue()
