"""What a model is sent: the system prompt, the tools, the conversation, and what comes after it."""

from retinue.agents.state import PromptSize
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.calls.model_stream import with_images
from retinue.engine.hooks import Hooks
from retinue.engine.prompting.prompt_config import PromptConfig
from retinue.engine.prompting.step_setup import StepSetup
from retinue.engine.turn.child_registry import with_registry
from retinue.models.port import Model, ModelRequest
from retinue.tools.port import FileTrees


def size_of(config: PromptConfig, request: ModelRequest, model: Model) -> PromptSize:
    """What a request has beside the conversation."""
    own = len(request.system) - len(config.system) + len(request.closing)
    return PromptSize(overhead=config.overhead + own, own=own, window=model.window)


class RequestBuilder:
    """Makes requests; the caller sends them, and people can look at them."""

    def __init__(self, *, setup: StepSetup, hooks: Hooks, trees: FileTrees) -> None:
        self._setup = setup
        self._hooks = hooks
        self._trees = trees

    async def request(self, live: LiveAgent, config: PromptConfig) -> ModelRequest:
        """The next request of this agent; raises `HookBlocked` when there must be none."""
        hooks = config.hooks
        context = live.context if hooks is None else await self._hooks.history(live, hooks)
        messages = context.messages
        if context.images:
            messages = await with_images(messages, self._trees.tree(live.id))
        turn = live.state.turn
        system = await self._setup.system(live, config)
        closing = await self._setup.closing(live, config) if config.artifacts else ""
        if live.state.children:
            side = turn.side if turn is not None else "side_a"
            closing = with_registry(closing, live.state.children, side)
        if hooks is not None:
            system = await self._hooks.system(live, hooks, system)
            messages = await self._hooks.messages(live, hooks, messages)
        return ModelRequest(
            system=system,
            messages=messages,
            tools=config.specs,
            options=config.options,
            closing=closing,
            session=live.id,
            attempt=turn.attempt if turn else 0,
        )
