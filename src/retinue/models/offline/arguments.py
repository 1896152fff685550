"""Maps the words of a command to the arguments of a tool."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

_PUNCTUATION = re.compile(r"[^a-z0-9]")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d{2}))?\s*(am|pm)?", re.IGNORECASE)

_NAMES: Mapping[str, Sequence[str]] = {
    "path": ("path", "file", "filename", "filepath", "name"),
    "folder": ("path", "folder", "directory", "dir"),
    "content": ("content", "text", "data", "body", "message"),
    "old": ("old", "oldtext", "oldstring", "find"),
    "new": ("new", "newtext", "newstring", "replace", "replacement"),
    "url": ("url", "uri", "link", "address"),
    "command": ("command", "cmd", "script", "commandline"),
    "zone": ("timezone", "zone", "tz", "location"),
    "list": ("list", "listname", "listid", "listtitle", "name"),
    "item": ("title", "item", "text", "content", "name"),
    "making": ("createlist",),
    "done": ("item", "itemid"),
    "finishing": ("completed", "done"),
    "thought": ("content", "text", "body", "message"),
    "heading": ("title", "name"),
    "agent": ("agentid", "agent", "recipient", "to", "name"),
    "request": ("content", "message", "prompt", "task", "text"),
    "name": ("name", "title"),
    "task": ("prompt", "task", "content", "text"),
    "purpose": ("description", "purpose"),
    "manner": ("systemprompt", "prompt", "instructions"),
    "every": ("cron", "schedule", "expression", "when"),
    "when": ("at", "when", "time", "cron", "schedule", "expression", "due"),
    "permission": ("permission",),
    "reason": ("reason", "why"),
    "question": ("schema",),
    "text": ("text", "content", "message", "query", "input", "prompt", "task", "title"),
}
_IMPLIED = frozenset(
    {"making", "finishing", "heading"}
)  # not in the command: only set if there is a matching argument
_CRON = ("cron", "schedule", "expression")


def properties(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the arguments of a schema by name."""
    found = schema.get("properties")
    if not isinstance(found, dict):
        return {}
    entries = cast("dict[str, object]", found)
    return {
        name: cast("dict[str, Any]", entry)
        for name, entry in entries.items()
        if isinstance(entry, dict)
    }


def required(schema: Mapping[str, Any]) -> Sequence[str]:
    found = schema.get("required")
    return [str(name) for name in cast("list[Any]", found)] if isinstance(found, list) else []


def fitted(schema: Mapping[str, Any], words: Mapping[str, str]) -> dict[str, Any]:
    """Assign each word to the matching argument; others are dropped."""
    known = properties(schema)
    arguments: dict[str, Any] = {}
    for role, word in words.items():
        name = _place(known, role, arguments)
        if name is None and role not in _IMPLIED:
            name = _open_place(schema, known, arguments)
        if name is not None:
            if role == "question":
                arguments[name] = _form(word)
                continue
            spoken = _moment(name, word) if role == "when" else word
            if role == "permission" and not spoken.startswith("@"):
                spoken = f"@{spoken.lower()}"
            arguments[name] = _typed(known[name], spoken, is_command=role == "command")
    return arguments


def _form(question: str) -> dict[str, Any]:
    """Return the schema of a form with one question."""
    return {
        "type": "object",
        "properties": {"answer": {"type": "string", "title": question}},
        "required": ["answer"],
    }


def example(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return sample arguments for the help text."""
    known = properties(schema)
    return {name: _sample(known.get(name, {})) for name in required(schema)}


def _place(known: Mapping[str, Any], role: str, taken: Mapping[str, Any]) -> str | None:
    by_plain_name = {_PUNCTUATION.sub("", name.lower()): name for name in known}
    for candidate in _NAMES[role]:
        name = by_plain_name.get(candidate)
        if name is not None and name not in taken:
            return name
    return None


def _open_place(
    schema: Mapping[str, Any], known: Mapping[str, Mapping[str, Any]], taken: Mapping[str, Any]
) -> str | None:
    for name in required(schema):
        if name not in taken and known.get(name, {}).get("type") == "string":
            return name
    return None


def _type(entry: Mapping[str, Any]) -> object:
    """Return the type of an argument, ignoring null."""
    choices = cast("Sequence[Mapping[str, Any]]", entry.get("anyOf", ()))
    return entry.get("type") or next(
        (one.get("type") for one in choices if one.get("type") != "null"), None
    )


def _typed(entry: Mapping[str, Any], word: str, *, is_command: bool) -> Any:
    try:
        match _type(entry):
            case "integer":
                return int(word)
            case "number":
                return float(word)
            case "boolean":
                return word.lower() in ("true", "yes", "on", "1")
            case "array":
                return shlex.split(word) if is_command else [word]
            case _:
                return word
    except ValueError:
        return word


def _moment(name: str, word: str) -> str:
    """Format a time of day for an argument: as a cron expression or as hours and minutes."""
    found = _CLOCK.fullmatch(word.strip())
    if found is None:
        return word
    hour, minute = int(found.group(1)), int(found.group(2) or 0)
    if found.group(3):
        hour = hour % 12 + (12 if found.group(3).lower() == "pm" else 0)
    if _PUNCTUATION.sub("", name.lower()) in _CRON:
        return f"{minute} {hour} * * *"
    return f"{hour:02}:{minute:02}"


def cron_line(day: str, clock: str) -> str:
    """Convert a day and a time, such as "weekday" and "8:30 pm", to cron; the default is 9:00."""
    if day.lower() == "hour":
        return "0 * * * *"
    minute, hour, *_ = _moment("cron", clock or "9").split()
    days = {"day": "*", "weekday": "MON-FRI"}
    return f"{minute} {hour} * * {days.get(day.lower(), day[:3].upper())}"


def _sample(entry: Mapping[str, Any]) -> Any:
    if entry.get("enum"):
        return entry["enum"][0]
    samples: Mapping[str, Any] = {
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return samples.get(str(entry.get("type")), "...")
