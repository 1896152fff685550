"""The model's part of a turn: ask, take the answer in, and decide what a failure means."""

import logging
from random import Random

from retinue.agents.state import PromptSize
from retinue.clock import Clock
from retinue.definitions.declarations import HookBlocked
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.model_stream import ask
from retinue.engine.feed.event_feed import Feed
from retinue.engine.feed.response_stream import ResponseStream
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.rules.context_room import ContextRoom
from retinue.engine.rules.decision import EndRun, ends_turn
from retinue.engine.rules.retrying import GiveUp, after_failure
from retinue.engine.turn.committing import Committer, Interrupted
from retinue.engine.turn.completion import Completion
from retinue.engine.turn.request_builder import RequestBuilder, size_of
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
        completion: Completion,
        setup: StepSetup,
        room: ContextRoom,
        feed: Feed,
        clock: Clock,
        random: Random,
        hooks: Hooks,
        composer: RequestBuilder,
    ) -> None:
        self._hooks = hooks
        self._composer = composer
        self._committer = committer
        self._completion = completion
        self._setup = setup
        self._room = room
        self._feed = feed
        self._clock = clock
        self._random = random

    async def call(self, live: LiveAgent) -> None:
        models = 1
        try:
            config = self._setup.config(live)
            models = len(config.models) + bool(live.state.model)
            model, models = await self._setup.model(live, config)
        except ModelError as error:
            await self._model_failed(live, error, models)
            return
        except RetinueError as error:
            await self._completion.fail(live, "definition", error.message)
            return
        if await self._measured(live, config, model):
            return
        narrator = ResponseStream(self._feed, live, model.name, is_dual=config.is_dual)
        try:
            await self._ask(live, config, model, models, narrator)
        finally:
            narrator.end()

    async def _measured(self, live: LiveAgent, config: PromptConfig, model: Model) -> bool:
        """Whether the request leaves so little room that the next decision has to make some first.

        The measure is stored, since a decision knows only what is stored.
        """
        known = live.state.prompt_size
        size = PromptSize(overhead=config.overhead + known.own, own=known.own, window=model.window)
        if size == known:
            return False
        draft = self._committer.draft(live)
        turn_writes.measured(draft, size)
        if not self._room.is_needed(live, draft.state):
            return False  # the response stores it
        await self._committer.commit(live, draft)
        return True

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
        estimated = self._room.estimate(live)
        began = clock.monotonic()
        try:
            completed, size = await self._committer.interruptibly(
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
            draft = self._committer.draft(live)
            turn_writes.overflowed(draft, error)
            await self._committer.commit(live, draft)
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
            size=size,
        )
        if config.is_plain and ends_turn(record):
            turn_writes.answered(draft, live, record, self._committer.connectors)
        await self._completion.commit(live, draft, "response")
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
        await self._completion.commit(live, draft, "response")
        if config.hooks is not None:
            await self._hooks.told(live, config.hooks, [record])

    async def _answer(
        self, live: LiveAgent, config: PromptConfig, model: Model, narrator: ResponseStream
    ) -> tuple[Completed, PromptSize]:
        request = await self._composer.request(live, config)
        reach("model:before")
        completed = await ask(model, request, narrator.show)
        narrator.catch_up()
        if config.hooks is not None:
            completed = await self._hooks.response(live, config.hooks, completed)
        return completed, size_of(config, request, model)

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
            await self._completion.fail(live, error.code, decision.reason)
            return
        draft = self._committer.draft(live)
        turn_writes.retrying(draft, error, decision)
        await self._committer.commit(live, draft, "retry")
