"""Fetch strategies: an owner's agent, found by what it is for instead of by its id."""

from typing import Literal, Protocol, assert_never

from retinue.agents.descriptor import Descriptor, HeartbeatDescriptor
from retinue.ids import OwnerId
from retinue.stores.port import Agent

FetchStrategy = Literal["most-recent-foreground", "heartbeat"]


class AgentFinder(Protocol):
    """The part of the store that strategies need."""

    async def find(self, owner: OwnerId, descriptor: Descriptor) -> Agent | None: ...

    async def most_recent_foreground(self, owner: OwnerId) -> Agent | None: ...


async def fetch(store: AgentFinder, owner: OwnerId, strategy: FetchStrategy) -> Agent | None:
    """Find the chat that the owner wrote in last, or the agent of the heartbeat."""
    match strategy:
        case "most-recent-foreground":
            return await store.most_recent_foreground(owner)
        case "heartbeat":
            return await store.find(owner, HeartbeatDescriptor())
        case _:
            assert_never(strategy)
