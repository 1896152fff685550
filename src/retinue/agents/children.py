"""The registry of subagents in a parent's state, and the subagent's link to its parent.

A child's lifecycle and the status text that it reports are stored separately, so that no status
text can be mistaken for the end of the child.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct, structs

from retinue.definitions.subagent_config import ParentCommunication
from retinue.ids import AgentId, SideName

ChildLifecycle = Literal["running", "idle", "failed", "terminated"]

_MOST_ENDED = 16  # ended children that are kept in the registry


class ChildTerms(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A subagent's relation to its parent; part of the subagent's state."""

    parent: AgentId
    is_resumable: bool = False  # if not, it ends with its first run
    is_explicit: bool = False  # it reports to its parent only through a tool
    parent_side: SideName = "side_a"  # the side that owns it, if the parent has two


class ChildEntry(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """One subagent in its parent's registry."""

    reference: AgentId
    name: str  # the name of the definition
    created_at: datetime
    title: str = ""
    is_resumable: bool = False
    is_blocking: bool = True
    thread_name: str = ""
    receives: SideName = "side_a"
    side: SideName = "side_a"  # the side that owns it, if the parent has two
    parent_communication: ParentCommunication = "implicit"
    lifecycle: ChildLifecycle = "running"
    status_text: str = ""
    failure: str = ""  # why its last run returned no result

    @property
    def status(self) -> str:
        """The status that clients show."""
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
    """A change of a registry entry; part of the item that reports the change, if there is one."""

    reference: AgentId
    lifecycle: ChildLifecycle | None = None
    status_text: str | None = None
    failure: str = ""


def registered(
    entries: Sequence[ChildEntry], news: Sequence[ChildEntry | ChildUpdate]
) -> list[ChildEntry]:
    """Apply new entries and updates to the registry; a terminated child stays terminated."""
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
    """List the addressable subagents of a side for its prompt; empty if there are none."""
    own = (entry for entry in entries if entry.is_addressable and entry.side == side)
    shown = sorted(own, key=lambda entry: entry.created_at)
    if not shown:
        return ""
    lines = [_line(entry) for entry in shown]
    return "\n".join(["Your subagents. Address them by reference with subagent_message:", *lines])


def _line(entry: ChildEntry) -> str:
    said = f" ({' '.join(entry.status_text.split())})" if entry.status_text else ""
    return f'- {entry.reference}: {entry.name} "{entry.thread_name}", {entry.lifecycle}{said}'
