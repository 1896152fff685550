"""A part of the crash tests: its agents, the steps of the client, and its checks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer
from retinue.testing.verify.evidence import Evidence
from retinue.testing.verify.trial_client import TrialClient

Step = Callable[[TrialClient], None]
Judge = Callable[[Evidence], Iterable[str]]
Speak = Callable[[ModelRequest], Answer | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One scenario; each kill point replays it from the start."""

    name: str
    summary: str
    steps: Sequence[Step]
    last: Step | None = None  # runs after all others, regardless of their order
    judges: Sequence[Judge] = ()  # checks in addition to the general ones
    speak: Speak | None = None  # its model; if it returns None, the general model answers
    files: Mapping[str, str] = field(default_factory=dict[str, str])  # project files by path

    def ordered(self, seed: int) -> Sequence[Step]:
        """Return the steps, in their original order for seed 0, otherwise shuffled."""
        steps = list(self.steps)
        if seed:
            Random(seed).shuffle(steps)
        return steps if self.last is None else [*steps, self.last]

    def play(self, client: TrialClient, seed: int) -> None:
        """Run every step, and wait until nothing is pending."""
        for step in self.ordered(seed):
            step(client)
        client.log.open_at_the_end = client.ask({"do": "settle"})
