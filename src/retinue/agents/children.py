"""Children that an agent started as subagents: what the parent keeps of each, and the child of it.

What a child is doing (its lifecycle) and what it says about that (its status text) are stored
apart, so that no child can end itself in its parent's eyes by saying a certain word.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct, structs

from retinue.definitions.subagent_config import ParentCommunication
from retinue.ids import AgentId, SideName

ChildLifecycle = Literal["running", "idle", "failed", "terminated"]

_MOST_ENDED = 16  # of those that ended, so many stay in the registry


class ChildTerms(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """On what terms an agent is the subagent of another; part of its own state."""

    parent: AgentId
    is_resumable: bool = False  # else it ends with its first run
    is_explicit: bool = False  # its parent hears only what it is told by a tool
    parent_side: SideName = "side_a"  # whose prompt it belongs to, where the parent has two


class ChildEntry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One line of a parent's registry."""

    reference: AgentId
    name: str  # the definition
    description: str
    created_at: datetime
    title: str = ""
    is_resumable: bool = False
    is_blocking: bool = True
    thread_name: str = ""
    spawn_group_id: str = ""  # the response whose calls made it and its siblings
    receives: SideName = "side_a"
    side: SideName = "side_a"  # whose it is, where the parent has two
    parent_communication: ParentCommunication = "implicit"
    lifecycle: ChildLifecycle = "running"
    status_text: str = ""
    failure: str = ""  # why its last run gave no result

    @property
    def status(self) -> str:
        """The one word or text that clients are shown."""
        return (
            self.status_text
            if self.lifecycle == "running" and self.status_text
            else (self.lifecycle)
        )

    @property
    def is_live(self) -> bool:
        return self.lifecycle != "terminated"

    @property
    def is_addressable(self) -> bool:
        return self.is_resumable and self.is_live


class ChildUpdate(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What changed about a child; travels in the item that tells of it, if any does."""

    reference: AgentId
    lifecycle: ChildLifecycle | None = None
    status_text: str | None = None
    failure: str = ""


def registered(
    entries: Sequence[ChildEntry], news: Sequence[ChildEntry | ChildUpdate]
) -> list[ChildEntry]:
    """The registry with what is new; a child that ended stays ended."""
    known = {entry.reference: entry for entry in entries}
    for new in news:
        if isinstance(new, ChildEntry):
            known[new.reference] = new
        elif new.reference in known:
            known[new.reference] = _updated(known[new.reference], new)
    ended = [entry.reference for entry in known.values() if not entry.is_live]
    for reference in ended[:-_MOST_ENDED]:
        del known[reference]
    return list(known.values())


def _updated(entry: ChildEntry, update: ChildUpdate) -> ChildEntry:
    if not entry.is_live:
        return entry
    return structs.replace(
        entry,
        lifecycle=entry.lifecycle if update.lifecycle is None else update.lifecycle,
        failure=entry.failure if update.lifecycle is None else update.failure,
        status_text=entry.status_text if update.status_text is None else update.status_text,
    )


def registry_text(entries: Sequence[ChildEntry], side: SideName) -> str:
    """What the model on a side of the parent is told; empty when it can address nobody."""
    own = (entry for entry in entries if entry.is_addressable and entry.side == side)
    shown = sorted(own, key=lambda entry: entry.created_at)
    if not shown:
        return ""
    lines = [_line(entry) for entry in shown]
    return "\n".join(["Your subagents, which subagent_message reaches by reference:", *lines])


def _line(entry: ChildEntry) -> str:
    said = f" ({' '.join(entry.status_text.split())})" if entry.status_text else ""
    return f'- {entry.reference}: {entry.name} "{entry.thread_name}", {entry.lifecycle}{said}'
