"""How far work is passed on: the chain of delegations that travels with a message."""

from collections.abc import Sequence

from retinue.agents.inbox import Trail
from retinue.engine.agent.limits import Limits
from retinue.engine.calls.tool_call import CallContext
from retinue.errors import RefusedError


def chain_of(call: CallContext) -> list[str]:
    """The definitions that the work came through, the calling one last."""
    trail = call.turn.trail
    return [*(trail.definitions if trail else ()), call.definition]


def refuse_circle(call: CallContext, target: str) -> None:
    """Refuse to ask whoever is asked already, or oneself."""
    chain = chain_of(call)
    if target in chain:
        raise RefusedError(
            f"this would go round in a circle: {_drawn([*chain, target])}; "
            "answer from what you know instead"
        )


def extended(call: CallContext, target: str, limits: Limits) -> Trail:
    """The trail of a message to the target, if the work may be passed on that far."""
    chain = chain_of(call)
    if len(chain) > limits.delegation_depth:
        raise RefusedError(
            f"this was passed on too often: {_drawn([*chain, target])}; "
            f"at most {limits.delegation_depth} delegations in a row are allowed"
        )
    refuse_endless(call, limits)
    came = call.trail
    return Trail(agents=[*came.agents, call.agent_id], definitions=chain, hops=came.hops)


def refuse_endless(call: CallContext, limits: Limits) -> None:
    """Refuse to pass a message on when agents have talked among themselves for too long."""
    if call.trail.hops > limits.message_hops:
        raise RefusedError(
            f"agents have passed messages on {limits.message_hops} times since a person last "
            "wrote: answer or end here instead"
        )


def _drawn(chain: Sequence[str]) -> str:
    return " → ".join(chain)
