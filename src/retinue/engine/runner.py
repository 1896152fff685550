"""Performs actions: the only place that awaits a model or a tool, each outcome one commit."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, assert_never

from retinue.agents.tokens import corrected_tokens, estimated_tokens
from retinue.clock import Clock
from retinue.definitions.catalog import Catalog
from retinue.engine import steps
from retinue.engine.actions import (
    Action,
    Answered,
    CallModel,
    Compact,
    Drain,
    Failed,
    Gather,
    Note,
    Pressure,
    Prune,
    Rest,
    RunTools,
    View,
    Wait,
    ends_turn,
    next_action,
)
from retinue.engine.asking import ask, with_images
from retinue.engine.compaction import (
    PRUNED,
    compaction_cut,
    pressure_of,
    prune_cut,
    summary_request,
)
from retinue.engine.feed import Feed
from retinue.engine.limits import Limits
from retinue.engine.prompting import Plan, Planner
from retinue.engine.retrying import GiveUp, after_failure
from retinue.engine.streaming import Narrator
from retinue.engine.tooling import CallResult, Tooling, closing
from retinue.engine.warm import Change, Command, CompactNow, Delete, Draft, Reset, Stop, Warm
from retinue.errors import (
    ConflictError,
    ContextTooLongError,
    ModelError,
    NotFoundError,
    RetinueError,
    StoreFullError,
    TerminatedError,
)
from retinue.events import ToolEvent
from retinue.failpoints import reach
from retinue.messages import CallPart, SummaryRecord
from retinue.models.port import Completed, Model, ModelRequest, Models
from retinue.stores.port import Store
from retinue.tools.port import FileTrees, Tool, Toolbox

logger = logging.getLogger(__name__)

_STORE_RETRY_SECONDS = 1.0
_TOOLS_FRESH_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the runner works with."""

    store: Store
    models: Models
    toolbox: Toolbox
    catalog: Catalog
    trees: FileTrees
    clock: Clock
    limits: Limits
    default_model: str
    feed: Feed
    connectors: Mapping[str, Any]
    random: Random


class Interrupted(Exception):  # noqa: N818  a signal within the runner, not an error
    """The work was broken off because a command came or the process is stopping."""


