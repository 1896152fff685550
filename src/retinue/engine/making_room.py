"""Making room in the context: a summary by a model, or whole exchanges dropped without one."""

import logging
from typing import Literal

from retinue.engine import steps
from retinue.engine.asking import ask
from retinue.engine.committing import Committer
from retinue.engine.compaction import PRUNED, compaction_cut, prune_cut, summary_request
from retinue.engine.equipment import Equipment
from retinue.engine.warm import Warm
from retinue.errors import RetinueError
from retinue.messages import SummaryRecord, TextPart

logger = logging.getLogger(__name__)


class RoomMaker:
    """Sums up and prunes."""

    def __init__(self, *, committer: Committer, equipment: Equipment) -> None:
        self._committer = committer
        self._equipment = equipment

    def can_compact(self, warm: Warm) -> bool:
        """There is something old enough to sum up, and the last try here did not fail."""
        if warm.compaction_failed_at >= warm.next_seq:
            return False
        return compaction_cut(warm.history.records, self._equipment.limit(warm)) is not None

    def can_prune(self, warm: Warm) -> bool:
        return prune_cut(warm.history.records, self._equipment.limit(warm)) is not None

    def is_needed(self, warm: Warm) -> bool:
        """Before a model call: the context is too full, and something can be done about it."""
        match self._equipment.pressure(warm):
            case "full":
                return self.can_prune(warm) or self.can_compact(warm)
            case "critical":
                return self.can_compact(warm)
            case _:
                return False

    async def compact(self, warm: Warm, reason: Literal["warning", "critical", "command"]) -> bool:
        records = warm.history.records
        keep_from = compaction_cut(records, self._equipment.limit(warm))
        if keep_from is None:
            return False
        before = self._equipment.estimate(warm)
        try:
            plan = await self._equipment.plan(warm)
            model, _ = await self._equipment.model(warm, plan)
            completed = await self._committer.interruptibly(
                warm, ask(model, summary_request(records, keep_from), None)
            )
        except RetinueError as error:
            logger.warning("compaction failed", extra={"agent_id": warm.id, "error": error.message})
            warm.compaction_failed_at = warm.next_seq
            return False
        text = "".join(part.text for part in completed.parts if isinstance(part, TextPart))
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
        await self._committer.commit(warm, draft, "summary")
        return True

    async def prune(self, warm: Warm, reason: Literal["emergency", "overflow"]) -> None:
        limit = self._equipment.limit(warm)
        if reason == "overflow":
            limit = min(limit, self._equipment.estimate(warm))
        keep_from = prune_cut(warm.history.records, limit)
        assert keep_from is not None
        draft = self._committer.draft(warm)
        summary = SummaryRecord(
            text=PRUNED,
            keep_from=keep_from,
            reason=reason,
            tokens_before=self._equipment.estimate(warm),
        )
        steps.summarised(draft, summary)
        await self._committer.commit(warm, draft, "summary")
