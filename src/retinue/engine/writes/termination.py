"""Items that are withdrawn and agents that end, with everyone who has to hear of it."""

from collections.abc import Iterable, Sequence

from msgspec import structs

from retinue.agents.command import TerminateCommand, reaches_ended_agents
from retinue.agents.inbox import WITHDRAWN, Item
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.lineage.family_tree import ending_of
from retinue.engine.writes.turn import close_calls
from retinue.errors import TerminatedError
from retinue.ids import ItemId
from retinue.records import NoteRecord
from retinue.stores.port import Agent, AuditLine, Effects, FateChange


def withdrawn(draft: Draft, live: LiveAgent, withdrawals: Sequence[Item]) -> None:
    """Items end as cancelled; the turn goes on only if somebody else waits for it."""
    unwanted = {item.body.about for item in withdrawals}
    turn = draft.state.turn
    queued = [item.id for item in live.waiting if item.id in unwanted]
    running = [item for item in turn.items if item in unwanted] if turn else []
    seq: int | None = None
    if turn is not None and running:
        kept = [item for item in turn.items if item not in unwanted]
        if kept:
            turn = structs.replace(turn, items=kept)
        else:
            text = _withdrawn_by(withdrawals)
            close_calls(draft, live, "cancelled", text)
            seq = draft.add(NoteRecord(code="withdrawn", text=text)).seq
            turn = None
        draft.state = structs.replace(draft.state, turn=turn, updated_at=draft.at)
    draft.fates += [_cancelled(item, WITHDRAWN) for item in queued]
    draft.fates += [_cancelled(item, WITHDRAWN, seq) for item in running]
    draft.fates += [FateChange(item_id=item.id, fate="answered") for item in withdrawals]


def _withdrawn_by(withdrawals: Sequence[Item]) -> str:
    is_by_people = any(item.body.sender.type == "user" for item in withdrawals)
    return f"Withdrawn by the {'person' if is_by_people else 'agent'} that asked for it."


def ended(draft: Draft, live: LiveAgent, reason: str, children: Iterable[Agent]) -> None:
    """The agent takes no more messages; everything open ends, and its children end with it."""
    turn = draft.state.turn
    if turn is not None:
        close_calls(draft, live, "cancelled", "The agent was terminated.")
    note = draft.add(NoteRecord(code="terminated", text=f"Terminated: {reason}"))
    running = turn.items if turn else ()
    draft.fates += [_cancelled(item, "terminated", note.seq) for item in running]
    settled = {change.item_id for change in draft.fates}
    came_late(draft, [item for item in live.waiting if item.id not in settled])
    living = [child for child in children if child.lifecycle == "active"]
    draft.emit(
        Effects(
            notices=tuple(ending_of(live.id, child, draft.at) for child in living),
            audit=(AuditLine(action="terminate", detail={"reason": reason}),),
        )
    )
    draft.lifecycle = "terminated"
    draft.void_all("the agent was terminated")
    draft.state = structs.replace(draft.state, turn=None, deferred=[], updated_at=draft.at)


def came_late(draft: Draft, items: Iterable[Item]) -> None:
    """What was admitted while the agent ended ends with it; a few commands still apply."""
    for item in items:
        command = item.body.command
        if isinstance(command, TerminateCommand):
            draft.fates.append(FateChange(item_id=item.id, fate="answered"))
        elif command is None:
            draft.fates.append(_cancelled(item.id, "terminated"))
        elif not reaches_ended_agents(command):
            reason = "the agent ended"
            code = TerminatedError.code
            fate = FateChange(item_id=item.id, fate="refused", reason=reason, code=code)
            draft.fates.append(fate)


def _cancelled(item: ItemId, reason: str, seq: int | None = None) -> FateChange:
    return FateChange(item_id=item, fate="cancelled", reason=reason, reply_seq=seq)
