"""Hooks for trials, one of each kind: they mark messages and log their runs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from retinue.definitions.declarations import HookBlocked, HookKind
from retinue.model_messages import ModelMessage, TextContent, UserMessage
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    SystemRecord,
    TextPart,
    ToolRecord,
    UserRecord,
)
from retinue.testing.verify.effects import note

Written = UserRecord | SystemRecord | AssistantRecord | ToolRecord

IN, OUT, OK, BAD, STORED, CREATED = " (in)", " (out)", " (ok)", " (bad)", " (stored)", " (created)"
BRIEF = " Be brief."
WHISPERED = "whispered"
FORBIDDEN, BLOCKED = "forbidden", "Not about that."
ERASED = "keyed"
"""the tool whose calls are erased"""
_PLAIN = "agents_message"
"""the tool whose results stay unchanged, because checks read them"""


def _born(ctx: Any) -> None:
    note("after_thread_created", ctx.agent_id, ctx.agent_id)


def _child_born(ctx: Any, child: Any) -> None:
    note("after_subagent_created", child.agent_id, child.agent_id)


def _system(ctx: Any, text: str) -> str:
    return text + BRIEF


def _filtered(ctx: Any, records: Sequence[AnyRecord]) -> list[AnyRecord]:
    return [r for r in records if not (isinstance(r, UserRecord) and WHISPERED in r.text)]


def _request(ctx: Any, messages: Sequence[ModelMessage]) -> None:
    last = messages[-1]
    if isinstance(last, UserMessage):
        texts = [content.text for content in last.content if isinstance(content, TextContent)]
        if texts and FORBIDDEN in texts[-1]:
            raise HookBlocked(BLOCKED)


def _creating(ctx: Any, message: Written) -> Written | str | None:
    match message:
        case UserRecord():
            return message.text + IN
        case ToolRecord() if message.name != _PLAIN:
            return message.text + CREATED
        case AssistantRecord() if not message.calls:
            parts = [
                TextPart(text=part.text + OUT) if isinstance(part, TextPart) else part
                for part in message.parts
            ]
            return structs.replace(message, parts=parts)
        case _:
            return None


def _created(ctx: Any, message: Written) -> None:
    place = f"{ctx.agent_id}/{message.seq}"
    note("after_create_message", place, place)


def _updating(ctx: Any, message: Written) -> None:
    kind = type(message).__name__
    note("before_update_message", kind, kind)


def _updated(ctx: Any, message: Written) -> None:
    place = f"{ctx.agent_id}/{message.seq}"
    note("after_update_message", place, place)


def _storing(ctx: Any, result: ToolRecord) -> str | None:
    return None if result.name == _PLAIN else result.text + STORED


def _succeeded(ctx: Any, call: CallPart, result: ToolRecord) -> ToolRecord | str | None:
    if call.name == ERASED:
        return None
    return result if call.name == _PLAIN else result.text + OK


def _failed(ctx: Any, call: CallPart, result: ToolRecord) -> str:
    return result.text + BAD


HOOKS: Mapping[HookKind, Callable[..., Any]] = {
    "after_thread_created": _born,
    "after_subagent_created": _child_born,
    "after_system_message": _system,
    "filter_messages": _filtered,
    "prefilter_llm_history": _request,
    "before_create_message": _creating,
    "after_create_message": _created,
    "before_update_message": _updating,
    "after_update_message": _updated,
    "before_store_tool_result": _storing,
    "after_tool_call_success": _succeeded,
    "after_tool_call_failure": _failed,
}
FILE = """\
from retinue import define_hook
from retinue.testing.verify.trial_hooks import HOOKS

for kind, function in HOOKS.items():
    define_hook(hook=kind, id=kind, execute=function)
"""
