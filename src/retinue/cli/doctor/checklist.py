"""`retinue doctor`: runs all checks in order and prints their findings.

A check that cannot run reports why, and the others continue.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from retinue.cli.doctor.finding import Finding, fail, ok, warn
from retinue.cli.doctor.machine_checks import disk, permissions, sandbox, web_app
from retinue.cli.doctor.model_checks import models
from retinue.cli.doctor.package_checks import packages
from retinue.cli.doctor.store_checks import definitions, mirror, store, variables
from retinue.cli.output import console, print_json, safe, say, styled
from retinue.cli.phrases import plural
from retinue.cli.project_connection import connected, find_server, require_project
from retinue.cli.shared_options import Common, environment
from retinue.errors import RetinueError, StoreDamagedError
from retinue.settings import Settings, load_settings
from retinue.settings.secrets import Template


def doctor(
    common: Common,
    online: Annotated[
        bool, typer.Option("--online", help="Call each model; costs a few tokens.")
    ] = False,
) -> int:
    """Check settings, secrets, models, tools, disk and store; exits 1 if a check fails."""
    from retinue.cli.logs import keep_quiet

    keep_quiet()
    findings = asyncio.run(examine(common.project, is_online=online))
    failed = sum(finding.state == "fail" for finding in findings)
    if common.is_json:
        print_json({"ok": not failed, "findings": findings})
    else:
        _print(findings, failed)
    return 1 if failed else 0


def _print(findings: list[Finding], failed: int) -> None:
    from rich.text import Text

    screen = console()
    for finding in findings:
        line = styled(finding.state)
        line.pad_right(6 - len(finding.state))
        line.append(f"{finding.check:<12} ", style="bold").append(safe(finding.text), style="none")
        screen.print(line)
        if finding.advice:
            screen.print(Text(f"      → {safe(finding.advice)}", style="dim"))
    warned = sum(finding.state == "warn" for finding in findings)
    say()
    if failed:
        say(f"{plural(failed, 'failure')}, {plural(warned, 'warning')}.")
    else:
        say(f"No failures, {plural(warned, 'warning')}." if warned else "All checks passed.")


async def examine(project: Path, *, is_online: bool) -> list[Finding]:
    """Run all checks."""
    require_project(project)
    env = environment()
    try:
        settings = load_settings(project, env)
    except RetinueError as error:
        lines = error.message.splitlines()
        return [fail("settings", line, "fix it, then run doctor again") for line in lines]
    found = [
        *_settings(settings),
        *_secrets(settings, env),
        *sandbox(settings),
        *web_app(),
        *disk(settings.data_dir),
        *permissions(settings.data_dir),
        *_server(project),
        *await _opened(project, settings, is_online=is_online),
    ]
    return found


def _settings(settings: Settings) -> list[Finding]:
    if settings.warnings:
        return [warn("settings", warning) for warning in settings.warnings]
    file = settings.project_dir / "retinue.toml"
    if not file.exists():
        return [ok("settings", "no retinue.toml: using defaults (`retinue init` creates one)")]
    return [ok("settings", f"{file} is valid")]


def _secrets(settings: Settings, env: Mapping[str, str]) -> list[Finding]:
    """Report which references are set, never their values."""
    found: list[Finding] = []
    folder = settings.data_dir / "secrets"
    for name in sorted(set(_references(settings.model_dump(mode="python")))):
        if env.get(name) or (folder / name).is_file():
            found.append(ok("secrets", f"{name} is set"))
        else:
            advice = f"set the environment variable {name}, or write {folder / name} (mode 0600)"
            found.append(warn("secrets", f"{name} is not set", advice))
    return found


def _references(value: object) -> list[str]:
    match value:
        case Template():
            return list(value.references)
        case Mapping():
            return [name for entry in value.values() for name in _references(entry)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list() | tuple():
            return [name for entry in value for name in _references(entry)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case _:
            return []


def _server(project: Path) -> list[Finding]:
    server = find_server(project)
    if server is None:
        return [ok("server", "not running (start it with `retinue serve`)")]
    return [ok("server", f"running at {server.url}, process {server.pid}")]


async def _opened(project: Path, settings: Settings, *, is_online: bool) -> list[Finding]:
    """Run the checks that need the store."""
    try:
        async with connected(project, needs_engine=False) as client:
            model_findings = await models(settings, client, is_online=is_online)
            return [
                *await store(client),
                *await mirror(client, settings.data_dir),
                *await variables(client),
                *await definitions(client, reported={finding.text for finding in model_findings}),
                *model_findings,
                *await packages(settings, client),
            ]
    except StoreDamagedError as error:
        advice = "rebuild it from the agents' folders with `retinue serve --rebuild`"
        return [fail("store", error.message, advice)]
    except RetinueError as error:
        return [fail("store", error.message)]
