"""Calls whose results come later: what is written when they begin to wait, and when that ends."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import structs

from retinue.agents.inbox import Item, Sender
from retinue.agents.state import Suspension, Turn
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.calls.tool_call import closing
from retinue.engine.rules.messages import new_withdrawal
from retinue.ids import CallId
from retinue.records import CallPart, ToolRecord
from retinue.stores.port import Effects, FateChange, Post
from retinue.stores.request_port import Voiding
from retinue.tools.port import Pending

PUT_OFF = (
    "Nobody has decided about this yet: it is pending, not denied. You will be told the decision "
    "in a message of its own; go on with other work until then."
)
_REMEMBERED = 64  # withdrawn items; an answer that crosses the withdrawal comes within moments
HELD_BACK = "Not run: an earlier call of the same response waits for a decision."


def suspend(draft: Draft, call: CallPart, pending: Pending) -> None:
    """The call waits, and with it the items of its turn."""
    turn = _turn(draft)
    suspension = Suspension(
        call=call.id,
        reason=pending.reason,
        until=pending.until,
        at_timeout=pending.at_timeout,
        agent_id=pending.agent_id,
        item=pending.item,
        request=pending.request,
    )
    _replace(draft, turn, [*turn.suspended, suspension])
    draft.fates += [
        FateChange(item_id=item, fate="waiting", reason=pending.reason) for item in turn.items
    ]


def settled(draft: Draft, live: LiveAgent, items: Sequence[Item]) -> None:
    """Results for suspended calls; a call that was approved runs next instead."""
    turn = _turn(draft)
    approved = list(turn.approved)
    ended: set[CallId] = set()
    for item in items:
        answer = item.body.answer
        assert answer is not None  # these are answers
        seq = None
        if answer.call in ended:
            continue
        ended.add(answer.call)
        if answer.runs:
            approved.append(answer.call)
        else:
            record = closing(_call(live, answer.call), answer.status, answer.text)
            if item.body.files:
                record = structs.replace(record, files=item.body.files)
            if item.body.child is not None:
                record = structs.replace(record, agent=item.body.child.reference)
            seq = draft.add(_timed(draft, live, record)).seq
        grants = list(dict.fromkeys([*draft.state.grants, *answer.grants]))
        draft.state = structs.replace(draft.state, grants=grants)
        draft.fates.append(FateChange(item_id=item.id, fate="answered", reply_seq=seq))
    # Whatever a person decided about held all calls after it, so that none of them was begun.
    is_held = any(s.holds for s in turn.suspended if s.call in ended)
    turn = structs.replace(turn, approved=approved, calls_unbegun=turn.calls_unbegun or is_held)
    _replace(draft, turn, [s for s in turn.suspended if s.call not in ended])


def timed_out(draft: Draft, live: LiveAgent, suspended: Iterable[Suspension]) -> None:
    """Waiting is over for these; nothing is cancelled."""
    turn = _turn(draft)
    late = {suspension.call: suspension for suspension in suspended}
    for call, suspension in late.items():
        record = closing(_call(live, call), "pending", suspension.at_timeout)
        draft.add(_timed(draft, live, record))
    _replace(draft, turn, [s for s in turn.suspended if s.call not in late])


def put_off(draft: Draft, live: LiveAgent) -> None:
    """The turn goes on without the decisions; each comes as a message of its own."""
    turn = _turn(draft)
    for call in live.history.open_calls:
        if turn.is_suspended(call.id):
            draft.add(closing(call, "pending", PUT_OFF))
        else:
            draft.add(closing(call, "skipped", HELD_BACK))
    _replace(draft, turn, [])


def release(draft: Draft, live: LiveAgent, reason: str) -> None:
    """The turn ends early: what it waits for is no longer wanted."""
    turn = draft.state.turn
    if turn is None:
        return
    requests = [s.request for s in turn.suspended if s.request is not None]
    if requests:
        draft.emit(Effects(voids=(Voiding(reason=reason, requests=requests),)))
    withdrawn = [s.item for s in turn.suspended if s.item is not None]
    if withdrawn:
        unwanted = [*draft.state.unwanted, *withdrawn][-_REMEMBERED:]
        draft.state = structs.replace(draft.state, unwanted=unwanted)
    for suspension in turn.suspended:
        if suspension.agent_id is not None and suspension.item is not None:
            sender = Sender(type="agent", id=live.id)
            item = new_withdrawal(suspension.item, sender, draft.at)
            post = Post(to=suspension.agent_id, item=item, owner=live.owner, is_optional=True)
            draft.emit(Effects(notices=(post,)))
    unheard(draft, live, lambda item: any(s.is_settled_by(item) for s in turn.suspended))


def unheard(draft: Draft, live: LiveAgent, is_meant: Callable[[Item], bool]) -> None:
    """Answers that came too late for their calls begin no turn; what was granted stays granted."""
    ended = {change.item_id for change in draft.fates}
    for item in live.waiting:
        if item.id not in ended and is_meant(item):
            reason = "nobody waits for it any more"
            draft.fates.append(FateChange(item_id=item.id, fate="cancelled", reason=reason))
            grants = item.body.answer.grants if item.body.answer is not None else []
            held = list(dict.fromkeys([*draft.state.grants, *grants]))
            draft.state = structs.replace(draft.state, grants=held)


def discarded(draft: Draft, items: Sequence[Item]) -> None:
    """Nobody wants to know any more, and nobody is woken."""
    reason = "nobody waits for it any more"
    draft.fates += [FateChange(item_id=i.id, fate="cancelled", reason=reason) for i in items]


def _replace(draft: Draft, turn: Turn, suspended: list[Suspension]) -> None:
    if turn.suspended and not suspended:
        draft.fates += [FateChange(item_id=item, fate="running") for item in turn.items]
    draft.state = structs.replace(draft.state, turn=structs.replace(turn, suspended=suspended))


def _timed(draft: Draft, live: LiveAgent, record: ToolRecord) -> ToolRecord:
    asked_by = live.history.asked_by
    if asked_by is None:
        return record
    took = draft.at - asked_by.at
    return structs.replace(record, duration_ms=max(0, round(took.total_seconds() * 1000)))


def _call(live: LiveAgent, call: CallId) -> CallPart:
    return next(part for part in live.history.open_calls if part.id == call)


def _turn(draft: Draft) -> Turn:
    turn = draft.state.turn
    assert turn is not None  # calls belong to a turn
    return turn
