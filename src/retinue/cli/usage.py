"""`retinue usage`: token usage and cost."""

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from retinue.cli.output import one_line, print_json, print_table, say
from retinue.cli.project_connection import run_with_client
from retinue.cli.shared_options import Common

if TYPE_CHECKING:
    from retinue.agents.usage import UsageLine, UsageReport
    from retinue.cli.client import Client

By = Literal["day", "model", "definition", "agent"]

_NAME = 48
_DELETED = "(deleted)"


def usage(
    common: Common,
    by: Annotated[By, typer.Option(help="Group by.")] = "day",
    first: Annotated[
        str | None, typer.Option("--from", metavar="DAY", help="First day, such as 2026-11-16.")
    ] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="DAY", help="Last day.")] = None,
) -> None:
    """Show token usage, with the cost of models in [prices] of retinue.toml. Days are in UTC."""
    start, end = _day("--from", first), _day("--to", last)

    async def work(client: "Client") -> None:
        report = await client.usage(by, first=start, last=end)
        if common.is_json:
            print_json(report)
        else:
            _print(report)

    run_with_client(common.project, work)


def _day(option: str, text: str | None) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{option}: expected a day such as 2026-11-16, not {text!r}"
        ) from None


def _print(report: "UsageReport") -> None:
    if not report.lines:
        say("No usage in this period.")
        return
    has_cost = report.total.cost is not None
    rows = [_row(line, one_line(line.name, _NAME) or _DELETED, has_cost) for line in report.lines]
    rows.append(_row(report.total, "total", has_cost))
    cost = (f"COST ({report.currency})",) if has_cost else ()
    print_table((report.by.upper(), "CALLS", "INPUT", "CACHED", "OUTPUT", *cost), rows)
    if report.hidden:
        say(f"\n{report.hidden} more with fewer tokens are not shown, but included in the total.")
    if has_cost and report.unpriced:
        say(f"\nNot included in the cost (no price): {', '.join(report.unpriced)}")


def _row(line: "UsageLine", name: str, has_cost: bool) -> tuple[str, ...]:
    cached = line.cache_read + line.cache_write
    numbers = (line.calls, line.input, cached, line.output)
    cost = "" if line.cost is None else f"{line.cost:.4f}{'+' if line.is_partial else ''}"
    return (name, *(f"{number:,}" for number in numbers), *((cost,) if has_cost else ()))
