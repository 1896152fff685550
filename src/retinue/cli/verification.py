"""`retinue verify` and `retinue bench`: crash tests and benchmarks."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from retinue.cli.shared_options import Common
from retinue.errors import UsageError

_CHECKOUT = Path(__file__).resolve().parents[3]


def verify(  # noqa: PLR0913  (each is an option)
    common: Common,
    part: Annotated[list[str] | None, typer.Option(help="Run only this part; repeatable.")] = None,
    lists: Annotated[bool, typer.Option("--list", help="List the parts and exit.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(help="Only failpoints whose name contains this; repeatable.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Maximum number of kill points.")] = None,
    seed: Annotated[int, typer.Option(help="Seed for the order of steps.")] = 0,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Parallel trials.  [default: cores + 1]"),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the data of failed trials.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Test only some points of each kind.")
    ] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Also kill during recovery.")] = False,
) -> int:
    """Kill the engine at every commit, restart it, and check that nothing is lost or done twice."""
    from retinue.testing.verify import list_parts, run

    if lists:
        return list_parts(is_json=common.is_json)
    return run(
        parts=part or [],
        only=only or [],
        limit=limit,
        seed=seed,
        jobs=jobs,
        keep=keep,
        quick=quick,
        deep=deep,
        is_json=common.is_json,
    )


def bench(
    common: Common,
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="ARGS", help="Arguments for the benchmark.")
    ] = None,
) -> int:
    """Measure speed, growth and memory; runs from a checkout of the repository."""
    if not (_CHECKOUT / "bench" / "__main__.py").is_file():
        raise UsageError(
            "the benchmarks are not part of the installed package: "
            "clone the repository and run `make bench` there"
        )
    command = [sys.executable, "-m", "bench", *(["--json"] if common.is_json else [])]
    return subprocess.run([*command, *(arguments or [])], cwd=_CHECKOUT, check=False).returncode
