"""The model's part of a turn: ask, take the answer in, and decide what a failure means."""

import logging
from random import Random

from retinue.clock import Clock
from retinue.definitions.declarations import HookBlocked
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.engine.calls.model_stream import ask
from retinue.engine.feed.event_feed import Feed
from retinue.engine.feed.response_stream import ResponseStream
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.decision import EndRun, ends_turn
from retinue.engine.rules.retrying import GiveUp, after_failure
from retinue.engine.subagents.immediate import Boots
from retinue.engine.turn.committing import Committer, Interrupted
from retinue.engine.turn.context_window import ContextWindow
from retinue.engine.turn.request_builder import RequestBuilder
from retinue.engine.writes import sides as side_writes
from retinue.engine.writes import turn as turn_writes
from retinue.errors import ContextTooLongError, ModelError, RetinueError
from retinue.failpoints import reach
from retinue.models.port import Completed, Model

logger = logging.getLogger(__name__)


class ModelCalls:
    """Makes one model call and commits what came of it."""

    def __init__(  # noqa: PLR0913  its parts, all by name
        self,
        *,
        committer: Committer,
        setup: StepSetup,
        room: ContextWindow,
        feed: Feed,
        clock: Clock,
        random: Random,
        boots: Boots,
        hooks: Hooks,
        composer: RequestBuilder,
    ) -> None:
        self._boots = boots
        self._hooks = hooks
        self._composer = composer
        self._committer = committer
        self._setup = setup
        self._room = room
        self._feed = feed
        self._clock = clock
        self._random = random

    async def call(self, live: LiveAgent) -> None:
        models = 1
        try:
            if self._setup.is_stale:
                await self._setup.refresh()
            config = self._setup.config(live)
            models = len(config.models) + bool(live.state.model)
            model, models = await self._setup.model(live, config)
        except ModelError as error:
            await self._model_failed(live, error, models)
            return
        except RetinueError as error:
            await self._committer.fail(live, "definition", error.message)
            return
        if config.immediate and self._boots.are_due(live, config):
            draft = self._committer.draft(live)
            self._boots.write(draft, live, config)
            live.is_in_doubt = False
            await self._committer.commit(live, draft, "boot")
            return
        if self._room.is_needed(live):
            return  # now that the model's window is known, the next decision makes room first
        narrator = ResponseStream(self._feed, live, model.name, is_dual=config.is_dual)
        try:
            await self._ask(live, config, model, models, narrator)
        finally:
            narrator.end()

    async def boot_new(self, draft: Draft, live: LiveAgent) -> None:
        """Ask for what the prompt of a new agent begins by itself; a broken one waits."""
        if live.state.turn is not None:
            return  # its first step does it
        try:
            await self._setup.refresh()
            config = self._setup.config(live)
        except RetinueError:
            return
        if self._boots.are_due(live, config):
            self._boots.write(draft, live, config)
            live.is_in_doubt = False

    async def _ask(
        self,
        live: LiveAgent,
        config: PromptConfig,
        model: Model,
        models: int,
        narrator: ResponseStream,
    ) -> None:
        clock = self._clock
        live.cut_off = None
        estimated = self._setup.estimate(live)
        began = clock.monotonic()
        try:
            completed = await self._committer.interruptibly(
                live, self._answer(live, config, model, narrator)
            )
        except Interrupted:
            said = narrator.said() if live.is_stopped_next else []
            if said:
                duration_ms = round((clock.monotonic() - began) * 1000)
                live.cut_off = turn_writes.cut_off(said, model=model.name, duration_ms=duration_ms)
            else:
                narrator.discard()
            raise
        except HookBlocked as block:
            narrator.discard()
            await self._blocked(live, config, str(block))
            return
        except ContextTooLongError as error:
            narrator.discard()
            await self._overflowed(live, error)
            return
        except ModelError as error:
            narrator.discard()
            await self._model_failed(live, error, models)
            return
        reach("model:after")
        draft = self._committer.draft(live)
        record = turn_writes.responded(
            draft,
            config,
            completed,
            model=model.name,
            estimated=estimated,
            duration_ms=round((clock.monotonic() - began) * 1000),
        )
        if config.is_plain and ends_turn(record):
            turn_writes.answered(draft, live, record, self._committer.connectors)
        live.is_in_doubt = False
        await self._committer.commit(live, draft, "response")
        if config.hooks is not None:
            await self._hooks.told(live, config.hooks, [record], are_updates=True)

    async def _blocked(self, live: LiveAgent, config: PromptConfig, text: str) -> None:
        """End the turn, or the run, with a hook's words for an answer."""
        draft = self._committer.draft(live)
        record = turn_writes.blocked(draft, config, text)
        if config.is_dual:
            end = EndRun(outcome="failed", code="hook_blocked", text=record.text)
            side_writes.run_ended(draft, live, end, (), self._committer.connectors)
        else:
            turn_writes.answered(draft, live, record, self._committer.connectors)
        await self._committer.commit(live, draft, "response")
        if config.hooks is not None:
            await self._hooks.told(live, config.hooks, [record])

    async def _answer(
        self, live: LiveAgent, config: PromptConfig, model: Model, narrator: ResponseStream
    ) -> Completed:
        request = await self._composer.request(live, config)
        reach("model:before")
        completed = await ask(model, request, narrator.show)
        narrator.catch_up()
        if config.hooks is not None:
            completed = await self._hooks.response(live, config.hooks, completed)
        return completed

    async def _model_failed(self, live: LiveAgent, error: ModelError, models: int) -> None:
        turn = live.state.turn
        assert turn is not None
        logger.warning(
            "a model call failed",
            extra={"agent_id": live.id, "attempt": turn.attempt, "error": error.message},
        )
        now = self._clock.now()
        decision = after_failure(
            turn,
            error,
            models=models,
            now=now,
            jitter=self._random.random(),
            limits=self._setup.limits,
        )
        if isinstance(decision, GiveUp):
            await self._committer.fail(live, error.code, decision.reason)
            return
        draft = self._committer.draft(live)
        turn_writes.retrying(draft, error, decision)
        await self._committer.commit(live, draft, "retry")

    async def _overflowed(self, live: LiveAgent, error: ModelError) -> None:
        turn = live.state.turn
        if turn is None or turn.overflowed or not self._room.can_prune(live, "overflow"):
            await self._committer.fail(live, error.code, error.message)
        else:
            await self._room.prune(live, "overflow")
