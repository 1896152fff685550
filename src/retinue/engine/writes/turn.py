"""What each step writes: pure functions that put a commit together."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from msgspec import UNSET, structs

from retinue.agents.command import AgentPatch
from retinue.agents.inbox import Item, Trail, without_context_line
from retinue.agents.state import AgentState, PromptSize, TokenSnapshot, Turn
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.calls.tool_call import UNKNOWN_AT_THE_END, CallResult, closing
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.rules.decision import calls_in_doubt
from retinue.engine.rules.retrying import TryAgain
from retinue.engine.rules.stopping import stop_text
from retinue.engine.rules.switching import destinations
from retinue.engine.writes.suspension import release, suspend, unheard
from retinue.errors import ModelError
from retinue.ids import CallId, new_call_id
from retinue.models.port import Completed
from retinue.records import (
    AssistantRecord,
    CallPart,
    KnownRecord,
    ModelUsage,
    NoteRecord,
    Part,
    ResetRecord,
    SummaryRecord,
    SystemRecord,
    TextPart,
    ToolStatus,
    UserRecord,
)
from retinue.stores.port import AuditLine, Effects, FateChange, NewDelivery
from retinue.text import clean_text

_SNIPPET_CHARACTERS = 120
_STEPS_WITHOUT_CRASH = 5


def record_of(item: Item) -> KnownRecord:
    body = item.body
    if item.kind == "message":
        return UserRecord(
            item=item.id,
            text=body.text,
            files=body.files,
            sender=body.sender.id,
            to="" if body.to_side == "side_a" else body.to_side,
        )
    origin = body.sender.id or "system"
    return SystemRecord(
        item=item.id,
        text=body.text,
        origin=origin,
        silent=item.silent,
        files=body.files,
        to=body.to_side if body.child is not None or body.to_side != "side_a" else "",
    )


def drained(draft: Draft, items: Sequence[Item]) -> None:
    """Items become history. Silent ones end here: to be recorded is all they ask for."""
    turn = draft.state.turn
    running = [item.id for item in items if not item.silent]
    if turn is None and running:
        turn = Turn(
            items=running,
            first_seq=draft.next_seq,
            is_delegated=any(item.is_delegated for item in items),
            side=next(item.body.to_side for item in items if not item.silent),
        )
    elif turn is not None and running:
        turn = structs.replace(turn, items=[*turn.items, *running], attempt=0)
        if not turn.retry_is_asked:
            turn = structs.replace(turn, model_index=0, retry_at=None)
    if turn is not None and running:
        turn = structs.replace(turn, trail=trail_of(turn.trail, items))
    for item in items:
        seq = draft.add(record_of(item)).seq
        fate = "answered" if item.silent else "running"
        draft.fates.append(
            FateChange(item_id=item.id, fate=fate, reply_seq=seq if item.silent else None)
        )
    spoken = [item for item in items if item.is_from_person and not item.silent]
    draft.state = structs.replace(
        with_decisions(draft.state, items),
        turn=turn,
        updated_at=draft.at,
        active_at=draft.at if running else draft.state.active_at,
        last_user_activity_at=spoken[-1].admitted_at
        if spoken
        else draft.state.last_user_activity_at,
        last_snippet=snippet(spoken[-1].body.text) if spoken else draft.state.last_snippet,
        title=draft.state.title or (snippet(spoken[0].body.text) or None if spoken else None),
    )


def trail_of(trail: Trail | None, items: Sequence[Item]) -> Trail | None:
    """How a turn came about: whoever waits for any of its items; a person's words end the hops."""
    trails = [item.body.trail for item in items if item.body.trail is not None]
    if not trails and trail is None:
        return None
    trails = [trail, *trails] if trail is not None else trails
    waiting = dict(chain.from_iterable(zip(t.agents, t.definitions, strict=True) for t in trails))
    is_spoken_to = any(item.is_from_person for item in items)
    return Trail(
        agents=list(waiting),
        definitions=list(waiting.values()),
        hops=0 if is_spoken_to else max(t.hops for t in trails),
    )


def with_decisions(state: AgentState, items: Sequence[Item]) -> AgentState:
    """Apply what people decided: it came too late for the calls that asked, not for the agent."""
    for item in items:
        answer = item.body.answer
        if answer is None:
            continue
        if answer.grants or answer.approves:
            state = structs.replace(
                state,
                grants=list(dict.fromkeys([*state.grants, *answer.grants])),
                approvals=list(dict.fromkeys([*state.approvals, *answer.approves])),
            )
        if state.deferred:
            deferred = [one for one in state.deferred if one.id != answer.request]
            state = structs.replace(state, deferred=deferred)
    return state


