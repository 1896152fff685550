"""Making room in the context: a summary by a model, or whole exchanges dropped without one."""

import logging
from typing import Literal

from retinue.engine import steps
from retinue.engine.asking import ask
from retinue.engine.committing import Committer
from retinue.engine.compaction import (
    command_cut,
    compaction_cut,
    prune_cut,
    pruned_text,
    record_tokens,
    summary_request,
)
from retinue.engine.equipment import Equipment
from retinue.engine.warm import Warm
from retinue.errors import RetinueError
from retinue.messages import SummaryRecord, TextPart

logger = logging.getLogger(__name__)

Summing = Literal["warning", "critical", "command"]
Pruning = Literal["emergency", "overflow"]


class RoomMaker:
    """Sums up and prunes."""

    def __init__(self, *, committer: Committer, equipment: Equipment) -> None:
        self._committer = committer
        self._equipment = equipment

    def can_compact(self, warm: Warm) -> bool:
        """There is something old enough to sum up, and the last try here did not fail."""
        if warm.compaction_failed_at >= warm.next_seq:
            return False
        return self._kept_from(warm, "critical") is not None

    def can_prune(self, warm: Warm, reason: Pruning = "emergency") -> bool:
        return self._pruned_to(warm, reason) is not None

    def _kept_from(self, warm: Warm, reason: Summing) -> int | None:
        records = warm.history.records
        if reason == "command":
            return command_cut(records)
        return compaction_cut(records, self._equipment.room(warm))

    def _pruned_to(self, warm: Warm, reason: Pruning) -> int | None:
        records = warm.history.records
        room = self._equipment.room(warm)
        if reason == "overflow":  # our own figures were wrong: less than there is now
            room = min(room, sum(map(record_tokens, records)))
        return prune_cut(records, room)

    def is_needed(self, warm: Warm) -> bool:
        """Before a model call: the context is too full, and something can be done about it."""
        match self._equipment.pressure(warm):
            case "full":
                return self.can_prune(warm) or self.can_compact(warm)
            case "critical":
                return self.can_compact(warm)
            case _:
                return False

    async def compact(self, warm: Warm, reason: Summing) -> bool:
        records = warm.history.records
        keep_from = self._kept_from(warm, reason)
        if keep_from is None:
            return False
        before = self._equipment.estimate(warm)
        try:
            if self._equipment.is_stale:
                await self._equipment.refresh()
            plan = self._equipment.plan(warm)
            model, _ = await self._equipment.model(warm, plan)
            completed = await self._committer.interruptibly(
                warm, ask(model, summary_request(records, keep_from), None)
            )
        except RetinueError as error:
            logger.warning("compaction failed", extra={"agent_id": warm.id, "error": error.message})
            warm.compaction_failed_at = warm.next_seq
            return False
        text = "".join(part.text for part in completed.parts if isinstance(part, TextPart))
        if not text.strip():
            logger.warning("compaction gave no summary", extra={"agent_id": warm.id})
            warm.compaction_failed_at = warm.next_seq
            return False
        draft = self._committer.draft(warm)
        summary = SummaryRecord(
            text=text,
            keep_from=keep_from,
            reason=reason,
            model=model.name,
            usage=completed.usage,
            tokens_before=before,
        )
        steps.summarised(draft, summary)
        commit = self._committer.commit_now if reason == "command" else self._committer.commit
        await commit(warm, draft, "summary")
        return True

    async def prune(self, warm: Warm, reason: Pruning) -> None:
        keep_from = self._pruned_to(warm, reason)
        assert keep_from is not None
        draft = self._committer.draft(warm)
        summary = SummaryRecord(
            text=pruned_text(warm.history.records, self._equipment.room(warm)),
            keep_from=keep_from,
            reason=reason,
            tokens_before=self._equipment.estimate(warm),
        )
        steps.summarised(draft, summary)
        await self._committer.commit(warm, draft, "summary")
