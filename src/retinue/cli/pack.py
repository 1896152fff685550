"""`retinue pack`: packages a definition with everything it needs, for other projects."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from retinue.cli.output import print_json, say
from retinue.cli.phrases import plural
from retinue.cli.project_connection import require_project
from retinue.cli.shared_options import Common, environment

if TYPE_CHECKING:
    from retinue.packaging.package_writer import Packed


def pack(
    common: Common,
    definition: Annotated[str, typer.Argument(metavar="DEFINITION", help="Definition to package.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Output directory.  [default: dist in the project]"),
    ] = None,
    wheel: Annotated[
        bool, typer.Option("--wheel", help="Write a wheel for pip instead of a folder.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing package.")] = False,
) -> None:
    """Package a definition with its prompts, tools, hooks and agents as a folder or a wheel."""
    from retinue.assembly import read_project
    from retinue.packaging import package_writer

    require_project(common.project)
    project = asyncio.run(read_project(common.project, environment()))
    packed = package_writer.pack(project, definition)
    write = package_writer.write_wheel if wheel else package_writer.write_folder
    target = write(packed, out or common.project / "dist", replaces=force)
    if common.is_json:
        print_json(_summary(packed, target))
    else:
        _print(packed, target, is_wheel=wheel)


def _summary(packed: "Packed", target: Path) -> dict[str, object]:
    manifest, needs = packed.manifest, packed.manifest.needs
    return {
        "path": str(target),
        "name": manifest.name,
        "version": manifest.version,
        "entryAgents": list(manifest.entry_agents),
        "files": list(packed.files),
        "needs": {
            "models": list(needs.models),
            "tools": list(needs.tools),
            "variables": list(needs.variables),
            "python": list(needs.python),
        },
        "builtinTools": list(packed.builtin_tools),
        "warnings": list(packed.warnings),
    }


def _print(packed: "Packed", target: Path, *, is_wheel: bool) -> None:
    manifest, needs = packed.manifest, packed.manifest.needs
    say(f"{manifest.name} {manifest.version}: {plural(len(packed.files), 'file')} in {target}")
    for file in packed.files:
        say(f"  {file}")
    left_out = {
        "models": needs.models,
        "tools of MCP servers": needs.tools,
        "variables": needs.variables,
        "Python packages": needs.python,
        "built-in tools": packed.builtin_tools,
    }
    if any(left_out.values()):
        say("Not included; the project must provide:")
    for what, names in left_out.items():
        if names:
            say(f"  {what}: {', '.join(names)}")
    for warning in packed.warnings:
        say(f"warning: {warning}")
    how = f"pip install {target.name}" if is_wheel else "copy the folder to packages/ of a project"
    say(f"To use it: {how}")
