"""Hooks: functions of the project that observe or change data at certain points of a run.

Hooks of one kind run in the order in which they are listed, each with the result of the previous
one. A hook that raises, times out or returns an invalid value is logged and skipped. The data is
not on disk yet, so after a crash the same hook may run again.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from msgspec import Struct, structs

from retinue.agents.children import ChildTerms, ChildUpdate
from retinue.agents.context import Context
from retinue.agents.descriptor import SubagentDescriptor
from retinue.agents.history import is_shown_to_model, without_erased
from retinue.agents.inbox import Item, ItemBody, Sender, Trail
from retinue.clock import Clock
from retinue.definitions.declarations import Hook, HookBlocked, HookKind, HookSet
from retinue.engine.agent.limits import Limits
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.tool_call import CallContext, CallResult
from retinue.engine.lineage.parent_notices import LONGEST_STATUS, said_post, status_post
from retinue.engine.writes.turn import record_of
from retinue.errors import RefusedError, UsageError
from retinue.failpoints import IS_ARMED, reach
from retinue.ids import AgentId, OwnerId, new_item_id
from retinue.model_messages import ModelMessage
from retinue.models.port import Completed
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    CallPart,
    KnownRecord,
    SystemRecord,
    ToolRecord,
    UserRecord,
)
from retinue.stores.port import Effects, NewAgent, NewItem, Post
from retinue.text import clean_text
from retinue.tools.port import AgentFiles, FileTrees
from retinue.tools.threads import in_thread

logger = logging.getLogger(__name__)

ValueT = TypeVar("ValueT")
RecordT = TypeVar("RecordT", UserRecord | SystemRecord, AssistantRecord, ToolRecord)
_Nothing = object()


class HookContext(Struct, frozen=True, kw_only=True):
    """The agent a hook runs for, and the actions a hook can take.

    Actions are committed with the data the hook processes, or right after the agent's last commit.
    """

    agent_id: AgentId
    owner: OwnerId
    definition: str
    side: str
    files: AgentFiles
    clock: Clock
    emit: Callable[[Effects], None]
    time_limit_seconds: float  # after which a hook is given up
    terms: ChildTerms | None = None
    trail: Trail = Trail()

    def notify_parent(self, content: str) -> None:
        """Send a message to the parent. Raises `UsageError` if this agent is not a subagent."""
        text = _filled(content, "content")
        post = said_post(
            self.agent_id, self.owner, self._terms(), self.clock.now(), text, self.trail
        )
        self._send(structs.replace(post, is_optional=True))

    def set_status(self, status: str) -> None:
        """Set the status of this subagent in its parent's registry; wakes no one."""
        text = _filled(status, "status")[:LONGEST_STATUS]
        update = ChildUpdate(reference=self.agent_id, status_text=text)
        self._send(status_post(self.agent_id, self.owner, self._terms(), self.clock.now(), update))

    def post(self, agent_id: AgentId, text: str, *, silent: bool = False) -> None:
        """Put a system message from this agent into another agent's inbox."""
        body = ItemBody(
            text=_filled(text, "text"),
            sender=Sender(type="agent", id=self.agent_id),
            trail=self.trail,
        )
        item = NewItem(
            id=new_item_id(), kind="system", body=body, admitted_at=self.clock.now(), silent=silent
        )
        self._send(Post(to=agent_id, item=item, owner=self.owner, is_optional=True))

    def _send(self, post: Post) -> None:
        self.emit(Effects(notices=(post,)))

    def _terms(self) -> ChildTerms:
        if self.terms is None:
            raise UsageError("this agent is not a subagent and has no parent")
        return self.terms


def _filled(text: str, name: str) -> str:
    cleaned = clean_text(text).strip()
    if not cleaned:
        raise UsageError(f"{name}: it is empty")
    return cleaned


