"""Runs all measurements and prints them with the figures that they have to reach."""

import argparse
import asyncio
import contextlib
import io
import json
import tempfile
from pathlib import Path

from bench import boot, delegation, growth, throughput, windows
from bench.boot import Boot, Start
from bench.delegation import Delegation
from bench.growth import Cost
from bench.throughput import Throughput
from bench.windows import Watching


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--dir", type=Path, default=None, help="where to measure (a real disk)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument("--quick", action="store_true", help="fewer rounds and agents")
    parser.add_argument(
        "--only",
        choices=["turns", "delegation", "windows", "growth", "boot", "start"],
        help="one measurement: turns beside the floor, delegations beside turns, turns while "
        "windows watch, turns after a long past, boot with sleeping agents, how fast commands "
        "start",
    )
    arguments = parser.parse_args()
    directory = arguments.dir or Path(tempfile.gettempdir())
    if not arguments.json:
        return measure(arguments, directory, Goals())
    goals = Goals()
    with contextlib.redirect_stdout(io.StringIO()):
        code = measure(arguments, directory, goals)
    print(json.dumps({"goals": goals.checked}, indent=2))
    return code


def measure(arguments: argparse.Namespace, directory: Path, goals: "Goals") -> int:
    """Take the measurements that were asked for, show them, and check them."""
    if arguments.only in (None, "turns"):
        rounds = 3 if arguments.quick else 7
        one = asyncio.run(throughput.measure(directory, conversations=1, turns=200, rounds=rounds))
        many = asyncio.run(
            throughput.measure(directory, conversations=200, turns=20, rounds=rounds)
        )
        show_throughput([one, many], goals)
    if arguments.only in (None, "delegation"):
        rounds = 3 if arguments.quick else 5
        show_delegation(asyncio.run(delegation.measure(directory, rounds=rounds)), goals)
    if arguments.only in (None, "windows"):
        rounds = 3 if arguments.quick else 7
        show_windows(asyncio.run(windows.measure(directory, rounds=rounds)), goals)
    if arguments.only in (None, "growth"):
        points = [0, 100, 500] if arguments.quick else [0, 500, 2_000]
        show_growth(asyncio.run(growth.measure(directory, points=points)), goals)
    if arguments.only in (None, "boot"):
        populations = [0, 1_000, 10_000] if arguments.quick else [0, 10_000, 100_000]
        show_boot(boot.measure(directory, populations=populations), goals)
    if arguments.only in (None, "start"):
        show_start(boot.measure_start(directory), goals)
    return goals.verdict()


class Goals:
    """What has to be reached, and whether it was."""

    def __init__(self) -> None:
        self.checked: list[dict[str, object]] = []

    def check(
        self,
        name: str,
        value: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> None:
        is_met = (at_least is None or value >= at_least) and (at_most is None or value <= at_most)
        bound = f"at most {at_most:g}" if at_least is None else f"at least {at_least:g}"
        print(f"  {'met   ' if is_met else 'MISSED'}  {name}: {value:.3g} ({bound})")
        self.checked.append({"name": name, "value": value, "bound": bound, "isMet": is_met})

    def verdict(self) -> int:
        missed = sum(not one["isMet"] for one in self.checked)
        print(f"\n{len(self.checked) - missed} goals met, {missed} missed")
        return 1 if missed else 0


def show_throughput(runs: list[Throughput], goals: Goals) -> None:
    print("Durable turns, one tool call each, every commit synced (synchronous=FULL)")
    print("  conversations   turns/s   p50 ms   p99 ms   floor turns/s   floor p50 ms   share")
    for run in runs:
        print(
            f"  {run.conversations:13d} {run.turns_per_second:9.0f} {run.p50_ms:8.1f} "
            f"{run.p99_ms:8.1f} {run.floor_turns_per_second:15.0f} {run.floor_p50_ms:14.1f} "
            f"{run.share:7.1%}"
        )
    goals.check("share of the floor, 200 at once", runs[-1].share, at_least=0.1)
    goals.check("p99 over p50, 200 at once", runs[-1].spread, at_most=3)


def show_delegation(run: Delegation, goals: Goals) -> None:
    print(f"\nDelegation: {run.pairs} agents ask {run.pairs} others at once, and wait")
    print(f"  plain turns          {run.plain_turns_per_second:8.0f} /s")
    print(f"  turns that delegate  {run.turns_per_second:8.0f} /s")
    goals.check("share of plain turns", run.share, at_least=1 / 3)


def show_windows(run: Watching, goals: Goals) -> None:
    print(f"\nWindows: {run.windows} watch one agent that streams, while others take turns")
    print(f"  turns, nobody watching  {run.turns_per_second:8.0f} /s")
    print(f"  turns, all watching     {run.watched_turns_per_second:8.0f} /s")
    print(f"  sent to each window     {run.frames_per_second:8.0f} /s")
    goals.check("share of turns that the windows take", run.cost, at_most=0.1)


def show_growth(costs: list[Cost], goals: Goals) -> None:
    print("\nThe cost of a turn after a long past, one conversation")
    print("  after turns   p50 ms   kB written")
    for cost in costs:
        print(f"  {cost.after:11d} {cost.p50_ms:8.2f} {cost.kilobytes:12.1f}")
    goals.check("time, last over first", costs[-1].p50_ms / costs[0].p50_ms, at_most=1.2)
    goals.check("bytes, last over first", costs[-1].kilobytes / costs[0].kilobytes, at_most=1.2)


def show_boot(boots: list[Boot], goals: Goals) -> None:
    print("\nBoot with sleeping agents: `retinue serve`, half a second after it listens")
    print("  agents   CPU seconds   resident MB")
    for one in boots:
        print(f"  {one.agents:6d} {one.cpu_seconds:13.2f} {one.megabytes:13.1f}")
    first, last = boots[0], boots[-1]
    goals.check("CPU, most over none", last.cpu_seconds / first.cpu_seconds, at_most=1.5)
    goals.check("memory, most less none, MB", last.megabytes - first.megabytes, at_most=20)


def show_start(start: Start, goals: Goals) -> None:
    print("\nCold start")
    goals.check("retinue --help, CPU seconds", start.help_seconds, at_most=0.2)
    goals.check("serve until it listens, CPU seconds", start.serve_seconds, at_most=1)
    print(f"  memory of an idle server: {start.serve_megabytes:.0f} MB")


if __name__ == "__main__":
    raise SystemExit(main())
