"""What effects change about the state of the agent that asks for them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import structs

from retinue.agents.children import registered
from retinue.agents.state import AgentState, Turn, counted
from retinue.stores.port import NO_EFFECTS, Effects, NewAgent, Post


def with_effects(state: AgentState, effects: Effects, at: datetime) -> AgentState:
    """The state after these effects. Unpacked whole: a new effect has to be decided about here."""
    if effects is NO_EFFECTS:
        return state
    (
        posts,
        _notices,
        _creates,
        _redescribed,
        _requests,
        _voids,
        _deliveries,
        _audit,
        usages,
        children,
        deferred,
        moved,
        spent,
        handoff,
        _departure,  # the tool batch writes it: that takes the history
    ) = effects
    changes: dict[str, Any] = {}
    if usages:
        changes["stats"] = state.stats
        for model, usage in usages:
            changes["stats"] = counted(changes["stats"], model, usage)
    if children:
        changes["children"] = registered(state.children, children)
    if deferred:
        still_open = [one for one in state.deferred if one.is_open(at)]
        changes["deferred"] = [*still_open, *deferred]
    if moved:
        changes["env"] = {name: held for name, held in state.env.items() if name not in moved}
    if spent:
        changes["approvals"] = [digest for digest in state.approvals if digest not in spent]
    if state.turn is not None and (posts or handoff):
        turn = _messaged(state.turn, posts)
        changes["turn"] = structs.replace(turn, handoff=handoff[-1]) if handoff else turn
    return structs.replace(state, **changes) if changes else state


def _messaged(turn: Turn, posts: Sequence[Post]) -> Turn:
    """The turn with the agents that it wrote to."""
    to = [
        post.to.id if isinstance(post.to, NewAgent) else post.to
        for post in posts
        if not post.item.silent
    ]
    return structs.replace(turn, messaged=list(dict.fromkeys([*turn.messaged, *to])))
