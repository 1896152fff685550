"""The tools' part of a turn: run calls and commit each result with its effects."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.approvals import Approvals, needs_approval, spent
from retinue.engine.calls.tool_call import CallResult, ToolCalls, closing
from retinue.engine.feed.event_feed import Feed
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.decision import RunTools
from retinue.engine.rules.switching import departed
from retinue.engine.turn.committing import Committer
from retinue.engine.turn.completion import Completion
from retinue.engine.writes import turn as turn_writes
from retinue.errors import ConflictError, NotFoundError, RetinueError, TerminatedError
from retinue.events import ToolEvent
from retinue.failpoints import reach
from retinue.records import CallPart


class ToolBatches:
    """Runs calls: together where all of them are pure, else in order."""

    def __init__(
        self,
        *,
        committer: Committer,
        completion: Completion,
        setup: StepSetup,
        tooling: ToolCalls,
        approvals: Approvals,
        feed: Feed,
        hooks: Hooks,
    ) -> None:
        self._hooks = hooks
        self._committer = committer
        self._completion = completion
        self._setup = setup
        self._tooling = tooling
        self._approvals = approvals
        self._feed = feed

    async def run(self, live: LiveAgent, action: RunTools) -> None:
        try:
            config = self._setup.config(live)
        except RetinueError as error:
            await self._completion.fail(live, "definition", error.message)
            return
        tools = config.known
        allowed = action.calls[: self._setup.limits.calls_per_response]

        turn = live.state.turn
        if turn is not None and turn.calls_unbegun:
            draft = self._committer.draft(live)
            turn_writes.noted_unbegun(draft, False)
            await self._committer.commit(live, draft)

        def run(call: CallPart) -> Coroutine[Any, Any, CallResult]:
            return self._run(live, call, is_in_doubt=call is action.in_doubt)

        are_pure = len(allowed) > 1 and all(
            (tool := tools.get(c.name))
            and tool.effect == "pure"
            and not needs_approval(live, config, c)
            and c.name not in config.terminal
            for c in allowed
        )
        if are_pure:
            await self._run_together(live, config, allowed, run)
        else:
            for call in allowed:
                reach("tool:before")
                result = await self._committer.interruptibly(live, run(call), is_tool=True)
                reach("tool:after")
                if _ends_run(config, call, result):
                    later = action.calls[action.calls.index(call) + 1 :]
                    await self._commit_result(live, config, call, result, skipped=later)
                    return
                await self._commit_result(live, config, call, result)
                if live.has_commands or self._committer.is_stopping or _holds(result):
                    return
        if len(allowed) < len(action.calls):
            await self._skip(live, action.calls[len(allowed) :])

    async def _run(self, live: LiveAgent, call: CallPart, *, is_in_doubt: bool) -> CallResult:
        config = self._setup.config(live)  # for each call: rights may be gone since the last one
        tools = config.known
        if config.asks_first:
            asked = await self._approvals.ask(live, config, call, tools)
            if asked is not None:
                return asked
        live.has_begun_call = True
        show = self._progress(live, call)
        result = await self._tooling.run(
            live, config, call, tools=tools, is_in_doubt=is_in_doubt, show=show
        )
        if config.hooks is not None:
            result = await self._hooks.result(live, config.hooks, call, result)
        return spent(live, config, call, result)

    async def _run_together(
        self,
        live: LiveAgent,
        config: PromptConfig,
        calls: Sequence[CallPart],
        run: Callable[[CallPart], Awaitable[CallResult]],
    ) -> None:
        tasks = {asyncio.ensure_future(run(call)): call for call in calls}
        try:
            pending = set(tasks)
            while pending:
                done, pending = await self._committer.interruptibly(
                    live,
                    asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED),
                    is_tool=True,
                )
                reach("tool:after")
                for task in done:
                    await self._commit_result(live, config, tasks[task], task.result())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _commit_result(
        self,
        live: LiveAgent,
        config: PromptConfig,
        call: CallPart,
        result: CallResult,
        skipped: Sequence[CallPart] = (),
    ) -> None:
        draft = self._committer.draft(live)
        turn_writes.ran(draft, call, result)
        if result.effects.departure:
            departed(draft, live, result.effects.departure[-1])
        for later in skipped:
            draft.add(closing(later, "skipped", f"Not run: {call.name} ended the run before it."))
        try:
            await self._committer.commit(live, draft, "result")
        except (NotFoundError, TerminatedError, ConflictError) as error:
            # What the tool asked for cannot be done, so none of it is: the model is told.
            draft = self._committer.draft(live)
            refused = closing(call, "error", error.message)
            turn_writes.ran(draft, call, CallResult(record=refused, effects=result.effects.costs))
            await self._committer.commit(live, draft, "result")
        live.has_begun_call = False
        if config.hooks is not None:
            await self._hooks.told(live, config.hooks, draft.records)

    async def _skip(self, live: LiveAgent, calls: Sequence[CallPart]) -> None:
        draft = self._committer.draft(live)
        most = self._setup.limits.calls_per_response
        for call in calls:
            text = f"Not run: at most {most} calls of one response are."
            draft.add(closing(call, "skipped", text))
        await self._committer.commit(live, draft, "result")

    def _progress(self, live: LiveAgent, call: CallPart) -> Callable[[str], None]:
        feed = self._feed

        def show(text: str) -> None:
            if feed.is_heard(live.owner, live.id):
                event = ToolEvent(
                    agent_id=live.id, call=call.id, name=call.name, state="progress", text=text
                )
                feed.live(live.owner, live.id, event)

        if feed.is_heard(live.owner, live.id):
            started = ToolEvent(agent_id=live.id, call=call.id, name=call.name, state="started")
            feed.live(live.owner, live.id, started)
        return show


def _holds(result: CallResult) -> bool:
    """Whether a person must decide before later calls may run."""
    return result.pending is not None and result.pending.reason != "child"


def _ends_run(config: PromptConfig, call: CallPart, result: CallResult) -> bool:
    record = result.record
    return call.name in config.terminal and record is not None and record.status == "ok"
