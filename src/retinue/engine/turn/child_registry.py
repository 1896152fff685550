"""The registry of an agent's children, kept in step with what arrives from them."""

from collections.abc import Sequence

from msgspec import structs

from retinue.agents.children import ChildEntry, registered, registry_text
from retinue.agents.context import system_text
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.ids import SideName


def follow_children(live: LiveAgent, draft: Draft) -> None:
    """Take up what leaving items say about children, whatever becomes of the items."""
    leaving = {change.item_id for change in draft.fates}
    news = [
        item.body.child
        for item in live.waiting
        if item.body.child is not None and item.id in leaving
    ]
    if news:
        children = registered(draft.state.children, news)
        draft.state = structs.replace(draft.state, children=children)


def with_registry(closing: str, children: Sequence[ChildEntry], side: SideName) -> str:
    """What the model is told after the conversation, and whom its side of the agent can reach."""
    text = registry_text(children, side)
    return "\n\n".join(part for part in (closing, system_text(text) if text else "") if part)
