"""What a turn costs after a long past, in time and in bytes written."""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.system import Retinue, retinue
from bench.workload import drive

_WINDOW = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One turn's cost after that many turns of history."""

    after: int
    p50_ms: float
    kilobytes: float


async def measure(directory: Path, *, points: Sequence[int]) -> list[Cost]:
    """One conversation; the cost at a point is that of the hundred turns from there on."""
    costs: list[Cost] = []
    with tempfile.TemporaryDirectory(dir=directory) as name:
        async with retinue(Path(name)) as system:
            await drive(
                system.turn, conversations=1, turns=50
            )  # warm: imports, caches, first pages
            done = 0
            for point in points:
                await drive(system.turn, conversations=1, turns=point - done, first=done)
                costs.append(await _cost(system, point))
                done = point + _WINDOW
    return costs


async def _cost(system: Retinue, point: int) -> Cost:
    before = written_bytes()
    timing = await drive(system.turn, conversations=1, turns=_WINDOW, first=point)
    kilobytes = (written_bytes() - before) / 1000 / _WINDOW
    return Cost(after=point, p50_ms=statistics.median(timing.latencies) * 1000, kilobytes=kilobytes)


def written_bytes() -> int:
    """Bytes that this process handed to the system for writing."""
    for line in Path("/proc/self/io").read_text().splitlines():
        name, _, value = line.partition(": ")
        if name == "wchar":
            return int(value)
    raise RuntimeError("the system does not tell what was written")