class Hooks:
    """Runs the hooks of a plan that has any."""

    def __init__(self, trees: FileTrees, clock: Clock, limits: Limits) -> None:
        self._trees = trees
        self._clock = clock
        self._seconds = limits.hook_seconds

    async def begun(self, live: LiveAgent, hooks: HookSet) -> None:
        for hook in hooks.get("after_thread_created", ()):
            await _run(hook, self._context(live))

    async def taken(self, live: LiveAgent, hooks: HookSet, items: Sequence[Item]) -> Sequence[Item]:
        """The incoming items as they are stored."""
        if "before_create_message" not in hooks:
            return items
        taken: list[Item] = []
        for item in items:
            record = record_of(item)
            assert isinstance(record, UserRecord | SystemRecord)
            record = await _created(self._context(live), hooks, record)
            body = structs.replace(item.body, text=record.text, files=record.files)
            taken.append(structs.replace(item, body=body))
        return taken

    async def system(self, live: LiveAgent, hooks: HookSet, system: str) -> str:
        return await self._piped(live, hooks, "after_system_message", system, _text)

    async def history(self, live: LiveAgent, hooks: HookSet) -> Context:
        """The history that the model sees, for this request only."""
        if "filter_messages" not in hooks:
            return live.context
        shown = [r for r in without_erased(live.history.records) if is_shown_to_model(r)]
        kept = await self._piped(live, hooks, "filter_messages", shown, _list_of(AnyRecord))
        return Context(kept, side=live.context.side)

    async def messages(
        self, live: LiveAgent, hooks: HookSet, messages: Sequence[ModelMessage]
    ) -> Sequence[ModelMessage]:
        """The messages sent to the model. Raises `HookBlocked` to stop the request."""
        return await self._piped(
            live, hooks, "prefilter_llm_history", list(messages), _list_of(ModelMessage)
        )

    async def response(self, live: LiveAgent, hooks: HookSet, completed: Completed) -> Completed:
        """The model's text as it is stored; its tool calls cannot be changed."""
        return await _spoken(self._context(live), hooks, completed)

    async def result(
        self, live: LiveAgent, hooks: HookSet, call: CallPart, result: CallResult
    ) -> CallResult:
        """The call's result as it is stored; an erased result removes the call too."""
        await self.born(live, hooks, result.effects)
        if result.record is None:
            return result
        record = await _settled(self._context(live), hooks, call, result.record)
        if record.status == "erased":
            effects = result.effects._replace(handoff=(), departure=())
            return structs.replace(result, record=record, effects=effects)
        return structs.replace(result, record=record)

    async def born(self, live: LiveAgent, hooks: HookSet, effects: Effects) -> None:
        """Run the hooks for children that these effects create."""
        if "after_subagent_created" in hooks:
            for new in (*effects.creates, *(post.to for post in effects.items)):
                if isinstance(new, NewAgent):
                    await self._born(live, hooks, new)

    async def settled(
        self, live: LiveAgent, hooks: HookSet, records: Sequence[KnownRecord]
    ) -> list[KnownRecord]:
        """Results of suspended calls: they update calls that were open until now."""
        calls = {call.id: call for call in live.history.open_calls}
        settled: list[KnownRecord] = []
        for record in records:
            if isinstance(record, ToolRecord) and record.call in calls:
                record = await _settled(self._context(live), hooks, calls[record.call], record)
                record = await self._piped(
                    live, hooks, "before_update_message", record, _like(record)
                )
            settled.append(record)
        return settled

    async def told(
        self,
        live: LiveAgent,
        hooks: HookSet,
        records: Sequence[AnyRecord],
        *,
        are_updates: bool = False,
    ) -> None:
        """Run the hooks for records that are on disk."""
        kinds: list[HookKind] = ["after_create_message"]
        if are_updates:
            kinds.append("after_update_message")
        for record in records:
            if isinstance(record, UserRecord | SystemRecord | AssistantRecord | ToolRecord):
                for hook in (hook for kind in kinds for hook in hooks.get(kind, ())):
                    await _run(hook, self._context(live), record)

    async def said_within(
        self, call: CallContext, hooks: HookSet, said: UserRecord
    ) -> Sequence[AnyRecord]:
        """The input of a prompt that is called as a tool."""
        who = self._context_of(call)
        inputs: list[AnyRecord] = [await _created(who, hooks, said)]
        return await _piped(who, hooks, "filter_messages", inputs, _list_of(AnyRecord))

    async def request_within(
        self, call: CallContext, hooks: HookSet, system: str, messages: Sequence[ModelMessage]
    ) -> tuple[str, Sequence[ModelMessage]]:
        """The request of a prompt that is called as a tool; a block fails the call."""
        who = self._context_of(call)
        system = await _piped(who, hooks, "after_system_message", system, _text)
        accept = _list_of(ModelMessage)
        try:
            return system, await _piped(who, hooks, "prefilter_llm_history", list(messages), accept)
        except HookBlocked as block:
            raise RefusedError(str(block)) from block

    async def response_within(
        self, call: CallContext, hooks: HookSet, completed: Completed
    ) -> Completed:
        """The response to a prompt that is called as a tool."""
        return await _spoken(self._context_of(call), hooks, completed)

    async def result_within(
        self, call: CallContext, hooks: HookSet, part: CallPart, record: ToolRecord
    ) -> ToolRecord:
        """The result of a call within a prompt that is called as a tool."""
        return await _settled(self._context_of(call), hooks, part, record)

    async def _born(self, live: LiveAgent, hooks: HookSet, new: NewAgent) -> None:
        if isinstance(new.descriptor, SubagentDescriptor):
            child = HookContext(
                agent_id=new.id,
                owner=new.owner,
                definition=new.definition,
                side="side_a",
                files=self._trees.tree(new.id),
                clock=self._clock,
                emit=live.hook_effects.append,
                time_limit_seconds=self._seconds,
                terms=new.state.child,
            )
            for hook in hooks["after_subagent_created"]:
                await _run(hook, self._context(live), child)

    async def _piped(
        self,
        live: LiveAgent,
        hooks: HookSet,
        kind: HookKind,
        value: ValueT,
        accept: Callable[[Any], ValueT | None],
    ) -> ValueT:
        return await _piped(self._context(live), hooks, kind, value, accept)

    def _context(self, live: LiveAgent) -> HookContext:
        turn = live.state.turn
        trail = turn.trail if turn is not None else None
        return HookContext(
            agent_id=live.id,
            owner=live.owner,
            definition=live.definition,
            side=turn.side if turn is not None else "side_a",
            files=self._trees.tree(live.id),
            clock=self._clock,
            emit=live.hook_effects.append,
            time_limit_seconds=self._seconds,
            terms=live.state.child,
            trail=Trail(hops=trail.hops + 1) if trail is not None else Trail(hops=1),
        )

    def _context_of(self, call: CallContext) -> HookContext:
        return HookContext(
            agent_id=call.agent_id,
            owner=call.owner,
            definition=call.definition,
            side=call.turn.side,
            files=call.files,
            clock=self._clock,
            emit=call.emit,
            time_limit_seconds=self._seconds,
            terms=call.state.child,
            trail=call.trail,
        )