def responded(
    draft: Draft,
    config: PromptConfig,
    completed: Completed,
    *,
    model: str,
    estimated: int,
    duration_ms: int,
    size: PromptSize,
) -> AssistantRecord:
    """The response and the intent of its calls, in one commit, before any of them runs."""
    turn = draft.state.turn
    assert turn is not None  # a response belongs to a turn
    record = AssistantRecord(
        parts=_with_own_ids(completed.parts),
        side=turn.side if config.is_dual else "",
        model=model,
        usage=completed.usage,
        finish=completed.finish,
        duration_ms=duration_ms,
        provider=dict(completed.provider) if completed.provider else None,
    )
    said = stop_text(config.side, record.calls) if config.side.stop_tool is not None else None
    if said is not None:
        parts: list[Part] = [p for p in record.parts if not isinstance(p, TextPart)]
        record = structs.replace(record, parts=[TextPart(text=said), *parts])
    record = draft.add(record)
    state, usage = draft.state, completed.usage
    tokens = state.tokens
    if usage is not None and usage.input:
        reported = usage.input + usage.cache_read + usage.cache_write
        tokens = TokenSnapshot(model=model, reported=reported, estimated=estimated)
    turn = structs.replace(
        turn,
        steps=turn.steps + 1,
        side_steps=turn.side_steps + 1,
        attempt=0,
        retry_at=None,
        approved=[],
        calls_epoch=draft.epoch,
    )
    draft.state = structs.replace(state, turn=turn, tokens=tokens, prompt_size=size)
    if usage is not None:
        draft.emit(Effects(usages=((model, usage),)))
    return record


def blocked(draft: Draft, config: PromptConfig, text: str) -> AssistantRecord:
    """A hook's words instead of a model's."""
    assert draft.state.turn is not None
    said = clean_text(text).strip() or "This was blocked."
    side = draft.state.turn.side if config.is_dual else ""
    return draft.add(
        AssistantRecord(parts=[TextPart(text=said)], model="", finish="blocked", side=side)
    )


def cut_off(said: Sequence[Part], *, model: str, duration_ms: int) -> AssistantRecord:
    """Make a record of what a person saw before they stopped it."""
    return AssistantRecord(
        parts=list(said), model=model, finish="cancelled", duration_ms=duration_ms
    )


def _with_own_ids(parts: Sequence[Part]) -> list[Part]:
    """Give a call whose id is missing or taken in this response one of its own."""
    taken: set[CallId] = set()
    result: list[Part] = []
    for part in parts:
        if isinstance(part, CallPart):
            if not part.id or part.id in taken:
                part = structs.replace(part, id=new_call_id())
            taken.add(part.id)
        result.append(part)
    return result


def ran(draft: Draft, call: CallPart, result: CallResult) -> None:
    """One result, or that it is pending, with everything that the call did."""
    record, effects = result.record, result.effects
    if record is not None and effects.children:
        record = structs.replace(record, agent=effects.children[0].reference)
    if record is not None and effects.usages:
        asked = [ModelUsage(model=model, usage=usage) for model, usage in effects.usages]
        record = structs.replace(record, asked=asked)
    if record is not None:
        draft.add(record)
    if result.pending is not None:
        suspend(draft, call, result.pending)
    if draft.state.turn is not None:
        turn = structs.replace(draft.state.turn, calls_epoch=draft.epoch)
        draft.state = structs.replace(draft.state, turn=turn)
    draft.emit(effects)


def retrying(draft: Draft, error: ModelError, again: TryAgain) -> None:
    """The failure and when the call is due again; survives a restart."""
    turn = draft.state.turn
    assert turn is not None
    draft.add(NoteRecord(code="retrying", text=clean_text(error.message), until=again.at))
    draft.state = structs.replace(
        draft.state,
        turn=structs.replace(
            turn,
            attempt=again.attempt,
            model_index=again.model_index,
            retry_at=again.at if again.at > draft.at else None,
            retry_is_asked=again.is_asked,
        ),
    )


def due_again(draft: Draft) -> None:
    """The wait before another try is over: from here on the turn runs, and is seen to."""
    turn = draft.state.turn
    assert turn is not None
    turn = structs.replace(turn, retry_at=None, retry_is_asked=False)
    draft.state = structs.replace(draft.state, turn=turn)


