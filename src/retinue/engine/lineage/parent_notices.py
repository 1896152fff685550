"""What a subagent tells its parent while it works: a status for the registry, or a message."""

from datetime import datetime

from retinue.agents.children import ChildTerms, ChildUpdate
from retinue.agents.inbox import ItemBody, Sender, Trail
from retinue.ids import AgentId, OwnerId, new_item_id
from retinue.stores.port import NewItem, Post

LONGEST_STATUS = 500
"""Characters of a status text: the registry is stored with every step of the parent."""


def status_post(
    child: AgentId, owner: OwnerId, terms: ChildTerms, at: datetime, update: ChildUpdate
) -> Post:
    """For the registry alone: nobody is woken by it, and no model reads it."""
    body = ItemBody(text="", sender=Sender(type="agent", id=child), child=update)
    item = NewItem(id=new_item_id(), kind="status", body=body, admitted_at=at, silent=True)
    return Post(to=terms.parent, item=item, owner=owner, is_optional=True)


def said_post(
    child: AgentId, owner: OwnerId, terms: ChildTerms, at: datetime, text: str, trail: Trail
) -> Post:
    """For the parent's next step; it names who speaks."""
    body = ItemBody(
        text=f"Subagent (reference: {child}) says:\n\n{text}",
        sender=Sender(type="agent", id=child),
        trail=trail,
        to_side=terms.parent_side,
        child=ChildUpdate(reference=child),
    )
    item = NewItem(id=new_item_id(), kind="system", body=body, admitted_at=at)
    return Post(to=terms.parent, item=item, owner=owner)
