"""Redirects messages of chats whose user switched to another agent."""

from collections.abc import Collection
from dataclasses import dataclass

from retinue.agents.descriptor import Route, UserDescriptor
from retinue.errors import NotFoundError
from retinue.ids import AgentId, OwnerId
from retinue.stores.port import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Away:
    """The agent that answers a chat instead of its own, and the route back."""

    switched_to: AgentId
    route: Route


class ChatRedirects:
    """Reads the switch from the store, so it survives restarts."""

    def __init__(self, store: Store, connectors: Collection[str]) -> None:
        self._store = store
        self._connectors = connectors

    async def away(self, owner: OwnerId, chat: UserDescriptor) -> Away | None:
        """The agent that answers this chat instead of its own, if it is still active."""
        if chat.connector not in self._connectors:
            return None
        own = await self._store.find(owner, chat)
        if own is None or own.state.switched_to is None:
            return None
        try:
            other = await self._store.agent(owner, own.state.switched_to)
        except NotFoundError:
            return None
        if other.lifecycle != "active":
            return None
        route = Route(agent_id=own.id, connector=chat.connector, channel=chat.channel_id)
        return Away(switched_to=other.id, route=route)
