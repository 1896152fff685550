"""The workload, the same for every system under test.

A user message, a model that asks for one tool, the tool's answer, the model's reply: four records.
The model is in-process and instant, so what is measured is everything around it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from retinue.records import Usage

QUESTION = "How many are left of number {turn}?"
TOOL = "stock"
ARGUMENTS = {"item": "widget"}
TOOL_ANSWER = "41 widgets are in stock."
REPLY = "There are 41 widgets left."
ASKING = Usage(input=200, output=20)  # tokens of the two model calls
SAYING = Usage(input=230, output=10)

Turn = Callable[[int, int], Awaitable[None]]
"""Do one turn of one conversation, given their numbers; returns when the answer is durable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a run of turns took."""

    turns: int
    seconds: float
    latencies: Sequence[float]  # sorted

    @property
    def turns_per_second(self) -> float:
        return self.turns / self.seconds

    def percentile_ms(self, fraction: float) -> float:
        index = min(len(self.latencies) - 1, int(len(self.latencies) * fraction))
        return self.latencies[index] * 1000


async def drive(turn: Turn, *, conversations: int, turns: int, first: int = 0) -> Timing:
    """Run all conversations at once, each its turns one after the other."""
    latencies: list[float] = []

    async def converse(conversation: int) -> None:
        for number in range(first, first + turns):
            began = time.perf_counter()
            await turn(conversation, number)
            latencies.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*(converse(number) for number in range(conversations)))
    seconds = time.perf_counter() - began
    return Timing(turns=conversations * turns, seconds=seconds, latencies=sorted(latencies))
