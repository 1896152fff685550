"""A part of the proof: agents of its own, what their client does, and what must hold after it."""

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
    """What is tried in one go; each kill replays this and nothing else."""

    name: str
    summary: str
    steps: Sequence[Step]
    last: Step | None = None  # after all others, whatever their order
    judges: Sequence[Judge] = ()  # beside what must hold always
    speak: Speak | None = None  # what its models say; None of it: the common one answers
    files: Mapping[str, str] = field(default_factory=dict[str, str])  # of the project, by path

    def ordered(self, seed: int) -> Sequence[Step]:
        """Give the steps as they are written for seed 0, else in another order."""
        steps = list(self.steps)
        if seed:
            Random(seed).shuffle(steps)
        return steps if self.last is None else [*steps, self.last]

    def play(self, client: TrialClient, seed: int) -> None:
        """Do every step, and wait until nothing is left to do."""
        for step in self.ordered(seed):
            step(client)
        client.log.open_at_the_end = client.ask({"do": "settle"})
