"""The command: runs the checks and prints them as a table."""

import asyncio
from typing import Annotated

import typer

from retinue.cli.doctor.finding import Finding
from retinue.cli.options import Common
from retinue.cli.printing import console, print_json, safe, say, styled
from retinue.cli.wording import plural


def doctor(
    common: Common,
    online: Annotated[
        bool, typer.Option("--online", help="Really call each model; costs a few tokens.")
    ] = False,
) -> int:
    """Check settings, secrets, models, tools, disk and store; exits 1 when something fails."""
    from retinue.cli.doctor.examining import examine
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
        say(f"All well, {plural(warned, 'warning')}." if warned else "All well.")
