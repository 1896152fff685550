"""A leader with subagents whose two sides are models, and their scripted replies."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from retinue.model_messages import ModelMessage, TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.testing.verify.evidence import Agents, Evidence, Record, Told, records_of

LEADER, LEADING = "leader", "leading"
"""its definition, and the channel of its agent"""

_PAIR = """\
name = "{0}"
displayName = "The {0}"
description = "Makes and checks."
type = "dual_ai"
maxSessionTurns = 6
exposeAsTool = true
[sideA]
prompt = "maker"
stopOnResponse = false
stopTool = "finish"
stopToolResponseProperty = "what"
[sideB]
prompt = "checker"
stopOnResponse = false
[sideB.sessionStop]
name = "approve"
messageProperty = "what"
attachmentsProperty = "files"
[sideB.sessionStatus]
name = "report"
messageProperty = "what"
"""
_BOOTED = 'Started the subagent "kept"'
SPOKEN = ["side_a", "side_a", "side_a", "side_b", "side_b"]
"""by the two sides of a pair, in one run"""


def leading(prompt: str, *pairs: str) -> dict[str, str]:
    """Return the project files of a leader with this prompt, and of pairs."""
    return {
        "agents/leader.toml": (
            'name = "leader"\ndisplayName = "Leader"\ndescription = "Leads."\n'
            '[sideA]\nprompt = "leader"\n'
        ),
        "prompts/leader.md": prompt,
        "prompts/maker.md": "---\ntools: [draw, finish]\n---\nYou make.",
        "prompts/checker.md": "---\ntools: [report, approve]\n---\nYou check.",
        **{f"agents/{name}.toml": _PAIR.format(name) for name in pairs},
    }


def speak(request: ModelRequest) -> Answer | None:
    """Return the reply of the leader or of a side; None for other agents."""
    for begins, say in _SPEAKERS.items():
        if request.system.startswith(begins):
            return say(request)
    return None


def _lead(request: ModelRequest) -> Answer:
    texts = told(request)
    if texts[-1].startswith(_BOOTED):
        texts.pop()
    word, _, rest = texts[-1].partition(" ")
    name, _, job = rest.partition(" ")
    if word == "lead":
        return Reply(calls=[Call(name=name, arguments={"message": job})])
    if word == "draw":
        return Reply(calls=[Call(name="draw", arguments={"what": rest})])
    if word == "create":
        arguments = {"agent": name, "name": job, "message": job}
        return Reply(calls=[Call(name="subagent_create", arguments=arguments)])
    if word == "send":
        arguments = {"message": job, "files": [f"/attachments/{job}.txt"]}
        return Reply(calls=[Call(name=name, arguments=arguments)])
    if word == "again":
        found = re.search(r"- (\w{24}): kept", request.closing)
        reference = found[1] if found else "nobody"
        arguments = {"referenceId": reference, "message": rest}
        return Reply(calls=[Call(name="subagent_message", arguments=arguments)])
    if word == "hand":
        return Reply(calls=[Call(name="successor", arguments={"question": rest})])
    return f"noted after {len(texts)} texts"


def _make(request: ModelRequest) -> Answer:
    """Draw, reply without finishing, and finish when reminded."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"nearly {last.text}"
    texts = told(request)
    if "Go on." in texts[-1]:
        return Reply(calls=[Call(name="finish", arguments={"what": _job(request)})])
    return Reply(calls=[Call(name="draw", arguments={"what": _job(request)})])


def _check(request: ModelRequest) -> Answer:
    last = request.messages[-1]
    if not isinstance(last, ToolMessage):
        return Reply(calls=[Call(name="report", arguments={"what": _job(request)})])
    job = last.text.removeprefix("report ")
    arguments = {"what": job, "files": [f"/attachments/{job}.txt"]}
    return Reply(calls=[Call(name="approve", arguments=arguments)])


_SPEAKERS: Mapping[str, Callable[[ModelRequest], Answer]] = {
    "You lead.": _lead,
    "You make.": _make,
    "You check.": _check,
}


def _job(request: ModelRequest) -> str:
    """Return the last thing that it was asked to make."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    texts = [text for message in said for text in texts_of(message) if "Go on." not in text]
    return texts[-1].strip(".").lower()


def told(request: ModelRequest) -> list[str]:
    """Return the texts of other speakers and tools, in order."""
    return [text for message in request.messages for text in texts_of(message)]


def texts_of(message: ModelMessage) -> list[str]:
    match message:
        case UserMessage():
            return [c.text for c in message.content if isinstance(c, TextContent)]
        case ToolMessage():
            return [message.text]
        case _:
            return []


# -- checks


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The expected end of the children of one definition."""

    runs: int = 1  # per child
    count: int = 1
    spoken: Sequence[str] = tuple(SPOKEN)  # by both sides, in all runs
    files: int = 1  # per result
    blocks: bool = False  # its results are results of calls
    is_kept: bool = False
    has_failed: bool = False


def family(evidence: Evidence, expected: Mapping[str, Expected]) -> Iterator[str]:
    """Exactly these children exist, and each run reached its parent once."""
    children = [agent for agent in evidence.agents.values() if agent["isSubagent"]]
    found = Counter(child["definition"] for child in children)
    due = {name: one.count for name, one in expected.items()}
    if found != due:
        yield f"subagent: there are {dict(found)}, not {due}"
    for child in children:
        if child["definition"] in expected:
            one = expected[child["definition"]]
            yield from _ran(child, one)
            yield from _reported(evidence.agents, child, one)


def trees(evidence: Evidence, expected: Mapping[str, int]) -> Iterator[str]:
    """The agents of these definitions have the expected number of files, including copies."""
    for name, count in expected.items():
        for agent in evidence.of(name):
            if len(agent["files"]) != count:
                yield f"files: {name!r} has {agent['files']}, not {count}"


def _ran(child: Told, expected: Expected) -> Iterator[str]:
    name = child["definition"]
    spoken = [record["side"] for record in records_of(child, "assistant")]
    if spoken != [*expected.spoken] * expected.runs:
        yield f"subagent: the sides of {name!r} spoke {spoken}"
    runs = len(records_of(child, "run"))
    if runs != expected.runs:
        yield f"subagent: {name!r} ran {runs} times, not {expected.runs}"
    if child["isActive"] != expected.is_kept:
        yield f"subagent: a {name!r} that is done is active: {child['isActive']}"


def _reported(agents: Agents, child: Told, expected: Expected) -> Iterator[str]:
    name, parent = child["definition"], agents[child["parent"]]
    told = [record for record in parent["records"] if _tells_of(record, child, expected)]
    if len(told) != expected.runs * (1 if not expected.blocks else expected.count):
        yield f"subagent: the parent got {len(told)} reports of {expected.runs} runs of {name!r}"
    if any(len(record.get("files", ())) != expected.files for record in told):
        yield f"subagent: a result of {name!r} came without its file"
    for record in told:
        text = record["text"]
        if not expected.blocks and ("reported a failure" in text) != expected.has_failed:
            yield f"subagent: the parent got the report of {name!r}: {text!r}"
    lifecycle = dict(parent["children"]).get(child["id"])
    due = "idle" if expected.is_kept else "terminated"
    if lifecycle != due:
        yield f"subagent: the registry says of {name!r} that it is {lifecycle!r}"


def _tells_of(record: Record, child: Told, expected: Expected) -> bool:
    if not expected.blocks:
        return record["kind"] == "system" and record["origin"] == child["id"]
    is_result = record["kind"] == "tool" and record["name"] == child["definition"]
    return is_result and record["status"] == ("error" if expected.has_failed else "ok")