def summarised(draft: Draft, summary: SummaryRecord) -> None:
    draft.add(summary)
    draft.context_from = summary.keep_from
    turn = draft.state.turn
    if turn is not None and summary.reason == "overflow":
        turn = structs.replace(turn, overflowed=True, overflow="")
    draft.state = structs.replace(draft.state, tokens=None, turn=turn)
    if summary.model and summary.usage is not None:
        draft.emit(Effects(usages=((summary.model, summary.usage),)))


def compaction_failed(draft: Draft) -> None:
    """Not tried again before something else has happened."""
    draft.state = structs.replace(draft.state, compaction_failed_at=draft.next_seq)


def overflowed(draft: Draft, error: ModelError) -> None:
    """The provider refused the context: what follows from that is decided next."""
    turn = draft.state.turn
    assert turn is not None
    turn = structs.replace(turn, overflow=error.message or error.code, attempt=0, retry_at=None)
    draft.state = structs.replace(draft.state, turn=turn)


def measured(draft: Draft, size: PromptSize) -> None:
    """The request that is due leaves less room than was known."""
    draft.state = structs.replace(draft.state, prompt_size=size)


def answered(
    draft: Draft, live: LiveAgent, answer: AssistantRecord, connectors: Mapping[str, Any]
) -> None:
    """The outcome, the reply to deliver and the fates, together."""
    turn = draft.state.turn
    assert turn is not None
    draft.fates += [
        FateChange(item_id=item, fate="answered", reply_seq=answer.seq) for item in turn.items
    ]
    text = answer.text
    draft.state = structs.replace(
        draft.state, turn=None, updated_at=draft.at, last_snippet=snippet(text)
    )
    deliver(draft, live, text, answer.seq, connectors)


def failed(
    draft: Draft, live: LiveAgent, code: str, reason: str, connectors: Mapping[str, Any]
) -> None:
    """The turn ends without an answer: every item fails, and the reply says what happened."""
    turn = draft.state.turn
    assert turn is not None
    open_calls = [c for c in live.history.open_calls if not turn.is_suspended(c.id)]
    in_doubt = open_calls[:1] if calls_in_doubt(turn, live.epoch) else ()
    for call in in_doubt:
        draft.add(closing(call, "unknown", UNKNOWN_AT_THE_END))
    for call in live.history.open_calls:
        if call not in in_doubt:
            draft.add(closing(call, "cancelled", "The turn ended before this call had a result."))
    release(draft, live, "the turn failed")
    reason = clean_text(reason)
    text = f"This could not be answered: {reason}"
    seq = draft.add(NoteRecord(code=code, text=text)).seq
    draft.fates += [
        FateChange(item_id=item, fate="failed", reason=reason, reply_seq=seq) for item in turn.items
    ]
    draft.state = structs.replace(draft.state, turn=None, updated_at=draft.at)
    deliver(draft, live, text, seq, connectors)


def is_stopped_by(live: LiveAgent, command: Item) -> bool:
    """Whether a turn is running that does not consist of later messages alone."""
    turn = live.state.turn
    if turn is None:
        return False
    items = [live.running[item] for item in turn.items if item in live.running]
    return not items or any(item.seq < command.seq for item in items)


def stopped(draft: Draft, live: LiveAgent, gathered: Sequence[Item]) -> None:
    """A person ended the turn: what it said so far stays, and so does the queue.

    Messages that were still being gathered are recorded, as they would be a moment later.
    """
    if gathered:
        drained(draft, gathered)
    turn = draft.state.turn
    assert turn is not None
    if live.cut_off is not None:
        draft.add(live.cut_off)
    close_calls(draft, live, "cancelled", "Stopped by the user.")
    seq = draft.add(NoteRecord(code="stopped", text="Stopped by the user.")).seq
    draft.fates = [change for change in draft.fates if change.item_id not in turn.items]
    draft.fates += [
        FateChange(item_id=item, fate="cancelled", reason="stopped", reply_seq=seq)
        for item in turn.items
    ]
    draft.state = structs.replace(draft.state, turn=None, updated_at=draft.at)


def is_reset(live: LiveAgent) -> bool:
    """Whether nothing has come or happened since the last marker, so that another says nothing."""
    records = live.history.records
    is_marked = bool(records) and isinstance(records[-1], ResetRecord)
    has_messages = any(item.kind != "command" for item in live.waiting)
    return is_marked and live.state.turn is None and not has_messages


