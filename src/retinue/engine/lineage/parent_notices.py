"""Posts from a subagent to its parent while it works: a status update or a message."""

from datetime import datetime

from retinue.agents.children import ChildTerms, ChildUpdate
from retinue.agents.inbox import ItemBody, Sender, Trail
from retinue.ids import AgentId, OwnerId, new_item_id
from retinue.stores.port import NewItem, Post

LONGEST_STATUS = 500
"""Characters of a status text, bounded because the parent's state holds the registry."""


def status_post(
    child: AgentId, owner: OwnerId, terms: ChildTerms, at: datetime, update: ChildUpdate
) -> Post:
    """Update the registry; wakes no agent and is shown to no model."""
    body = ItemBody(text="", sender=Sender(type="agent", id=child), child=update)
    item = NewItem(id=new_item_id(), kind="status", body=body, admitted_at=at, silent=True)
    return Post(to=terms.parent, item=item, owner=owner, is_optional=True)


def said_post(
    child: AgentId, owner: OwnerId, terms: ChildTerms, at: datetime, text: str, trail: Trail
) -> Post:
    """A message for the parent's next step, naming the child."""
    body = ItemBody(
        text=f"Subagent (reference: {child}) says:\n\n{text}",
        sender=Sender(type="agent", id=child),
        trail=trail,
        to_side=terms.parent_side,
        child=ChildUpdate(reference=child),
    )
    item = NewItem(id=new_item_id(), kind="system", body=body, admitted_at=at)
    return Post(to=terms.parent, item=item, owner=owner)