async def _piped(
    who: HookContext,
    hooks: HookSet,
    kind: HookKind,
    value: ValueT,
    accept: Callable[[Any], ValueT | None],
) -> ValueT:
    for hook in hooks.get(kind, ()):
        given = await _run(hook, who, value)
        if given is not None:
            value = _accepted(hook, given, value, accept)
    return value


async def _created(who: HookContext, hooks: HookSet, record: RecordT) -> RecordT:
    return await _piped(who, hooks, "before_create_message", record, _like(record))


async def _spoken(who: HookContext, hooks: HookSet, completed: Completed) -> Completed:
    said = AssistantRecord(
        parts=list(completed.parts), model=completed.model, finish=completed.finish
    )
    record = await _created(who, hooks, said)
    record = await _piped(who, hooks, "before_update_message", record, _like(record))
    return completed if record is said else structs.replace(completed, parts=record.parts)


async def _settled(
    who: HookContext, hooks: HookSet, call: CallPart, record: ToolRecord
) -> ToolRecord:
    record = await _judged(who, hooks, call, record)
    if record.status == "erased":
        return record
    record = await _piped(who, hooks, "before_store_tool_result", record, _like(record))
    return await _created(who, hooks, record)


async def _judged(
    who: HookContext, hooks: HookSet, call: CallPart, record: ToolRecord
) -> ToolRecord:
    """The result after the hooks for success or failure; a hook that returns None erases it."""
    kind: HookKind = (
        "after_tool_call_success" if record.status == "ok" else "after_tool_call_failure"
    )
    for hook in hooks.get(kind, ()):
        given = await _run(hook, who, call, record)
        if given is None:
            return structs.replace(record, status="erased", text="", files=[], cut=0)
        record = _accepted(hook, given, record, _like(record))
    return record