def was_reset(draft: Draft, live: LiveAgent, command: Item, reason: str) -> None:
    """The marker; the running turn and what people queued before the command are cancelled."""
    turn = draft.state.turn
    if turn is not None:
        close_calls(draft, live, "cancelled", "The conversation was reset.")
    seq = draft.add(ResetRecord(reason=reason)).seq
    dropped = [item.id for item in live.waiting if item.is_user_input and item.seq < command.seq]
    draft.fates += [
        FateChange(item_id=item, fate="cancelled", reason="reset")
        for item in [*(turn.items if turn else ()), *dropped]
    ]
    unheard(
        draft, live, lambda item: item.body.answer is not None and bool(item.body.answer.request)
    )
    draft.void_all("the conversation was reset")
    draft.context_from = seq
    draft.emit(Effects(audit=(AuditLine(action="reset", detail={"reason": reason}),)))
    draft.state = structs.replace(
        draft.state,
        turn=None,
        deferred=[],
        approvals=[],
        tokens=None,
        title=None,
        last_snippet=None,
        updated_at=draft.at,
    )


def close_calls(draft: Draft, live: LiveAgent, status: ToolStatus, text: str) -> None:
    for call in live.history.open_calls:
        draft.add(closing(call, status, text))
    release(draft, live, text)


def taken_up(draft: Draft, items: Sequence[Item]) -> None:
    """These change what the agent knows of others, and nothing else."""
    draft.fates += [FateChange(item_id=item.id, fate="answered") for item in items]


def crashed(draft: Draft) -> None:
    """A process died in this turn; counted first, so that the count survives the next death.

    Only a turn that got on well since the last death begins to count anew: one whose tool kills
    the process each time takes a step or two in between.
    """
    turn = draft.state.turn
    assert turn is not None
    is_unrelated = turn.steps - turn.crashed_at_step >= _STEPS_WITHOUT_CRASH
    crashes = 1 if is_unrelated else turn.crashes + 1
    turn = structs.replace(turn, crashes=crashes, crashed_at_step=turn.steps, on_trial=False)
    draft.state = structs.replace(draft.state, turn=turn)


def tried(draft: Draft, *, on_trial: bool) -> None:
    """From here on the next death is this turn's, or is not."""
    turn = draft.state.turn
    assert turn is not None
    draft.state = structs.replace(draft.state, turn=structs.replace(turn, on_trial=on_trial))


def noted_unbegun(draft: Draft, are_unbegun: bool) -> None:
    """The open calls are known not to have been begun, or may be from here on."""
    turn = draft.state.turn
    assert turn is not None
    turn = structs.replace(turn, calls_unbegun=are_unbegun, calls_epoch=draft.epoch)
    draft.state = structs.replace(draft.state, turn=turn)


def call_broken_off(draft: Draft) -> None:
    """The first open call was begun, and its end was not seen."""
    turn = draft.state.turn
    assert turn is not None
    turn = structs.replace(turn, calls_epoch=0, calls_unbegun=False)
    draft.state = structs.replace(draft.state, turn=turn)


def patched(draft: Draft, patch: AgentPatch) -> None:
    changes: dict[str, Any] = {"updated_at": draft.at}
    if patch.name is not UNSET:
        changes["name"] = patch.name or None
    if patch.pinned is not UNSET:
        changes["pinned_at"] = draft.at if patch.pinned else None
    if patch.attributes is not UNSET:
        changes["attributes"] = merged(draft.state.attributes, patch.attributes)
    if patch.model is not UNSET:
        changes["model"] = patch.model or None
    if patch.env is not UNSET:
        changes["env"] = merged(draft.state.env, patch.env)
    draft.state = structs.replace(draft.state, **changes)


def merged(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Merge deeply; None deletes, lists replace."""
    result = dict(old)
    for key, value in patch.items():
        before = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(before, dict):
            result[key] = merged(before, value)  # pyright: ignore[reportUnknownArgumentType]
        else:
            result[key] = value
    return result


def snippet(text: str) -> str:
    line = " ".join(without_context_line(text).split())
    return line if len(line) <= _SNIPPET_CHARACTERS else f"{line[: _SNIPPET_CHARACTERS - 1]}…"


def deliver(
    draft: Draft, live: LiveAgent, text: str, seq: int, connectors: Mapping[str, Any]
) -> None:
    if not connectors or not text:
        return
    for number, (connector, channel) in enumerate(destinations(live, connectors)):
        key = f"{live.id}/{seq}/{number}" if number else f"{live.id}/{seq}"
        out = NewDelivery(key=key, connector=connector, channel=channel, text=text)
        draft.emit(Effects(deliveries=(out,)))


def due_in(at: datetime, now: datetime) -> float:
    return max(0.0, (at - now).total_seconds())
