"""Making room in the context: a summary by a model, or whole exchanges dropped without one."""

import logging
from typing import Literal

from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.model_stream import ask
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.context_policy import (
    command_cut,
    compaction_cut,
    prune_cut,
    pruned_text,
    record_tokens,
    summary_request,
)
from retinue.engine.turn.committing import Committer
from retinue.engine.writes import turn as turn_writes
from retinue.errors import RetinueError
from retinue.records import SummaryRecord, TextPart
from retinue.stores.port import FateChange

logger = logging.getLogger(__name__)

Summing = Literal["warning", "critical", "command"]
Pruning = Literal["emergency", "overflow"]


class ContextWindow:
    """Sums up and prunes."""

    def __init__(self, *, committer: Committer, setup: StepSetup) -> None:
        self._committer = committer
        self._setup = setup

    def can_compact(self, live: LiveAgent) -> bool:
        """There is something old enough to sum up, and the last try here did not fail."""
        if live.compaction_failed_at >= live.next_seq:
            return False
        return self._kept_from(live, "critical") is not None

    def can_prune(self, live: LiveAgent, reason: Pruning = "emergency") -> bool:
        return self._pruned_to(live, reason) is not None

    def _kept_from(self, live: LiveAgent, reason: Summing) -> int | None:
        records = live.history.records
        if reason == "command":
            return command_cut(records)
        return compaction_cut(records, self._setup.room(live))

    def _pruned_to(self, live: LiveAgent, reason: Pruning) -> int | None:
        records = live.history.records
        room = self._setup.room(live)
        if reason == "overflow":  # our own figures were wrong: less than there is now
            room = min(room, sum(map(record_tokens, records)))
        return prune_cut(records, room)

    def is_needed(self, live: LiveAgent) -> bool:
        """Before a model call: the context is too full, and something can be done about it."""
        match self._setup.pressure(live):
            case "full":
                return self.can_prune(live) or self.can_compact(live)
            case "critical":
                return self.can_compact(live)
            case _:
                return False

    async def compact(
        self, live: LiveAgent, reason: Summing, command: FateChange | None = None
    ) -> bool:
        """Sum up; the fate of the command that asked for it is committed with the summary."""
        records = live.history.records
        keep_from = self._kept_from(live, reason)
        if keep_from is None:
            return False
        before = self._setup.estimate(live)
        try:
            if self._setup.is_stale:
                await self._setup.refresh()
            config = self._setup.config(live)
            model, _ = await self._setup.model(live, config)
            completed = await self._committer.interruptibly(
                live, ask(model, summary_request(records, keep_from, config.options), None)
            )
        except RetinueError as error:
            logger.warning("compaction failed", extra={"agent_id": live.id, "error": error.message})
            live.compaction_failed_at = live.next_seq
            return False
        text = "".join(part.text for part in completed.parts if isinstance(part, TextPart))
        if not text.strip():
            logger.warning("compaction gave no summary", extra={"agent_id": live.id})
            live.compaction_failed_at = live.next_seq
            return False
        draft = self._committer.draft(live)
        summary = SummaryRecord(
            text=text,
            keep_from=keep_from,
            reason=reason,
            model=model.name,
            usage=completed.usage,
            tokens_before=before,
        )
        turn_writes.summarised(draft, summary)
        draft.fates += [command] if command is not None else []
        commit = self._committer.commit_now if reason == "command" else self._committer.commit
        await commit(live, draft, "summary")
        return True

    async def prune(self, live: LiveAgent, reason: Pruning) -> None:
        keep_from = self._pruned_to(live, reason)
        assert keep_from is not None
        draft = self._committer.draft(live)
        summary = SummaryRecord(
            text=pruned_text(live.history.records, self._setup.room(live)),
            keep_from=keep_from,
            reason=reason,
            tokens_before=self._setup.estimate(live),
        )
        turn_writes.summarised(draft, summary)
        await self._committer.commit(live, draft, "summary")
