"""Describes the results of some tools in plain words: agents, reminders, lists and notes."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

T = TypeVar("T", bound=Struct)
_LONGEST = 4_000
_REMINDER = re.compile(r"Scheduled: [^:\s]+: (?P<title>.+); once, next (?P<when>[^;]+)", re.DOTALL)


class _Answered(Struct, frozen=True, kw_only=True, rename="camel"):
    agent_id: str
    status: str
    response: str = ""


class _Peer(Struct, frozen=True, kw_only=True, rename="camel"):
    agent_id: str
    description: str = ""


class _Peers(Struct, frozen=True, kw_only=True):
    agents: Sequence[_Peer]


class _Switched(Struct, frozen=True, kw_only=True, rename="camel"):
    agent_id: str


class _Item(Struct, frozen=True, kw_only=True):
    title: str
    list: str = ""
    completed: bool = False


class _Changed(Struct, frozen=True, kw_only=True):
    item: _Item


class _Items(Struct, frozen=True, kw_only=True):
    list: str
    items: Sequence[_Item]
    more: str = ""


class _ItemList(Struct, frozen=True, kw_only=True):
    name: str
    items: int


class _Lists(Struct, frozen=True, kw_only=True):
    lists: Sequence[_ItemList]
    more: str = ""


class _Note(Struct, frozen=True, kw_only=True):
    title: str
    content: str = ""


class _Noted(Struct, frozen=True, kw_only=True):
    note: _Note


class _Notes(Struct, frozen=True, kw_only=True):
    notes: Sequence[_Note]
    more: str = ""


class _Match(Struct, frozen=True, kw_only=True):
    kind: str
    title: str
    list: str = ""
    completed: bool = False


class _Found(Struct, frozen=True, kw_only=True):
    found: Sequence[_Match]
    more: str = ""


class _Named(Struct, frozen=True, kw_only=True):
    name: str


class _Shown(Struct, frozen=True, kw_only=True):
    shown: _Named
    message: str


def in_words(tool: str, text: str) -> str | None:
    """Describe the result of a tool; None if there is no description for it."""
    say = _WORDS.get(tool)
    try:
        return None if say is None else say(text)
    except msgspec.DecodeError:
        return None


def _worded(kind: type[T], say: Callable[[T], str | None]) -> Callable[[str], str | None]:
    decoder = msgspec.json.Decoder(kind)
    return lambda text: say(decoder.decode(text))


def _answered(outcome: _Answered) -> str | None:
    if outcome.status != "complete":
        return None
    said = outcome.response
    cut = said if len(said) <= _LONGEST else f"{said[: _LONGEST - 1].rstrip()}…"
    return f"`{outcome.agent_id}` answers:\n\n{cut}"


def _peers(found: _Peers) -> str:
    if not found.agents:
        return "There are no agents that I can ask."
    lines = [f"- `{one.agent_id}`: {one.description}" for one in found.agents]
    return _block("Agents that I can ask:", lines, "")


def _switched(outcome: _Switched) -> str:
    return f"You are now talking to `{outcome.agent_id}`."


def _scheduled(text: str) -> str | None:
    reminder = _REMINDER.fullmatch(text)
    return reminder and f"Scheduled for {reminder['when']}: {reminder['title']}"


def _added(change: _Changed) -> str:
    return f"Added “{change.item.title}” to {change.item.list}."


def _updated(change: _Changed) -> str:
    item = change.item
    return f"“{item.title}” on {item.list} is {'done' if item.completed else 'changed'}."


def _on_list(found: _Items) -> str:
    if not found.items:
        return f"{found.list} is empty."
    lines = [f"- [{'x' if item.completed else ' '}] {item.title}" for item in found.items]
    return _block(f"On {found.list}:", lines, found.more)


def _lists(found: _Lists) -> str:
    if not found.lists:
        return "There are no lists yet."
    lines = [f"- {one.name}: {one.items}" for one in found.lists]
    return _block("Lists and their number of items:", lines, found.more)


def _shown(found: _Shown) -> str:
    return f"{found.shown.name}: {found.message}"


def _noted(change: _Noted) -> str:
    return f"Noted: “{change.note.title}”."


def _notes(found: _Notes) -> str:
    if not found.notes:
        return "No notes found."
    lines = [f"- {note.title}" for note in found.notes]
    return _block("Notes:", lines, found.more)


def _found(answer: _Found) -> str:
    if not answer.found:
        return "No items or notes found."
    return _block("Found:", [_match(one) for one in answer.found], answer.more)


def _match(one: _Match) -> str:
    if one.kind == "note":
        return f"- {one.title} (a note)"
    done = ", done" if one.completed else ""
    return f"- {one.title} (on {one.list}{done})" if one.list else f"- {one.title}"


def _block(head: str, lines: Sequence[str], more: str) -> str:
    rest = [f"- ({more})"] if more else []
    return "\n".join([head, "", *lines, *rest])


_WORDS: Mapping[str, Callable[[str], str | None]] = {
    "agents_list": _worded(_Peers, _peers),
    "agents_message": _worded(_Answered, _answered),
    "agents_switch": _worded(_Switched, _switched),
    "lists_item_add": _worded(_Changed, _added),
    "lists_item_update": _worded(_Changed, _updated),
    "lists_items_list": _worded(_Items, _on_list),
    "lists_list": _worded(_Lists, _lists),
    "lists_show": _worded(_Shown, _shown),
    "notes_create": _worded(_Noted, _noted),
    "notes_search": _worded(_Notes, _notes),
    "notes_list": _worded(_Notes, _notes),
    "schedule_create": _scheduled,
    "views_query": _worded(_Found, _found),
    "views_run": _worded(_Found, _found),
}
