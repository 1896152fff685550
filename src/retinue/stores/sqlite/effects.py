"""Apply the effects of a commit to the rows of its group."""

from collections.abc import Sequence
from datetime import datetime

from retinue.stores.port import Effects
from retinue.stores.sqlite.agent_changes import AgentChange
from retinue.stores.sqlite.batch import Batch
from retinue.stores.sqlite.descriptor_change import redescribe_all
from retinue.stores.sqlite.requests import KnownRequests
from retinue.stores.sqlite.rows import microseconds
from retinue.stores.sqlite.writer_cache import CachedAgent, WriterCache
from retinue.text import clean_text


def apply_effects(
    draft: AgentChange,
    effects: Effects,
    at: datetime,
    warm: WriterCache,
    known: KnownRequests,
    batch: Batch,
) -> Sequence[CachedAgent]:
    """Apply checked effects and return the other agents that changed.

    The value is unpacked whole: a new effect does not type-check before it is decided about here.
    """
    (
        _posts,  # the group has sent these and the notices, and created the agents
        _notices,
        _creates,
        redescribed,
        requests,
        voids,
        deliveries,
        audit,
        usages,
        _children,  # these and all that follow are in the agent's state
        _deferred,
        _moved,
        _spent,
        _handoff,
        _departure,
    ) = effects
    entry = draft.entry
    if usages:
        batch.usage.add(entry, at.toordinal(), usages)
    if requests or voids:
        closed = [one for voiding in voids for one in known.void(entry, voiding, at, batch)]
        draft.requests = [*closed, *known.make(entry, requests, batch)]
    due = microseconds(at)
    for out in deliveries:
        row = (entry.number, out.key, out.connector, out.channel, clean_text(out.text), due)
        batch.deliveries.append(row)
    batch.note(entry, at, audit)
    return redescribe_all(warm, batch, redescribed)
