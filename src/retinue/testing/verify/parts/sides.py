"""Two models that talk to each other: no side speaks twice, and the parent gets one report."""

from collections.abc import Iterator

from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer
from retinue.testing.verify.evidence import Evidence, records_of, results_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import (
    LEADER,
    LEADING,
    SPOKEN,
    Expected,
    family,
    leading,
    speak,
    trees,
)
from retinue.testing.verify.trial_client import TrialClient

_TIRED = """\
name = "tired"
displayName = "The tired"
description = "Comes to no end."
type = "dual_ai"
maxSessionTurns = 3
exposeAsTool = true
[sideA]
prompt = "dreamer"
[sideB]
prompt = "doubter"
[sideB.sessionStop]
name = "approve"
messageProperty = "what"
"""
_TURNS = ["side_a", "side_b", "side_a"]


def waited_for(client: TrialClient) -> None:
    client.wait(client.post(LEADING, "lead pair first", key="k-lead", definition=LEADER))


def to_the_limit(client: TrialClient) -> None:
    client.wait(client.post("limited", "lead tired on", key="k-tired", definition=LEADER))


def of_a_person(client: TrialClient) -> None:
    client.wait(client.post("direct", "second", key="k-direct", definition="pair"))


def say(request: ModelRequest) -> Answer | None:
    if request.system.startswith(("You dream.", "You doubt.")):
        return f"well, {len(request.messages)}"
    return speak(request)


def alternate(evidence: Evidence) -> Iterator[str]:
    """Each side spoke the expected number of times, in order; the limit is reported once."""
    pair = Expected(blocks=True)
    tired = Expected(blocks=True, has_failed=True, spoken=_TURNS, files=0)
    yield from family(evidence, {"pair": pair, "tired": tired})
    yield from trees(evidence, {"pair": 1})
    for agent in evidence.at("direct"):
        spoken = [record["side"] for record in records_of(agent, "assistant")]
        if spoken != SPOKEN or len(records_of(agent, "run")) != 1:
            yield f"side: they spoke {spoken}"
    reasons = [r["text"] for agent in evidence.at("limited") for r in results_of(agent, "tired")]
    if len(reasons) != 1 or "after 3 turns" not in reasons[0]:
        yield f"side: the parent got the reports {reasons}"


SIDES = Part(
    name="sides",
    summary="two models that talk to each other, until they finish and up to a limit",
    steps=(waited_for, to_the_limit, of_a_person),
    judges=(alternate,),
    speak=say,
    files={
        **leading("---\ntools: [pair, tired]\n---\nYou lead.", "pair"),
        "agents/tired.toml": _TIRED,
        "prompts/dreamer.md": "---\ntools: []\n---\nYou dream.",
        "prompts/doubter.md": "---\ntools: [approve]\n---\nYou doubt.",
    },
)
