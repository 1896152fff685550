"""Applies the effects of a commit to the rows of its group."""

from collections.abc import Callable, Sequence
from datetime import datetime

from retinue.agents.descriptor import encode_descriptor, identity_of
from retinue.clock import to_microseconds
from retinue.stores.port import Effects, Redescription
from retinue.stores.sqlite.batch import AgentChange, Batch
from retinue.stores.sqlite.requests import KnownRequests
from retinue.stores.sqlite.writer_cache import CachedAgent, WriterCache
from retinue.text import clean_text


def apply_effects(
    draft: AgentChange,
    effects: Effects,
    at: datetime,
    warm: WriterCache,
    load_requests: Callable[[], KnownRequests],
    batch: Batch,
) -> Sequence[CachedAgent]:
    """Apply checked effects; returns the other agents that changed.

    The value is unpacked completely, so that a new effect fails type checking until it is handled.
    """
    (
        _posts,  # the group has already sent posts and notices, and created the agents
        _notices,
        _creates,
        redescribed,
        requests,
        voids,
        deliveries,
        audit,
        usages,
        _children,  # this and all following fields are part of the agent's state
        _deferred,
        _moved,
        _spent,
        _handoff,
        _departure,
    ) = effects
    entry = draft.entry
    if usages:
        batch.add_usage(entry, at.toordinal(), usages)
    if requests or voids:
        known = load_requests()
        closed = [one for voiding in voids for one in known.void(entry, voiding, at, batch)]
        draft.requests = [*closed, *known.make(entry, requests, batch)]
    due = to_microseconds(at)
    for out in deliveries:
        row = (entry.number, out.key, out.connector, out.channel, clean_text(out.text), due)
        batch.deliveries.append(row)
    batch.note(entry, at, audit)
    return [_redescribe(new, warm, batch) for new in redescribed]


def _redescribe(new: Redescription, warm: WriterCache, batch: Batch) -> CachedAgent:
    """Replace a descriptor; an ended agent releases its name."""
    entry = warm.get(new.agent_id)
    assert entry is not None  # checked before
    warm.remove(entry)
    entry.descriptor = new.descriptor
    entry.identity = identity_of(
        new.descriptor, ended=entry.id if entry.lifecycle != "active" else None
    )
    warm.add(entry)
    row = (entry.number, entry.identity, encode_descriptor(new.descriptor))
    batch.statements.append(("redescribe", row))
    return entry