class Runner:
    """Takes one agent from what it holds to where it rests."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._planner = Planner(parts.default_model)
        self._tooling = Tooling(trees=parts.trees, clock=parts.clock, limits=parts.limits)
        self._model_names: dict[str, Model] = {}
        self._known_tools: Mapping[str, Tool] = {}
        self._tools_until = float("-inf")
        self.is_stopping = False

    async def run(self, warm: Warm) -> float | None:
        """Work until the agent rests; gives the seconds after which to wake it again, if any."""
        while not self.is_stopping:
            try:
                while warm.commands:
                    await self._obey(warm, warm.commands.popleft())
                if warm.is_deleted:
                    return None
                action = next_action(self._view(warm))
                match action:
                    case Rest():
                        return None
                    case Wait():
                        return steps.due_in(action.until, self._parts.clock.now())
                    case _:
                        await self._perform(warm, action)
            except Interrupted:
                continue
        return None

    async def note_crash(self, warm: Warm) -> None:
        """Count that a process died in the turn which is going on."""
        draft = self._draft(warm)
        steps.crashed(draft)
        await self._commit(warm, draft)

    async def give_up(self, warm: Warm, reason: str) -> None:
        """End the turn after a defect of our own, so that nothing waits for ever."""
        if warm.state.turn is not None:
            await self._fail(warm, "internal", reason)

    # -- deciding

    def _view(self, warm: Warm) -> View:
        state = warm.state
        limit = self._limit(warm)
        pressure = self._pressure(warm)
        is_low = pressure == "low"
        records = warm.history.records
        return View(
            turn=state.turn,
            waiting=warm.waiting,
            open_calls=warm.history.open_calls,
            answer=warm.history.answer,
            pressure=pressure,
            can_compact=not is_low
            and warm.compaction_failed_at < warm.next_seq
            and compaction_cut(records, limit) is not None,
            can_prune=pressure == "full" and prune_cut(records, limit) is not None,
            is_recovered=warm.is_recovered,
            now=self._parts.clock.now(),
            limits=self._parts.limits,
        )

    def _pressure(self, warm: Warm) -> Pressure:
        last = warm.state.tokens
        tokens = corrected_tokens(self._estimate(warm), last, last.model if last else "")
        return pressure_of(tokens, self._limit(warm))

    def _limit(self, warm: Warm) -> int:
        limit = self._parts.limits.context_tokens
        return min(limit, warm.model_limit) if warm.model_limit else limit

    def _estimate(self, warm: Warm) -> int:
        return estimated_tokens(warm.context.characters + warm.overhead)

    # -- doing

    async def _perform(self, warm: Warm, action: Action) -> None:
        match action:
            case Gather():
                await self._interruptibly(warm, self._parts.clock.sleep(action.seconds))
            case Drain() | Note():
                draft = self._draft(warm)
                steps.drained(draft, action.items)
                await self._commit(warm, draft, "drain")
            case CallModel():
                await self._call_model(warm)
            case RunTools():
                await self._run_tools(warm, action)
            case Compact():
                await self._compact(warm, action.reason)
            case Prune():
                await self._prune(warm, action.reason)
            case Answered():
                draft = self._draft(warm)
                steps.answered(draft, warm, action.by, self._parts.connectors)
                await self._commit(warm, draft, "answer")
            case Failed():
                await self._fail(warm, action.code, action.reason)
            case Rest() | Wait():
                pass
            case _:
                assert_never(action)

    async def _plan(self, warm: Warm) -> Plan:
        self._parts.catalog.refresh()
        definition = self._parts.catalog.definition(warm.definition)
        plan = self._planner.plan(definition, await self._tools())
        warm.overhead = plan.overhead
        return plan

    async def _tools(self) -> Mapping[str, Tool]:
        """Ask for the tools at most five times a second: it looks at files."""
        now = self._parts.clock.monotonic()
        if now >= self._tools_until:
            self._known_tools = await self._parts.toolbox.tools()
            self._tools_until = now + _TOOLS_FRESH_SECONDS
        return self._known_tools

    async def _model(self, warm: Warm, plan: Plan) -> tuple[Model, int]:
        """The model whose try it is, and how many there are."""
        names = [warm.state.model, *plan.models] if warm.state.model else plan.models
        turn = warm.state.turn
        index = min(turn.model_index, len(names) - 1) if turn else 0
        name = names[index]
        model = self._model_names.get(name)
        if model is None:
            model = self._model_names[name] = await self._parts.models.get(name)
        warm.model_limit = model.window
        return model, len(names)

    async def _call_model(self, warm: Warm) -> None:
        models = 1
        try:
            plan = await self._plan(warm)
            models = len(plan.models) + bool(warm.state.model)
            model, models = await self._model(warm, plan)
        except ModelError as error:
            await self._model_failed(warm, error, models)
            return
        except RetinueError as error:
            await self._fail(warm, "definition", error.message)
            return
        if self._pressure(warm) in ("critical", "full") and self._needs_room(warm):
            return  # now that the model's window is known, the next decision makes room first
        await self._ask(warm, plan, model, models)

    def _needs_room(self, warm: Warm) -> bool:
        return isinstance(next_action(self._view(warm)), Compact | Prune)

    async def _ask(self, warm: Warm, plan: Plan, model: Model, models: int) -> None:
        clock = self._parts.clock
        estimated = self._estimate(warm)
        began = clock.monotonic()
        narrator = Narrator(self._parts.feed, warm, model.name)
        try:
            completed = await self._interruptibly(warm, self._answer(warm, plan, model, narrator))
        except Interrupted:
            narrator.discard()
            raise
        except ContextTooLongError as error:
            narrator.discard()
            await self._overflowed(warm, error)
            return
        except ModelError as error:
            narrator.discard()
            await self._model_failed(warm, error, models)
            return
        reach("model:after")
        draft = self._draft(warm)
        record = steps.responded(
            draft,
            completed,
            model=model.name,
            estimated=estimated,
            duration_ms=round((clock.monotonic() - began) * 1000),
        )
        if ends_turn(record):
            steps.answered(draft, warm, record, self._parts.connectors)
        warm.is_recovered = False
        await self._commit(warm, draft, "response")

    async def _answer(self, warm: Warm, plan: Plan, model: Model, narrator: Narrator) -> Completed:
        messages = warm.context.messages
        if warm.context.images:
            messages = await with_images(messages, self._parts.trees.tree(warm.id))
        turn = warm.state.turn
        request = ModelRequest(
            system=plan.system,
            messages=messages,
            tools=plan.specs,
            session=warm.id,
            attempt=turn.attempt if turn else 0,
        )
        reach("model:before")
        return await ask(model, request, narrator.show if self._parts.feed.is_watched else None)

    async def _model_failed(self, warm: Warm, error: ModelError, models: int) -> None:
        turn = warm.state.turn
        assert turn is not None
        logger.warning(
            "a model call failed",
            extra={"agent_id": warm.id, "attempt": turn.attempt, "error": error.message},
        )
        now = self._parts.clock.now()
        decision = after_failure(
            turn,
            error,
            models=models,
            now=now,
            jitter=self._parts.random.random(),
            limits=self._parts.limits,
        )
        if isinstance(decision, GiveUp):
            await self._fail(warm, error.code, decision.reason)
            return
        draft = self._draft(warm)
        steps.retrying(draft, error, decision)
        await self._commit(warm, draft, "retry")

    async def _overflowed(self, warm: Warm, error: ModelError) -> None:
        turn = warm.state.turn
        limit = self._limit(warm)
        if turn is None or turn.overflowed or prune_cut(warm.history.records, limit) is None:
            await self._fail(warm, error.code, error.message)
        else:
            await self._prune(warm, "overflow")

    # -- tools

    async def _run_tools(self, warm: Warm, action: RunTools) -> None:
        try:
            plan = await self._plan(warm)
        except RetinueError as error:
            await self._fail(warm, "definition", error.message)
            return
        tools = await self._tools()
        allowed = action.calls[: self._parts.limits.calls_per_response]

        async def run(call: CallPart) -> CallResult:
            show = self._progress(warm, call)
            return await self._tooling.run(
                warm, plan, call, tools=tools, is_in_doubt=call is action.in_doubt, show=show
            )

        are_pure = all((tool := tools.get(c.name)) and tool.effect == "pure" for c in allowed)
        if are_pure and len(allowed) > 1:
            await self._run_together(warm, allowed, run)
        else:
            for call in allowed:
                reach("tool:before")
                result = await self._interruptibly(warm, run(call))
                reach("tool:after")
                await self._commit_result(warm, call, result)
                warm.is_recovered = False
                if warm.commands or self.is_stopping:
                    return
        await self._skip(warm, action.calls[len(allowed) :])

    async def _run_together(
        self, warm: Warm, calls: "list[CallPart] | Any", run: Callable[[CallPart], Any]
    ) -> None:
        tasks = {asyncio.ensure_future(run(call)): call for call in calls}
        try:
            pending = set(tasks)
            while pending:
                done, pending = await self._interruptibly(
                    warm, asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                )
                reach("tool:after")
                for task in done:
                    await self._commit_result(warm, tasks[task], task.result())
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _commit_result(self, warm: Warm, call: CallPart, result: CallResult) -> None:
        draft = self._draft(warm)
        steps.ran(draft, result)
        try:
            await self._commit(warm, draft, "result")
        except (NotFoundError, TerminatedError, ConflictError) as error:
            # What the tool asked for cannot be done, so none of it is: the model is told.
            draft = self._draft(warm)
            steps.ran(draft, CallResult(record=closing(call, "error", error.message)))
            await self._commit(warm, draft, "result")

    async def _skip(self, warm: Warm, calls: "list[CallPart] | Any") -> None:
        if calls:
            draft = self._draft(warm)
            most = self._parts.limits.calls_per_response
            for call in calls:
                text = f"Not run: at most {most} calls of one response are."
                draft.add(closing(call, "skipped", text))
            await self._commit(warm, draft, "result")

    def _progress(self, warm: Warm, call: CallPart) -> Callable[[str], None]:
        feed = self._parts.feed

        def show(text: str, *, state: str = "progress") -> None:
            if feed.is_watched:
                event = ToolEvent(
                    agent_id=warm.id, call=call.id, name=call.name, state="progress", text=text
                )
                feed.live(warm.owner, warm.id, event)

        if feed.is_watched:
            started = ToolEvent(agent_id=warm.id, call=call.id, name=call.name, state="started")
            feed.live(warm.owner, warm.id, started)
        return show

    # -- making room

    async def _compact(self, warm: Warm, reason: Any) -> bool:
        records = warm.history.records
        keep_from = compaction_cut(records, self._limit(warm))
        if keep_from is None:
            return False
        before = self._estimate(warm)
        try:
            plan = await self._plan(warm)
            model, _ = await self._model(warm, plan)
            completed = await self._interruptibly(
                warm, ask(model, summary_request(records, keep_from), None)
            )
        except RetinueError as error:
            logger.warning("compaction failed", extra={"agent_id": warm.id, "error": error.message})
            warm.compaction_failed_at = warm.next_seq
            return False
        text = "".join(getattr(part, "text", "") for part in completed.parts)
        draft = self._draft(warm)
        summary = SummaryRecord(
            text=text,
            keep_from=keep_from,
            reason=reason,
            model=model.name,
            usage=completed.usage,
            tokens_before=before,
        )
        steps.summarised(draft, summary)
        await self._commit(warm, draft, "summary")
        return True

    async def _prune(self, warm: Warm, reason: Any) -> None:
        limit = self._limit(warm)
        if reason == "overflow":
            limit = min(limit, self._estimate(warm))
        keep_from = prune_cut(warm.history.records, limit)
        assert keep_from is not None
        draft = self._draft(warm)
        summary = SummaryRecord(
            text=PRUNED, keep_from=keep_from, reason=reason, tokens_before=self._estimate(warm)
        )
        steps.summarised(draft, summary)
        await self._commit(warm, draft, "summary")

    # -- commands

    async def _obey(self, warm: Warm, command: Command) -> None:
        try:
            result = await self._carry_out(warm, command)
        except Exception as error:  # noqa: BLE001  whoever gave the command is told
            if not command.done.done():
                command.done.set_exception(error)
        else:
            if not command.done.done():
                command.done.set_result(result)

    async def _carry_out(self, warm: Warm, command: Command) -> bool:
        order = command.order
        draft = self._draft(warm)
        match order:
            case Stop():
                if warm.state.turn is None:
                    return False
                steps.stopped(draft, warm)
                await self._commit(warm, draft, "stop")
            case Reset():
                steps.was_reset(draft, warm, order.reason)
                await self._commit(warm, draft, "reset")
            case Change():
                steps.patched(draft, order.patch)
                await self._commit(warm, draft, "patch")
            case CompactNow():
                return await self._compact(warm, "command")
            case Delete():
                await self._parts.store.delete(warm.owner, warm.id)
                warm.is_deleted = True
            case _:
                assert_never(order)
        return True

    # -- committing

    async def _fail(self, warm: Warm, code: str, reason: str) -> None:
        draft = self._draft(warm)
        steps.failed(draft, warm, code, reason, self._parts.connectors)
        await self._commit(warm, draft, "fail")

    def _draft(self, warm: Warm) -> Draft:
        return warm.draft(self._parts.clock.now())

    async def _commit(self, warm: Warm, draft: Draft, name: str = "state") -> None:
        """Commit, waiting as long as the disk has no room: what was done must not be done again."""
        commit = warm.commit_of(draft)
        while True:
            try:
                reach(f"{name}:before")
                await self._parts.store.commit(commit)
                reach(f"{name}:after")
                break
            except StoreFullError as error:
                logger.error("the store takes nothing: %s", error, extra={"agent_id": warm.id})
                if self.is_stopping:
                    raise
                await self._parts.clock.sleep(_STORE_RETRY_SECONDS)
        warm.apply(draft)

    async def _interruptibly(self, warm: Warm, work: Any) -> Any:
        """Await something that a command or the end of the process may break off."""
        task = asyncio.current_task()
        warm.begin_work()
        try:
            return await work
        except asyncio.CancelledError:
            if (warm.commands or self.is_stopping) and task is not None:
                task.uncancel()
                raise Interrupted from None
            raise
        finally:
            warm.end_work()
