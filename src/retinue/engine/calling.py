"""The model's part of a turn: ask, take the answer in, and decide what a failure means."""

import logging
from random import Random

from retinue.clock import Clock
from retinue.definitions.declared import HookBlocked
from retinue.engine import sides, steps
from retinue.engine.actions import EndRun, ends_turn
from retinue.engine.asking import ask
from retinue.engine.committing import Committer, Interrupted
from retinue.engine.composing import Composer
from retinue.engine.equipment import Equipment
from retinue.engine.feed import Feed
from retinue.engine.hooking import Hooks
from retinue.engine.making_room import RoomMaker
from retinue.engine.prompting.planning import Plan
from retinue.engine.retrying import GiveUp, after_failure
from retinue.engine.streaming import Narrator
from retinue.engine.subagents.booting import Boots
from retinue.engine.warm import Draft, Warm
from retinue.errors import ContextTooLongError, ModelError, RetinueError
from retinue.failpoints import reach
from retinue.models.port import Completed, Model

logger = logging.getLogger(__name__)


class ModelCaller:
    """Makes one model call and commits what came of it."""

    def __init__(  # noqa: PLR0913  its parts, all by name
        self,
        *,
        committer: Committer,
        equipment: Equipment,
        room: RoomMaker,
        feed: Feed,
        clock: Clock,
        random: Random,
        boots: Boots,
        hooks: Hooks,
        composer: Composer,
    ) -> None:
        self._boots = boots
        self._hooks = hooks
        self._composer = composer
        self._committer = committer
        self._equipment = equipment
        self._room = room
        self._feed = feed
        self._clock = clock
        self._random = random

    async def call(self, warm: Warm) -> None:
        models = 1
        try:
            if self._equipment.is_stale:
                await self._equipment.refresh()
            plan = self._equipment.plan(warm)
            models = len(plan.models) + bool(warm.state.model)
            model, models = await self._equipment.model(warm, plan)
        except ModelError as error:
            await self._model_failed(warm, error, models)
            return
        except RetinueError as error:
            await self._committer.fail(warm, "definition", error.message)
            return
        if plan.immediate and self._boots.are_due(warm, plan):
            draft = self._committer.draft(warm)
            self._boots.write(draft, warm, plan)
            warm.is_in_doubt = False
            await self._committer.commit(warm, draft, "boot")
            return
        if self._room.is_needed(warm):
            return  # now that the model's window is known, the next decision makes room first
        narrator = Narrator(self._feed, warm, model.name, is_dual=plan.is_dual)
        try:
            await self._ask(warm, plan, model, models, narrator)
        finally:
            narrator.end()

    async def boot_new(self, draft: Draft, warm: Warm) -> None:
        """Ask for what the prompt of a new agent begins by itself; a broken one waits."""
        if warm.state.turn is not None:
            return  # its first step does it
        try:
            await self._equipment.refresh()
            plan = self._equipment.plan(warm)
        except RetinueError:
            return
        if self._boots.are_due(warm, plan):
            self._boots.write(draft, warm, plan)
            warm.is_in_doubt = False

    async def _ask(
        self, warm: Warm, plan: Plan, model: Model, models: int, narrator: Narrator
    ) -> None:
        clock = self._clock
        warm.cut_off = None
        estimated = self._equipment.estimate(warm)
        began = clock.monotonic()
        try:
            completed = await self._committer.interruptibly(
                warm, self._answer(warm, plan, model, narrator)
            )
        except Interrupted:
            said = narrator.said() if warm.is_stopped_next else []
            if said:
                duration_ms = round((clock.monotonic() - began) * 1000)
                warm.cut_off = steps.cut_off(said, model=model.name, duration_ms=duration_ms)
            else:
                narrator.discard()
            raise
        except HookBlocked as block:
            narrator.discard()
            await self._blocked(warm, plan, str(block))
            return
        except ContextTooLongError as error:
            narrator.discard()
            await self._overflowed(warm, error)
            return
        except ModelError as error:
            narrator.discard()
            await self._model_failed(warm, error, models)
            return
        reach("model:after")
        draft = self._committer.draft(warm)
        record = steps.responded(
            draft,
            plan,
            completed,
            model=model.name,
            estimated=estimated,
            duration_ms=round((clock.monotonic() - began) * 1000),
        )
        if plan.is_plain and ends_turn(record):
            steps.answered(draft, warm, record, self._committer.connectors)
        warm.is_in_doubt = False
        await self._committer.commit(warm, draft, "response")
        if plan.hooks is not None:
            await self._hooks.told(warm, plan.hooks, [record], are_updates=True)

    async def _blocked(self, warm: Warm, plan: Plan, text: str) -> None:
        """End the turn, or the run, with a hook's words for an answer."""
        draft = self._committer.draft(warm)
        record = steps.blocked(draft, plan, text)
        if plan.is_dual:
            end = EndRun(outcome="failed", code="hook_blocked", text=record.text)
            sides.run_ended(draft, warm, end, (), self._committer.connectors)
        else:
            steps.answered(draft, warm, record, self._committer.connectors)
        await self._committer.commit(warm, draft, "response")
        if plan.hooks is not None:
            await self._hooks.told(warm, plan.hooks, [record])

    async def _answer(self, warm: Warm, plan: Plan, model: Model, narrator: Narrator) -> Completed:
        request = await self._composer.request(warm, plan)
        reach("model:before")
        completed = await ask(model, request, narrator.show)
        narrator.catch_up()
        if plan.hooks is not None:
            completed = await self._hooks.response(warm, plan.hooks, completed)
        return completed

    async def _model_failed(self, warm: Warm, error: ModelError, models: int) -> None:
        turn = warm.state.turn
        assert turn is not None
        logger.warning(
            "a model call failed",
            extra={"agent_id": warm.id, "attempt": turn.attempt, "error": error.message},
        )
        now = self._clock.now()
        decision = after_failure(
            turn,
            error,
            models=models,
            now=now,
            jitter=self._random.random(),
            limits=self._equipment.limits,
        )
        if isinstance(decision, GiveUp):
            await self._committer.fail(warm, error.code, decision.reason)
            return
        draft = self._committer.draft(warm)
        steps.retrying(draft, error, decision)
        await self._committer.commit(warm, draft, "retry")

    async def _overflowed(self, warm: Warm, error: ModelError) -> None:
        turn = warm.state.turn
        if turn is None or turn.overflowed or not self._room.can_prune(warm, "overflow"):
            await self._committer.fail(warm, error.code, error.message)
        else:
            await self._room.prune(warm, "overflow")
