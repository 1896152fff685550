"""Subagents with variables: one that waits for them, and one per set of variables."""

from collections import Counter
from collections.abc import Iterator

from retinue.errors import RetinueError
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.testing.verify.evidence import Evidence, results_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import (
    LEADER,
    LEADING,
    Expected,
    family,
    leading,
    speak,
)
from retinue.testing.verify.trial_client import TrialClient

_FANNED = "fanned"
_VALUES = {"KEY": "one", "KEY__2": "two", "KEY__3": "three"}
_JOBS = {"JOB": "bread", "JOB__2": "butter", "JOB__3": "jam"}
_GIVEN = "opened"
_SPENT = ["side_a", "side_a", "side_b", "side_b"]


def provide(client: TrialClient) -> None:
    """Provide a variable to a waiting child; the client retries until it is acknowledged."""
    sent = client.wait(client.post(LEADING, "create vault gold", key="k-vault", definition=LEADER))
    request = client.command("wanted", sent)
    try:
        client.command("provide", sent, request=request, values={"KEY": _GIVEN})
    except RetinueError as error:
        # After a crash before the answer, the client asks again and finds it done.
        if not (client.log.deaths and error.message.startswith("not_found")):
            raise


def fan_out(client: TrialClient) -> None:
    """Start a child for each set of variables, before the first message."""
    client.ask({"do": "create", "channel": _FANNED, "definition": _FANNED, "env": _VALUES | _JOBS})
    client.wait(client.post(_FANNED, "hello", key="k-fan", definition=_FANNED))


def say(request: ModelRequest) -> Answer | None:
    """Spend the key and report that it is done."""
    if not request.system.startswith("You spend."):
        return speak(request)
    if isinstance(request.messages[-1], ToolMessage):
        return "spent"
    return Reply(calls=[Call(name="spend", arguments={"what": "bread"})])


def began(evidence: Evidence) -> Iterator[str]:
    """The waiting child started once; each set of variables belongs to exactly one child."""
    yield from family(
        evidence,
        {
            "vault": Expected(spoken=_SPENT, files=0, is_kept=True),
            "branch": Expected(spoken=_SPENT, files=0, count=len(_VALUES)),
        },
    )
    for agent in evidence.at(LEADING):
        asked = [record["status"] for record in results_of(agent, "subagent_create")]
        if asked != ["error"] or agent["deferred"]:
            yield f"variables: asked with {asked}, and {agent['deferred']} are left waiting"
    for agent in evidence.at(_FANNED):
        if agent["env"] != [*_JOBS]:
            yield f"variables: the parent still has {agent['env']}"
    keys = {(e.text.partition(" ")[0], e.key) for e in evidence.done("spend")}
    spent = Counter(value for value, _ in keys)
    due = Counter([_GIVEN, *_VALUES.values()])
    if spent != due:
        yield f"variables: spent {dict(spent)}, not {dict(due)}"


_PAIR = """\
name = "{0}"
displayName = "The {0}"
description = "Spends."
type = "dual_ai"
maxSessionTurns = 6
exposeAsTool = true
[sideA]
prompt = "spender"
[sideB]
prompt = "checker"
stopOnResponse = false
[sideB.sessionStop]
name = "approve"
messageProperty = "what"
"""
VARIABLES = Part(
    name="variables",
    summary="subagents that wait for variables, and one per set of variables",
    steps=(provide, fan_out),
    judges=(began,),
    speak=say,
    files={
        **leading("---\ntools: [{name: vault, blocking: false, resumable: true}]\n---\nYou lead."),
        "agents/vault.toml": _PAIR.format("vault"),
        "agents/branch.toml": _PAIR.format("branch"),
        "prompts/spender.md": "---\ntools: [spend]\n---\nYou spend.",
        "agents/fanned.toml": (
            'name = "fanned"\ndisplayName = "Fanned"\ndescription = "Fans out."\n'
            '[sideA]\nprompt = "fanned"\n'
        ),
        "prompts/fanned.md": (
            "---\ntools:\n  - name: branch\n    blocking: false\n"
            "    immediate: {scopedEnv: [KEY], descriptionEnv: JOB}\n---\nYou lead."
        ),
    },
)
