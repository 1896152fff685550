"""Ending items and turns: the outcome is written together with everyone who has to hear of it.

Whatever gives an item its final fate completes its draft here before it is committed. The committer
refuses a draft that was not completed, so that no path can end an item without its notices.
"""

from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.turn.child_registry import follow_children
from retinue.engine.turn.committing import Committer
from retinue.engine.turn.completion_notices import Reporter
from retinue.engine.writes import turn as turn_writes
from retinue.stores.port import Effects


class Completion:
    """Adds to a draft what follows from the ends that it writes."""

    def __init__(self, *, committer: Committer, reporter: Reporter) -> None:
        self._committer = committer
        self._reporter = reporter

    async def complete(self, live: LiveAgent, draft: Draft) -> Draft:
        """Add the notices about ended items, and the end of an agent that was for one run."""
        if live.has_listeners and (draft.fates or draft.lifecycle is not None):
            if live.state.children:
                follow_children(live, draft)
            draft.emit(Effects(notices=tuple(await self._reporter.reports(live, draft))))
            draft.is_completed = True
        return draft

    async def commit(self, live: LiveAgent, draft: Draft, name: str) -> None:
        await self._committer.commit(live, await self.complete(live, draft), name)

    async def commit_now(self, live: LiveAgent, draft: Draft, name: str) -> None:
        """Commit what can be asked for again. Raises `StoreFullError`: then nothing happened."""
        await self._committer.commit_now(live, await self.complete(live, draft), name)

    async def fail(self, live: LiveAgent, code: str, reason: str) -> None:
        """End the turn without an answer."""
        draft = self._committer.draft(live)
        turn_writes.failed(draft, live, code, reason, self._committer.connectors)
        await self.commit(live, draft, "fail")
