"""What a model is sent: the system prompt, the tools, the conversation, and what comes after it."""

from retinue.engine.asking import with_images
from retinue.engine.equipment import Equipment
from retinue.engine.hooking import Hooks
from retinue.engine.prompting.planning import Plan
from retinue.engine.subagents.registry import with_registry
from retinue.engine.warm import Warm
from retinue.models.port import ModelRequest
from retinue.tools.port import FileTrees


class Composer:
    """Makes requests; the caller sends them, and people can look at them."""

    def __init__(self, *, equipment: Equipment, hooks: Hooks, trees: FileTrees) -> None:
        self._equipment = equipment
        self._hooks = hooks
        self._trees = trees

    async def request(self, warm: Warm, plan: Plan) -> ModelRequest:
        """The next request of this agent; raises `HookBlocked` when there must be none."""
        hooks = plan.hooks
        context = warm.context if hooks is None else await self._hooks.history(warm, hooks)
        messages = context.messages
        if context.images:
            messages = await with_images(messages, self._trees.tree(warm.id))
        turn = warm.state.turn
        system = await self._equipment.system(warm, plan)
        closing = await self._equipment.closing(warm, plan) if plan.artifacts else ""
        if warm.state.children:
            side = turn.side if turn is not None else "side_a"
            told = with_registry(closing, warm.state.children, side)
            warm.own_overhead += len(told) - len(closing)
            warm.overhead += len(told) - len(closing)
            closing = told
        if hooks is not None:
            system = await self._hooks.system(warm, hooks, system)
            messages = await self._hooks.messages(warm, hooks, messages)
        return ModelRequest(
            system=system,
            messages=messages,
            tools=plan.specs,
            closing=closing,
            session=warm.id,
            attempt=turn.attempt if turn else 0,
        )
