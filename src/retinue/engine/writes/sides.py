"""What is written when a side's turn or a whole run ends."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.rules.decision import EndRun
from retinue.engine.writes.turn import deliver, snippet
from retinue.records import FileReference, RunRecord, SystemRecord
from retinue.stores.port import FateChange
from retinue.text import clean_text


def switched(draft: Draft) -> None:
    """The other side acts from here on."""
    turn = draft.state.turn
    assert turn is not None
    turn = structs.replace(
        turn,
        side="side_b" if turn.side == "side_a" else "side_a",
        side_since=draft.next_seq,
        side_steps=0,
        turns=turn.turns + 1,
        model_index=0,
    )
    draft.state = structs.replace(draft.state, turn=turn)


def reminded(draft: Draft, text: str, *, is_dual: bool) -> None:
    """For the acting side alone."""
    turn = draft.state.turn
    assert turn is not None
    to = turn.side if is_dual else ""
    draft.add(SystemRecord(text=text, origin="system", to=to))


def run_ended(
    draft: Draft,
    live: LiveAgent,
    end: EndRun,
    files: Sequence[FileReference],
    connectors: Mapping[str, Any],
) -> None:
    """The result or the failure, the fates and the reply, together."""
    turn = draft.state.turn
    assert turn is not None
    text = clean_text(end.text)
    record = draft.add(
        RunRecord(
            outcome=end.outcome,
            code=end.code,
            text=text,
            files=list(files),
            turns=turn.turns,
            steps=turn.steps,
        )
    )
    is_complete = end.outcome == "completed"
    draft.fates += [
        FateChange(
            item_id=item,
            fate="answered" if is_complete else "failed",
            reason="" if is_complete else text,
            reply_seq=record.seq,
        )
        for item in turn.items
    ]
    draft.state = structs.replace(
        draft.state, turn=None, updated_at=draft.at, last_snippet=snippet(text)
    )
    deliver(draft, live, text, record.seq, connectors)
