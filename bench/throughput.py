"""Turns a second and latency: one conversation, and 200 at once, beside the floor."""

import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.floor import Floor
from bench.system import retinue
from bench.workload import Timing, drive


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Medians over the rounds of one run."""

    conversations: int
    turns_per_second: float
    p50_ms: float
    p99_ms: float
    floor_turns_per_second: float
    floor_p50_ms: float
    rounds: Sequence[float]  # our turns/s as a share of the floor's, round by round

    @property
    def share(self) -> float:
        """Our turns/s as a share of the floor's, the median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> float:
        """How many times the median latency the slowest hundredth takes."""
        return self.p99_ms / self.p50_ms


async def measure(directory: Path, *, conversations: int, turns: int, rounds: int) -> Throughput:
    """Take turns with the floor, so that whatever else the machine does hits both."""
    ours: list[Timing] = []
    floors: list[Timing] = []
    with tempfile.TemporaryDirectory(dir=directory) as name:
        folder = Path(name)
        async with retinue(folder) as system:
            await drive(system.turn, conversations=conversations, turns=2)
            for number in range(rounds):
                floor = Floor(folder)
                try:
                    floors.append(
                        await drive(floor.turn, conversations=conversations, turns=turns * 4)
                    )
                finally:
                    floor.close()
                first = 2 + number * turns
                ours.append(
                    await drive(system.turn, conversations=conversations, turns=turns, first=first)
                )
    return Throughput(
        conversations=conversations,
        turns_per_second=statistics.median(run.turns_per_second for run in ours),
        p50_ms=statistics.median(run.percentile_ms(0.5) for run in ours),
        p99_ms=statistics.median(run.percentile_ms(0.99) for run in ours),
        floor_turns_per_second=statistics.median(run.turns_per_second for run in floors),
        floor_p50_ms=statistics.median(run.percentile_ms(0.5) for run in floors),
        rounds=[
            our.turns_per_second / floor.turns_per_second
            for our, floor in zip(ours, floors, strict=True)
        ],
    )
