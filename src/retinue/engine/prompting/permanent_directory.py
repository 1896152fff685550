"""The permanent agents of each owner, as their other agents are told of them."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from msgspec import Struct

from retinue.agents.context import neutral
from retinue.agents.descriptor import PermanentDescriptor
from retinue.definitions.catalog import Catalog
from retinue.engine.lineage.peers import may_know
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import AgentQuery, Change, Store

WRITING_TOOL = "send_agent_message"
"""Only agents that can write to others are told whom there is to write to."""

_PAGE = 200
_OWNERS = 10_000
_HOW_TO_WRITE = "Write to one with send_agent_message and its id as agentId."


class Listed(Struct, frozen=True, kw_only=True):
    """A permanent agent, as lists tell it."""

    id: AgentId
    name: str
    description: str
    definition: str


async def permanent_agents(store: Store, owner: OwnerId) -> Sequence[Listed]:
    """Those that have not ended, by name."""
    page = await store.agents(AgentQuery(owner=owner, kind="permanent", limit=_PAGE))
    found = [
        Listed(
            id=agent.id,
            name=agent.descriptor.name,
            description=agent.descriptor.description,
            definition=agent.definition,
        )
        for agent in page.agents
        if agent.lifecycle == "active" and isinstance(agent.descriptor, PermanentDescriptor)
    ]
    return sorted(found, key=lambda one: (one.name.casefold(), one.id))


class PermanentDirectory:
    """Reads each owner's list once, and again when one of its agents changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._listed: dict[OwnerId, Sequence[Listed]] = {}
        self.changes = 0  # grows when what was told may be untrue

    def is_loaded(self, owner: OwnerId) -> bool:
        return owner in self._listed

    async def load(self, owner: OwnerId) -> None:
        if owner in self._listed:
            return
        before = self.changes
        found = await permanent_agents(self._store, owner)
        if len(self._listed) >= _OWNERS:
            self._listed.clear()
        if before == self.changes:  # else it may be old already, and is read again next time
            self._listed[owner] = found

    def follow(self, change: Change) -> None:
        """Drop the owner's list after a change to a permanent agent or a deletion."""
        if not change.is_deleted or self._lists(change.owner, change.agent_id):
            self.changes += 1
            self._listed.pop(change.owner, None)

    def _lists(self, owner: OwnerId, agent_id: AgentId) -> bool:
        return any(one.id == agent_id for one in self._listed.get(owner, ()))

    def section(self, owner: OwnerId, catalog: Catalog, *, itself: AgentId, definition: str) -> str:
        """What an agent is told of the others that it may know; nothing when there are none."""
        listed = self._listed.get(owner)
        if not listed:
            return ""
        others = [
            one
            for one in listed
            if one.id != itself and may_know(catalog, definition, one.definition)
        ]
        if not others:
            return ""
        lines = [
            f"<agent id={quoteattr(one.id)} name={quoteattr(neutral(one.name))}>"
            f"{escape(neutral(one.description))}</agent>"
            for one in others
        ]
        return "\n".join(["<permanent_agents>", *lines, "</permanent_agents>", _HOW_TO_WRITE])
