"""Lists and notes: every write of a call or a keyed request takes effect exactly once."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.testing.verify.evidence import Evidence, results_of
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts.pairs import texts_of
from retinue.testing.verify.trial_client import TrialClient

_CLERK = "clerk"
_LIST, _NOTE = "Groceries", "Diary"
_ADDED = ("milk", "bread", "eggs", "tea")
_WRITTEN = ("monday", "tuesday", "thursday")
_UNDONE = "wednesday"


def _operate(client: TrialClient, name: str, key: str | None = None, **arguments: Any) -> Any:
    plugin, operation = name.split(".")
    request = {"do": "operate", "plugin": plugin, "operation": operation}
    return client.ask({**request, "arguments": arguments, "key": key})


def _tell(client: TrialClient, text: str) -> None:
    client.wait(client.post(_CLERK, text, key=f"k-{text}", definition=_CLERK))


def add(client: TrialClient) -> None:
    """Add items by calls of an agent, several in one response, and by the owner."""
    _tell(client, "add milk")
    _tell(client, "add bread eggs")
    _operate(client, "lists.item-add", key="k-tea", list=_LIST, title="tea", create_list=True)


def write(client: TrialClient) -> None:
    """Append lines to a note, and undo one."""
    _operate(client, "notes.create", key="k-note", title=_NOTE, content="begun")
    _tell(client, "write monday tuesday")
    _tell(client, f"write {_UNDONE}")
    _tell(client, "undo that")
    _operate(client, "notes.append", key="k-line", note=_NOTE, content=_WRITTEN[-1])


def look(client: TrialClient) -> None:
    client.log.seen["items"] = _operate(client, "lists.items-list", list=_LIST)["items"]
    client.log.seen["note"] = _operate(client, "notes.read", note=_NOTE)["note"]["content"]
    for plugin in ("lists", "notes"):
        client.log.seen[plugin] = _operate(client, f"{plugin}.history")["changes"]


def say(request: ModelRequest) -> Answer | None:
    if not request.system.startswith("You keep."):
        return None
    if isinstance(request.messages[-1], ToolMessage):
        return "kept"
    word, *rest = texts_of(request.messages[-1])[-1].split()
    match word:
        case "add":
            adding = {"list": _LIST, "create_list": True}
            calls = [Call(name="lists_item_add", arguments=adding | {"title": t}) for t in rest]
        case "write":
            writing = {"note": _NOTE}
            calls = [Call(name="notes_append", arguments=writing | {"content": t}) for t in rest]
        case _:
            calls = [Call(name="notes_undo")]
    return Reply(calls=calls)


def kept(evidence: Evidence) -> Iterator[str]:
    """Each item and each line exists once, in order; the log has each change once."""
    seen = evidence.log.seen
    titles = [item["title"] for item in seen["items"]]
    if Counter(titles) != Counter(_ADDED):
        yield f"artifacts: the list has {titles}"
    if [title for title in titles if title != "tea"] != [*_ADDED[:-1]]:
        yield f"artifacts: the items are in the order {titles}"
    lines = [line for line in seen["note"].split("\n") if line]
    if lines != ["begun", *_WRITTEN]:
        yield f"artifacts: the note says {lines}"
    for plugin, due in (("lists", len(_ADDED)), ("notes", 2 + len(_WRITTEN) + 1)):
        if len(seen[plugin]) != due:
            yield f"artifacts: {len(seen[plugin])} changes of {plugin} are kept, not {due}"
    results = [r["status"] for agent in evidence.at(_CLERK) for r in results_of(agent)]
    if results != ["ok"] * 7:
        yield f"artifacts: the calls ended as {results}"


ARTIFACTS = Part(
    name="artifacts",
    summary="items and notes written and undone by calls and keyed requests",
    steps=(add, write),
    last=look,
    judges=(kept,),
    speak=say,
    files={
        "agents/clerk.toml": (
            'name = "clerk"\ndisplayName = "Clerk"\ndescription = "Keeps things."\n'
            '[sideA]\nprompt = "clerk"\n'
        ),
        "prompts/clerk.md": "You keep.",
    },
)
