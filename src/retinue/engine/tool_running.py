"""The tools' part of a turn: run calls and commit each result with its effects."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any

from retinue.engine import steps
from retinue.engine.actions import RunTools
from retinue.engine.approving import Approvals, needs_approval, spent
from retinue.engine.committing import Committer
from retinue.engine.equipment import Equipment
from retinue.engine.feed import Feed
from retinue.engine.hooking import Hooks
from retinue.engine.prompting.planning import Plan
from retinue.engine.switching import departed
from retinue.engine.tooling import CallResult, Tooling, closing
from retinue.engine.warm import Warm
from retinue.errors import ConflictError, NotFoundError, RetinueError, TerminatedError
from retinue.events import ToolEvent
from retinue.failpoints import reach
from retinue.messages import CallPart
from retinue.tools.port import Tool


class ToolRunner:
    """Runs calls: together where all of them are pure, else in order."""

    def __init__(
        self,
        *,
        committer: Committer,
        equipment: Equipment,
        tooling: Tooling,
        approvals: Approvals,
        feed: Feed,
        hooks: Hooks,
    ) -> None:
        self._hooks = hooks
        self._committer = committer
        self._equipment = equipment
        self._tooling = tooling
        self._approvals = approvals
        self._feed = feed

    async def run(self, warm: Warm, action: RunTools) -> None:
        try:
            if self._equipment.is_stale:
                await self._equipment.refresh()
            plan = self._equipment.plan(warm)
        except RetinueError as error:
            await self._committer.fail(warm, "definition", error.message)
            return
        tools = plan.known
        allowed = action.calls[: self._equipment.limits.calls_per_response]

        turn = warm.state.turn
        if turn is not None and turn.calls_unbegun:
            draft = self._committer.draft(warm)
            steps.noted_unbegun(draft, False)
            await self._committer.commit(warm, draft)

        def run(call: CallPart) -> Coroutine[Any, Any, CallResult]:
            return self._run(warm, plan, call, tools, is_in_doubt=call is action.in_doubt)

        are_pure = len(allowed) > 1 and all(
            (tool := tools.get(c.name))
            and tool.effect == "pure"
            and not needs_approval(warm, plan, c)
            and c.name not in plan.terminal
            for c in allowed
        )
        if are_pure:
            await self._run_together(warm, plan, allowed, run)
        else:
            for call in allowed:
                reach("tool:before")
                result = await self._committer.interruptibly(warm, run(call), is_tool=True)
                reach("tool:after")
                if _ends_run(plan, call, result):
                    later = action.calls[action.calls.index(call) + 1 :]
                    await self._commit_result(warm, plan, call, result, skipped=later)
                    return
                await self._commit_result(warm, plan, call, result)
                warm.is_in_doubt = False
                if warm.commands or self._committer.is_stopping or _holds(result):
                    return
        if len(allowed) < len(action.calls):
            await self._skip(warm, action.calls[len(allowed) :])

    async def _run(
        self,
        warm: Warm,
        plan: Plan,
        call: CallPart,
        tools: Mapping[str, Tool],
        *,
        is_in_doubt: bool,
    ) -> CallResult:
        if plan.asks_first:
            asked = await self._approvals.ask(warm, plan, call, tools)
            if asked is not None:
                return asked
        warm.is_in_doubt = True
        show = self._progress(warm, call)
        result = await self._tooling.run(
            warm, plan, call, tools=tools, is_in_doubt=is_in_doubt, show=show
        )
        if plan.hooks is not None:
            result = await self._hooks.result(warm, plan.hooks, call, result)
        return spent(warm, plan, call, result)

    async def _run_together(
        self,
        warm: Warm,
        plan: Plan,
        calls: Sequence[CallPart],
        run: Callable[[CallPart], Awaitable[CallResult]],
    ) -> None:
        tasks = {asyncio.ensure_future(run(call)): call for call in calls}
        try:
            pending = set(tasks)
            while pending:
                done, pending = await self._committer.interruptibly(
                    warm,
                    asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED),
                    is_tool=True,
                )
                reach("tool:after")
                for task in done:
                    await self._commit_result(warm, plan, tasks[task], task.result())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _commit_result(
        self,
        warm: Warm,
        plan: Plan,
        call: CallPart,
        result: CallResult,
        skipped: Sequence[CallPart] = (),
    ) -> None:
        draft = self._committer.draft(warm)
        steps.ran(draft, call, result)
        if result.departure is not None:
            departed(draft, warm, result.departure)
        for later in skipped:
            draft.add(closing(later, "skipped", f"Not run: {call.name} ended the run before it."))
        try:
            await self._committer.commit(warm, draft, "result")
        except (NotFoundError, TerminatedError, ConflictError) as error:
            # What the tool asked for cannot be done, so none of it is: the model is told.
            draft = self._committer.draft(warm)
            steps.ran(draft, call, CallResult(record=closing(call, "error", error.message)))
            await self._committer.commit(warm, draft, "result")
        if plan.hooks is not None:
            await self._hooks.told(warm, plan.hooks, draft.records)

    async def _skip(self, warm: Warm, calls: Sequence[CallPart]) -> None:
        draft = self._committer.draft(warm)
        most = self._equipment.limits.calls_per_response
        for call in calls:
            text = f"Not run: at most {most} calls of one response are."
            draft.add(closing(call, "skipped", text))
        await self._committer.commit(warm, draft, "result")

    def _progress(self, warm: Warm, call: CallPart) -> Callable[[str], None]:
        feed = self._feed

        def show(text: str) -> None:
            if feed.is_heard(warm.owner, warm.id):
                event = ToolEvent(
                    agent_id=warm.id, call=call.id, name=call.name, state="progress", text=text
                )
                feed.live(warm.owner, warm.id, event)

        if feed.is_heard(warm.owner, warm.id):
            started = ToolEvent(agent_id=warm.id, call=call.id, name=call.name, state="started")
            feed.live(warm.owner, warm.id, started)
        return show


def _holds(result: CallResult) -> bool:
    """Whether a person must decide before later calls may run."""
    return result.pending is not None and result.pending.reason != "child"


def _ends_run(plan: Plan, call: CallPart, result: CallResult) -> bool:
    record = result.record
    return call.name in plan.terminal and record is not None and record.status == "ok"
