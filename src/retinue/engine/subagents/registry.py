"""The registry of an agent's children, kept in step with what arrives from them."""

from collections.abc import Sequence

from msgspec import structs

from retinue.agents.children import registered, registry_text
from retinue.agents.context import system_text
from retinue.engine.warm import Draft, Warm
from retinue.messages import ModelMessage, TextContent, UserMessage


def follow_children(warm: Warm, draft: Draft) -> None:
    """Take up what leaving items say about children, whatever becomes of the items."""
    leaving = {change.item_id for change in draft.fates}
    news = [
        item.body.child
        for item in warm.waiting
        if item.body.child is not None and item.id in leaving
    ]
    if news:
        children = registered(draft.state.children, news)
        draft.state = structs.replace(draft.state, children=children)


def with_registry(warm: Warm, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
    """The messages, and after them whom the agent can reach; merged, so that roles alternate."""
    text = registry_text(warm.state.children)
    if not text:
        return messages
    told = TextContent(text=system_text(text))
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        return [*messages[:-1], UserMessage(content=[*last.content, told])]
    return [*messages, UserMessage(content=[told])]