async def _run(hook: Hook, who: HookContext, *given: Any) -> Any:
    """Call a hook; returns `_Nothing`, which is never accepted, if it failed."""
    if IS_ARMED:
        reach(f"{hook.kind}:before")
    try:
        return await _called(hook, who, *given)
    except HookBlocked as block:
        if hook.kind == "prefilter_llm_history":
            raise
        reason: BaseException = block
    except (Exception, SystemExit) as error:  # noqa: BLE001  a hook may do anything
        reason = error
    facts = {"hook": hook.id, "kind": hook.kind, "file": hook.file}
    logger.warning("a hook failed and was skipped", exc_info=reason, extra=facts)
    return _Nothing


async def _called(hook: Hook, who: HookContext, *given: Any) -> Any:
    async with asyncio.timeout(who.time_limit_seconds):
        if inspect.iscoroutinefunction(hook.execute):
            value = await hook.execute(who, *given)
        else:
            value = await in_thread(lambda: hook.execute(who, *given), name=f"hook {hook.id}")
            if inspect.isawaitable(value):
                value = await value
    if IS_ARMED:
        reach(f"{hook.kind}:after")
    return value


def _accepted(
    hook: Hook, given: Any, before: ValueT, accept: Callable[[Any], ValueT | None]
) -> ValueT:
    if given is _Nothing:
        return before
    value = accept(given)
    if value is None:
        facts = {"hook": hook.id, "kind": hook.kind, "gave": type(given).__name__}
        logger.warning("a hook returned an invalid value and was skipped", extra=facts)
        return before
    return value


def _text(given: Any) -> str | None:
    return clean_text(given) if isinstance(given, str) else None


def _list_of(kind: Any) -> Callable[[Any], list[Any] | None]:
    def accept(given: Any) -> list[Any] | None:
        if not isinstance(given, list | tuple):
            return None
        entries: list[Any] = list(given)  # pyright: ignore[reportUnknownArgumentType]
        return entries if all(isinstance(entry, kind) for entry in entries) else None

    return accept


def _like(record: RecordT) -> Callable[[Any], RecordT | None]:
    """Accept a record's content or a plain text; other fields stay unchanged."""

    def accept(given: Any) -> RecordT | None:
        changes: dict[str, Any]
        if isinstance(record, AssistantRecord):
            if not isinstance(given, AssistantRecord) or given.calls != record.calls:
                return None
            changes = {"parts": given.parts}
        elif isinstance(given, str):
            changes = {"text": clean_text(given)}
        elif type(given) is type(record):
            changes = {"text": clean_text(given.text), "files": list(given.files)}
            if isinstance(given, ToolRecord) and given.status in ("ok", "error"):
                changes["status"] = given.status
        else:
            return None
        return structs.replace(record, **changes)

    return accept
