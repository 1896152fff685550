"""Hooks: functions of the project that look at, or change, what passes certain points of a run.

Hooks of one kind run in the order in which they are listed, each with what the one before it gave.
One that raises, takes too long or gives something unusable is logged and skipped. What a hook sees
is not on disk yet, so after a crash the same hook may be asked again.
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
    """What a hook knows of the agent that it runs for, and what it may ask for.

    What it asks for is committed with what passes the hook, or right after the agent's last commit.
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
        """Write to the agent whose subagent this is; a `UsageError` where it is nobody's."""
        text = _filled(content, "content")
        post = said_post(
            self.agent_id, self.owner, self._terms(), self.clock.now(), text, self.trail
        )
        self._send(structs.replace(post, is_optional=True))

    def set_status(self, status: str) -> None:
        """Tell the parent's registry what this subagent is doing; nobody is woken by it."""
        text = _filled(status, "status")[:LONGEST_STATUS]
        update = ChildUpdate(reference=self.agent_id, status_text=text)
        self._send(status_post(self.agent_id, self.owner, self._terms(), self.clock.now(), update))

    def post(self, agent_id: AgentId, text: str, *, silent: bool = False) -> None:
        """Put a system message into another agent's inbox, with this agent as its origin."""
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
            raise UsageError("this agent is no subagent: it has no parent to tell")
        return self.terms


def _filled(text: str, name: str) -> str:
    cleaned = clean_text(text).strip()
    if not cleaned:
        raise UsageError(f"{name}: it is empty")
    return cleaned


class Hooks:
    """Runs the hooks of a plan; nobody asks it for a plan without any."""

    def __init__(self, trees: FileTrees, clock: Clock, limits: Limits) -> None:
        self._trees = trees
        self._clock = clock
        self._seconds = limits.hook_seconds

    async def begun(self, live: LiveAgent, hooks: HookSet) -> None:
        for hook in hooks.get("after_thread_created", ()):
            await _run(hook, self._context(live))

    async def taken(self, live: LiveAgent, hooks: HookSet, items: Sequence[Item]) -> Sequence[Item]:
        """What came in, as it is to be written down."""
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
        """What the model sees of the history in this request alone."""
        if "filter_messages" not in hooks:
            return live.context
        shown = [r for r in without_erased(live.history.records) if is_shown_to_model(r)]
        kept = await self._piped(live, hooks, "filter_messages", shown, _list_of(AnyRecord))
        return Context(kept, side=live.context.side)

    async def messages(
        self, live: LiveAgent, hooks: HookSet, messages: Sequence[ModelMessage]
    ) -> Sequence[ModelMessage]:
        """The request as the model gets it; raises `HookBlocked` when it must not."""
        return await self._piped(
            live, hooks, "prefilter_llm_history", list(messages), _list_of(ModelMessage)
        )

    async def response(self, live: LiveAgent, hooks: HookSet, completed: Completed) -> Completed:
        """The model's words as they are written down; what it called stays as it is."""
        return await _spoken(self._context(live), hooks, completed)

    async def result(
        self, live: LiveAgent, hooks: HookSet, call: CallPart, result: CallResult
    ) -> CallResult:
        """The call's result as it is written down; erased, it was never asked for."""
        await self.born(live, hooks, result.effects)
        if result.record is None:
            return result
        record = await _settled(self._context(live), hooks, call, result.record)
        if record.status == "erased":
            effects = result.effects._replace(handoff=(), departure=())
            return structs.replace(result, record=record, effects=effects)
        return structs.replace(result, record=record)

    async def born(self, live: LiveAgent, hooks: HookSet, effects: Effects) -> None:
        """Let hooks see the children that these effects create."""
        if "after_subagent_created" in hooks:
            for new in (*effects.creates, *(post.to for post in effects.items)):
                if isinstance(new, NewAgent):
                    await self._born(live, hooks, new)

    async def settled(
        self, live: LiveAgent, hooks: HookSet, records: Sequence[KnownRecord]
    ) -> list[KnownRecord]:
        """Results that calls waited for: they change what was open until now."""
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
        """These are on disk now."""
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
        """What a prompt that is called like a tool is told."""
        who = self._context_of(call)
        told: list[AnyRecord] = [await _created(who, hooks, said)]
        return await _piped(who, hooks, "filter_messages", told, _list_of(AnyRecord))

    async def request_within(
        self, call: CallContext, hooks: HookSet, system: str, messages: Sequence[ModelMessage]
    ) -> tuple[str, Sequence[ModelMessage]]:
        """The request of a prompt that is called like a tool; a block fails the call."""
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
        """The words of the model that a prompt which is called like a tool asked."""
        return await _spoken(self._context_of(call), hooks, completed)

    async def result_within(
        self, call: CallContext, hooks: HookSet, part: CallPart, record: ToolRecord
    ) -> ToolRecord:
        """The result of a call within a prompt that is called like a tool."""
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
    """The result as the hooks for its success or failure leave it; None erases it."""
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
    """Call it; gives `_Nothing`, which nobody accepts, when it failed."""
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
    logger.warning("a hook failed and is skipped", exc_info=reason, extra=facts)
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
        logger.warning("a hook gave something else than it was given and is skipped", extra=facts)
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
    """Take a record's words over, or a plain text; what else it is stays as it was."""

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
