"""Hooks around a crash: their changes apply once, and nothing is duplicated."""

from collections import Counter
from collections.abc import Iterator

from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.testing.verify.evidence import Evidence, Record, Told, records_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import texts_of
from retinue.testing.verify.trial_client import TrialClient
from retinue.testing.verify.trial_hooks import (
    BAD,
    BLOCKED,
    BRIEF,
    CREATED,
    FILE,
    FORBIDDEN,
    HOOKS,
    IN,
    OK,
    OUT,
    STORED,
    WHISPERED,
)

_HOOKED = "hooked"


def _send(client: TrialClient, channel: str, text: str) -> None:
    key, written = f"k-{text}", text + IN
    client.wait(client.post(channel, text, key=key, definition=_HOOKED, written=written))


def replaced(client: TrialClient) -> None:
    """Messages, results and answers are stored as the hooks return them."""
    for text in ("use pure:a keyed:b", "use fail:c", f"{WHISPERED} something"):
        _send(client, _HOOKED, text)


def blocked(client: TrialClient) -> None:
    _send(client, "blocked", FORBIDDEN)


def late(client: TrialClient) -> None:
    """A result of a suspended call."""
    _send(client, "waiting", "ask now")


def born(client: TrialClient) -> None:
    _send(client, "parent", "start errand")


def say(request: ModelRequest) -> Answer | None:
    if not request.system.startswith("You obey."):
        return None
    briefs = request.system.count(BRIEF)
    if isinstance(request.messages[-1], ToolMessage):
        return f"done, {briefs} brief"
    texts = [text for message in request.messages for text in texts_of(message)]
    word, _, rest = texts[-1].removesuffix(IN).partition(" ")
    match word:
        case "use":
            pairs = [one.split(":") for one in rest.split()]
            return Reply(calls=[Call(name=name, arguments={"what": a}) for name, a in pairs])
        case "ask":
            arguments = {"agentId": "worker", "content": "a job", "mode": "sync", "timeout": 30}
            return Reply(calls=[Call(name="agents_message", arguments=arguments)])
        case "start":
            arguments = {"prompt": f"background {rest}", "definition": "worker"}
            return Reply(calls=[Call(name="start_background_agent", arguments=arguments)])
        case _:
            whispers = sum(WHISPERED in text for text in texts)
            return f"re {len(texts)} texts, {whispers} whispers"


def kept(evidence: Evidence) -> Iterator[str]:
    """Each text was changed exactly once by each hook."""
    results = OK + STORED + CREATED, BAD + STORED + CREATED
    expected = {
        _HOOKED: [
            f"user use pure:a keyed:b{IN}",
            "calls",
            f"ok pure a{results[0]}",
            "erased ",
            f"assistant done, 1 brief{OUT}",
            f"user use fail:c{IN}",
            "calls",
            f"error fail c{results[1]}",
            f"assistant done, 1 brief{OUT}",
            f"user {WHISPERED} something{IN}",
            f"assistant re 4 texts, 0 whispers{OUT}",
        ],
        "blocked": [f"user {FORBIDDEN}{IN}", f"assistant {BLOCKED}"],
    }
    for channel, lines in expected.items():
        found = [_line(r) for agent in evidence.at(channel) for r in _said(agent)]
        if found != lines:
            yield f"hook: in {channel!r} there is {found}"


def once(evidence: Evidence) -> Iterator[str]:
    """Hooks before a commit repeat only after a crash; hooks after a commit never repeat."""
    deaths = evidence.log.deaths
    for kind in ("after_create_message", "after_update_message"):
        told = Counter(effect.key for effect in evidence.done(kind))
        if any(count > 1 for count in told.values()):
            yield f"hook: {kind} ran twice for one message"
    hooked = evidence.of(_HOOKED)
    created = {effect.key for effect in evidence.done("after_create_message")}
    due = {f"{agent['id']}/{r['seq']}" for agent in hooked for r in _said(agent)}
    if not created <= due or len(due - created) > deaths:
        yield f"hook: after_create_message missed {len(due - created)} after {deaths} crashes"
    agents = Counter(effect.key for effect in evidence.done("after_thread_created"))
    if set(agents) != {agent["id"] for agent in hooked} or max(agents.values()) > 1 + deaths:
        yield f"hook: after_thread_created ran {list(agents.values())} times"
    children = Counter(effect.key for effect in evidence.done("after_subagent_created"))
    if len(children) != 1 or max(children.values()) > 1 + deaths:
        yield f"hook: after_subagent_created ran {list(children.values())} times"
    updates = Counter(effect.text for effect in evidence.done("before_update_message"))
    if not 1 <= updates["ToolRecord"] <= 1 + deaths:
        yield f"hook: before_update_message ran for {dict(updates)}"


def _said(agent: Told) -> list[Record]:
    return records_of(agent, "user", "system", "assistant", "tool")


def _line(record: Record) -> str:
    if record["kind"] == "tool":
        return f"{record['status']} {record['text']}"
    if record["kind"] != "assistant":
        return f"{record['kind']} {record['text']}"
    if any(part["type"] == "call" for part in record["parts"]):
        return "calls"
    return "assistant " + "".join(part["text"] for part in record["parts"])


_LISTED = ", ".join(f'"{kind}"' for kind in HOOKS)
HOOKING = Part(
    name="hooks",
    summary="a hook of each kind: replace, erase, block, notify once",
    steps=(replaced, blocked, late, born),
    judges=(kept, once),
    speak=say,
    files={
        "agents/hooked.toml": (
            'name = "hooked"\ndisplayName = "Hooked"\ndescription = "Obeys hooks."\n'
            f'hooks = [{_LISTED}]\n[sideA]\nprompt = "hooked"\n'
        ),
        "prompts/hooked.md": "You obey.",
        "hooks/trial.py": FILE,
    },
)
