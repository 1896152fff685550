"""A descriptor that changes: only a permanent agent's does, and its name is its identity."""

from collections.abc import Sequence

from retinue.agents.descriptor import Descriptor, encode_descriptor, identity_of
from retinue.errors import ConflictError, TerminatedError
from retinue.stores.port import Redescription
from retinue.stores.sqlite.batch import Batch
from retinue.stores.sqlite.writer_cache import CachedAgent, WriterCache


def check_redescription(warm: WriterCache, entry: CachedAgent, descriptor: Descriptor) -> None:
    """Raise what the caller has to hear."""
    if entry.lifecycle != "active":
        raise TerminatedError(f"the agent {entry.id!r} has ended")
    holder = warm.find(entry.owner, identity_of(descriptor))
    if holder is not None and holder is not entry:
        raise ConflictError(f"another agent has that name already: {holder.id}")


def redescribe(warm: WriterCache, batch: Batch, entry: CachedAgent, descriptor: Descriptor) -> None:
    """Replace the descriptor; the name of an agent that ended is free for another."""
    warm.remove(entry)
    entry.descriptor = descriptor
    entry.identity = identity_of(
        descriptor, ended=entry.id if entry.lifecycle != "active" else None
    )
    warm.add(entry)
    row = (entry.number, entry.identity, encode_descriptor(descriptor))
    batch.statements.append(("redescribe", row))


def redescribe_all(
    warm: WriterCache, batch: Batch, changes: Sequence[Redescription]
) -> Sequence[CachedAgent]:
    """Replace the descriptors of a commit that was checked; gives whom it changed."""
    changed: list[CachedAgent] = []
    for new in changes:
        entry = warm.get(new.agent_id)
        assert entry is not None  # it was checked
        redescribe(warm, batch, entry, new.descriptor)
        changed.append(entry)
    return changed
