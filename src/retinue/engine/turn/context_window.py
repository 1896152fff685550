"""Making room in the context: a summary by a model, or whole exchanges dropped without one."""

import logging

from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.model_stream import ask
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.context_policy import pruned_text, summary_request
from retinue.engine.rules.context_room import ContextRoom, Pruning, Summing
from retinue.engine.turn.committing import Committer
from retinue.engine.turn.completion import Completion
from retinue.engine.writes import turn as turn_writes
from retinue.errors import RetinueError
from retinue.records import SummaryRecord, TextPart
from retinue.stores.port import FateChange

logger = logging.getLogger(__name__)


class ContextWindow:
    """Sums up and prunes."""

    def __init__(
        self, *, committer: Committer, completion: Completion, setup: StepSetup, room: ContextRoom
    ) -> None:
        self._completion = completion
        self._committer = committer
        self._setup = setup
        self._room = room

    async def compact(
        self, live: LiveAgent, reason: Summing, command: FateChange | None = None
    ) -> bool:
        """Sum up; the fate of the command that asked for it is committed with the summary."""
        records = live.history.records
        keep_from = self._room.kept_from(live, reason)
        if keep_from is None:
            return False
        before = self._room.estimate(live)
        commit = self._completion.commit_now if reason == "command" else self._completion.commit
        draft = self._committer.draft(live)
        try:
            config = self._setup.config(live)
            model, _ = await self._setup.model(live, config)
            completed = await self._committer.interruptibly(
                live, ask(model, summary_request(records, keep_from, config.options), None)
            )
        except RetinueError as error:
            logger.warning("compaction failed", extra={"agent_id": live.id, "error": error.message})
            turn_writes.compaction_failed(draft)
            await commit(live, draft, "summary")
            return False
        text = "".join(part.text for part in completed.parts if isinstance(part, TextPart))
        draft = self._committer.draft(live)
        if not text.strip():
            logger.warning("compaction gave no summary", extra={"agent_id": live.id})
            turn_writes.compaction_failed(draft)
            await commit(live, draft, "summary")
            return False
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
        await commit(live, draft, "summary")
        return True

    async def prune(self, live: LiveAgent, reason: Pruning) -> None:
        keep_from = self._room.pruned_to(live, reason)
        assert keep_from is not None
        draft = self._committer.draft(live)
        summary = SummaryRecord(
            text=pruned_text(live.history.records, self._room.room(live)),
            keep_from=keep_from,
            reason=reason,
            tokens_before=self._room.estimate(live),
        )
        turn_writes.summarised(draft, summary)
        await self._committer.commit(live, draft, "summary")
