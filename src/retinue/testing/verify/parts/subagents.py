"""Background, resumable and immediate subagents, handoffs, and files in both directions."""

from collections.abc import Iterator

from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer
from retinue.testing.verify.evidence import Evidence, Record, records_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import (
    LEADER,
    LEADING,
    Expected,
    family,
    leading,
    speak,
    trees,
)
from retinue.testing.verify.trial_client import TrialClient

_SCHEMA = """\
requiredSchema:
  type: object
  properties: {message: {type: string}, files: {type: array, items: {type: string}}}
"""
_SUCCESSOR = """\
name = "successor"
displayName = "Successor"
description = "Takes over."
exposeAsTool = true
[sideA]
prompt = "successor"
"""


def aside(client: TrialClient) -> None:
    """A child that runs in parallel to its parent, with a file from it."""
    client.wait(client.post(LEADING, "draw plan", key="k-draw", definition=LEADER))
    client.wait(client.post(LEADING, "send crew plan", key="k-crew", definition=LEADER))


def kept(client: TrialClient) -> None:
    """A child that exists from the start and receives messages."""
    sent = client.wait(client.post("keeping", "hello", key="k-kept", definition="keeper"))
    client.until_idle(sent)
    client.wait(client.post("keeping", "again third", key="k-again", definition="keeper"))


def beside(evidence: Evidence) -> Iterator[str]:
    expected = {"crew": Expected(), "kept": Expected(runs=2, is_kept=True)}
    yield from family(evidence, expected)
    # The crew's: the plan that came, and what it drew. The leader's: the plan, and what came back.
    yield from trees(evidence, {"crew": 2, "leader": 2, "kept": 2, "keeper": 2})
    for crew in evidence.of("crew"):
        first = records_of(crew, "user")[0]
        if len(first.get("files", ())) != 1:
            yield "subagent: it was not given its file"


def hand_over(client: TrialClient) -> None:
    """Another definition takes over at once and starts its own child."""
    client.wait(client.post(LEADING, "hand over", key="k-over", definition=LEADER))
    client.wait(client.post(LEADING, "and you?", key="k-you", definition=LEADER))


def say(request: ModelRequest) -> Answer | None:
    if request.system.startswith("You take over."):
        return "taken over"
    return speak(request)


def handed_over(evidence: Evidence) -> Iterator[str]:
    """The handoff, its first message and the start of its child happened once."""
    yield from family(evidence, {"pair": Expected(blocks=True)})
    agents = evidence.at(LEADING)
    if [agent["definition"] for agent in agents] != ["successor"]:
        yield f"handoff: {[agent['definition'] for agent in agents]} go on"
    for agent in agents:
        told = [record["text"] for record in records_of(agent, "handoff")]
        if told != ["over"]:
            yield f"handoff: the successor received {told}"
        answers = [record for record in records_of(agent, "assistant") if _is_answer(record)]
        if len(answers) != 2:
            yield f"handoff: the successor answered {len(answers)} times"


def _is_answer(record: Record) -> bool:
    return [part.get("text") for part in record["parts"]] == ["taken over"]


_LEADER = (
    "---\ntools:\n  - draw\n"
    "  - {name: crew, blocking: false, initUserMessageProperty: message, "
    "initAttachmentsProperty: files}\n---\nYou lead."
)
_KEEPER = (
    "---\ntools: [{name: kept, blocking: false, immediate: true, resumable: true}]\n---\nYou lead."
)
SUBAGENTS = Part(
    name="subagents",
    summary="background, resumable and immediate subagents, files in both directions",
    steps=(aside, kept),
    judges=(beside,),
    speak=speak,
    files={
        **leading(_LEADER, "crew", "kept"),
        "prompts/maker.md": f"---\ntools: [draw, finish]\n{_SCHEMA}---\nYou make.",
        "agents/keeper.toml": (
            'name = "keeper"\ndisplayName = "Keeper"\ndescription = "Keeps."\n'
            '[sideA]\nprompt = "keeper"\n'
        ),
        "prompts/keeper.md": _KEEPER,
    },
)
HANDOFF = Part(
    name="handoff",
    summary="another definition takes over and starts an immediate subagent",
    steps=(hand_over,),
    judges=(handed_over,),
    speak=say,
    files={
        **leading(
            "---\ntools: [{name: successor, initUserMessageProperty: question}]\n---\nYou lead.",
            "pair",
        ),
        "agents/successor.toml": _SUCCESSOR,
        "prompts/successor.md": (
            "---\ntools: [{name: pair, immediate: true, initUserMessageProperty: message}]\n"
            "requiredSchema: {type: object, properties: {question: {type: string}}}\n---\n"
            "You take over."
        ),
    },
)
