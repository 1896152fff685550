"""When a side's turn and a whole run end: a side's own rules, applied to what it did last.

They are asked in this order: a binding that ends the run, the stop tool, an answer in words. What
limits a run is checked before its next step, in `next_action`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from retinue.definitions.side import SessionToolBinding, Side
from retinue.ids import CallId
from retinue.records import AssistantRecord, CallPart, ToolRecord

RunOutcome = Literal["completed", "failed"]


class RunEnds(Struct, frozen=True, kw_only=True):
    """A terminal call succeeded: everything it says is in the call and its result."""

    outcome: RunOutcome
    code: Literal["session_stop", "session_fail"]
    text: str
    paths: Sequence[str]


class TurnEnds(Struct, frozen=True, kw_only=True):
    """The side has said what it had to say; the other side, or a person, is next."""

    code: Literal["stop_tool", "stop_on_response", "yielded"]


class GoesOn(Struct, frozen=True, kw_only=True):
    """The side takes another step."""


class NeedsReminder(Struct, frozen=True, kw_only=True):
    """The side spoke, but only a tool ends its turn."""

    text: str


Verdict = RunEnds | TurnEnds | GoesOn | NeedsReminder


def judge(
    side: Side,
    response: AssistantRecord,
    results: Mapping[CallId, ToolRecord],
    *,
    is_dual: bool,
) -> Verdict:
    """Say what follows a response whose calls all have their results."""
    ending = _run_end(side, response, results)
    if ending is not None:
        return ending
    if side.stop_tool is not None and _first(response, side.stop_tool) is not None:
        return TurnEnds(code="stop_tool")
    if response.calls:
        return GoesOn()
    if side.stop_on_response:
        return TurnEnds(code="stop_on_response")
    if is_dual and side.stop_tool is None:
        return TurnEnds(code="yielded")
    return NeedsReminder(text=reminder(side))


def _run_end(
    side: Side, response: AssistantRecord, results: Mapping[CallId, ToolRecord]
) -> RunEnds | GoesOn | None:
    """A failing binding before a stopping one; one that did not succeed lets the side try again."""
    was_tried = False
    for binding in (side.session_fail, side.session_stop):
        is_failure = binding is side.session_fail
        call = _first(response, binding.name) if binding is not None else None
        if binding is None or call is None:
            continue
        result = results.get(call.id)
        if result is not None and result.status == "ok":
            return RunEnds(
                outcome="failed" if is_failure else "completed",
                code="session_fail" if is_failure else "session_stop",
                text=bound_text(binding, call, result.text),
                paths=bound_paths(binding, call),
            )
        was_tried = True
    return GoesOn() if was_tried else None


def bound_text(binding: SessionToolBinding, call: CallPart, result: str) -> str:
    """The mapped argument, else the tool's result."""
    value = call.arguments.get(binding.message_property) if binding.message_property else None
    return result if value is None else as_text(value)


def bound_paths(binding: SessionToolBinding, call: CallPart) -> list[str]:
    """Paths that the mapped argument names: one, several, or objects with a `path`."""
    return paths_in(call.arguments, binding.attachments_property)


def paths_in(arguments: Mapping[str, Any], name: str | None) -> list[str]:
    """Paths of files in an argument, if it is given."""
    if name is None:
        return []
    value: Any = arguments.get(name)
    entries: list[Any] = [value] if isinstance(value, str | dict) else list(value or ())
    return [str(e.get("path", "")) if isinstance(e, dict) else str(e) for e in entries]  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def stop_text(side: Side, calls: Sequence[CallPart]) -> str | None:
    """What the stop tool's call says in the name of the side, if the side wants that."""
    if side.stop_tool is None or side.stop_tool_response_property is None:
        return None
    call = next((call for call in calls if call.name == side.stop_tool), None)
    value = call.arguments.get(side.stop_tool_response_property) if call is not None else None
    text = as_text(value) if value is not None else ""
    return text if text.strip() else None


def reminder(side: Side) -> str:
    names = [side.stop_tool] if side.stop_tool is not None else []
    names += [b.name for b in (side.session_stop, side.session_fail) if b is not None]
    if not names:
        return "Go on: the work is not finished by an answer in words."
    return f"Go on. When you have finished, call {' or '.join(names)}."


def as_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else msgspec.json.encode(value).decode()


def _first(response: AssistantRecord, name: str) -> CallPart | None:
    return next((call for call in response.calls if call.name == name), None)
