"""A leader and its subagents in a trial: two models that talk to each other, and a parent."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from retinue.messages import ModelMessage, TextContent, ToolMessage, UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.tools.function import FunctionTool, tool
from retinue.tools.port import ToolContext

LEADER = "leader"
LEADING = "leading"
"""the channel of its agent"""

_PAIRS = ("pair", "crew", "kept")
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
_FILES = {
    "agents/leader.toml": (
        'name = "leader"\ndisplayName = "Leader"\ndescription = "Leads."\n'
        '[sideA]\nprompt = "leader"\n'
    ),
    "prompts/leader.md": (
        "---\ntools:\n  - pair\n  - {name: crew, blocking: false}\n"
        "  - {name: kept, blocking: false, immediate: true, resumable: true}\n"
        "  - successor\n---\nYou lead."
    ),
    "agents/successor.toml": (
        'name = "successor"\ndisplayName = "Successor"\ndescription = "Takes over."\n'
        "exposeAsTool = true\n"
    ),
    "prompts/maker.md": "---\ntools: [draw, finish]\n---\nYou make.",
    "prompts/checker.md": "---\ntools: [report, approve]\n---\nYou check.",
    **{f"agents/{name}.toml": _PAIR.format(name) for name in _PAIRS},
}
_BOOTED = 'Started the subagent "kept"'
_STEPS_OF_A_RUN = Counter({"side_a": 3, "side_b": 2})


def prepare_leading(directory: Path) -> None:
    for name, text in _FILES.items():
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")


def led(request: ModelRequest) -> Answer | None:
    """What the leader and the two sides say; None when it is somebody else who is asked."""
    for begins, speak in (("You lead.", _lead), ("You make.", _make), ("You check.", _check)):
        if request.system.startswith(begins):
            return speak(request)
    return None


def _lead(request: ModelRequest) -> Answer:
    texts, registry = _told(request)
    if texts[-1].startswith(_BOOTED):
        texts.pop()
    word, _, rest = texts[-1].partition(" ")
    name, _, job = rest.partition(" ")
    if word == "lead":
        return Reply(calls=[Call(name=name, arguments={"message": job})])
    if word == "again":
        found = re.search(r"- (\w{24}): kept", registry)
        reference = found[1] if found else "nobody"
        arguments = {"referenceId": reference, "message": rest}
        return Reply(calls=[Call(name="subagent_message", arguments=arguments)])
    if word == "hand":
        return Reply(calls=[Call(name="successor")])
    return f"noted after {len(texts)} texts"


def _make(request: ModelRequest) -> Answer:
    """Draw, say something that ends nothing, and finish when reminded of that."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return f"nearly {last.text}"
    texts, _ = _told(request)
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


def _job(request: ModelRequest) -> str:
    """The last thing that it was told to make."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    texts = [text for message in said for text in _texts(message) if "Go on." not in text]
    return texts[-1].strip(".").lower()


def _told(request: ModelRequest) -> tuple[list[str], str]:
    """What others and tools said, in order, and the registry after it."""
    texts: list[str] = []
    for message in request.messages:
        texts += _texts(message)
    return texts, request.closing


def _texts(message: ModelMessage) -> list[str]:
    match message:
        case UserMessage():
            return [c.text for c in message.content if isinstance(c, TextContent)]
        case ToolMessage():
            return [message.text]
        case _:
            return []


@tool(effect="keyed")
async def draw(ctx: ToolContext, what: str) -> str:
    """Draw into a file."""
    return (await ctx.files.write(f"/attachments/{what}.txt", what.encode())).path


@tool(effect="pure")
async def finish(what: str) -> str:
    """Say that it is made."""
    return f"finish {what}"


@tool(effect="pure")
async def report(what: str) -> str:
    """Say how it goes."""
    return f"report {what}"


@tool(effect="pure")
async def approve(what: str, files: list[str]) -> str:
    """Approve it."""
    return f"approve {what}, {len(files)} files"


LED_TOOLS: tuple[FunctionTool[..., Any], ...] = (draw, finish, report, approve)


# -- what must hold

Agents = Mapping[str, dict[str, Any]]


def subagents(agents: Agents) -> Iterator[str]:
    """Each run of a child reaches its parent once, with its file; no side spoke twice."""
    for child in agents.values():
        if not child["isSubagent"]:
            continue
        parent = agents[child["parent"]]
        runs = [record for record in child["records"] if record["kind"] == "run"]
        told = [record for record in parent["records"] if _tells_of(record, child)]
        if len(told) != len(runs) or not runs:
            yield f"subagent: the parent was told {len(told)} times of {len(runs)} runs"
        if any(len(record.get("files", ())) != 1 for record in told):
            yield "subagent: a result came without its file"
        spoke = Counter(r["side"] for r in child["records"] if r["kind"] == "assistant")
        if len(runs) == 1 and spoke != _STEPS_OF_A_RUN:
            yield f"subagent: in one run the sides spoke {dict(spoke)}"
        is_kept = child["definition"] == "kept"
        if child["isActive"] != is_kept:
            yield f"subagent: a {child['definition']} that is done is active: {child['isActive']}"
        lifecycle = dict(parent["children"]).get(child["id"])
        if lifecycle != ("idle" if is_kept else "terminated"):
            yield f"subagent: the registry says {lifecycle!r}"


def _tells_of(record: dict[str, Any], child: dict[str, Any]) -> bool:
    if record["kind"] == "system":
        return record["origin"] == child["id"]
    is_result = record["kind"] == "tool" and record["name"] == child["definition"] == "pair"
    return is_result and record["status"] == "ok"
