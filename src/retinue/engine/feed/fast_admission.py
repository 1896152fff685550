"""Admits a message and begins its turn in one commit if the agent is idle.

This saves one disk sync before the model is called.
"""

import asyncio
from dataclasses import dataclass

from retinue.agents.inbox import Item
from retinue.engine.agent.limits import Limits
from retinue.engine.agent.live_agent import LiveAgent
from retinue.engine.feed.dispatch import Dispatch, Priority
from retinue.engine.feed.outcomes import Outcomes
from retinue.ids import AgentId
from retinue.stores.port import Post, Receipt


@dataclass(slots=True, kw_only=True)
class Arrival:
    """A message being admitted, and the future of its sender."""

    post: Post
    done: "asyncio.Future[Receipt | None]"

    def settle(self, result: Receipt | Exception | None) -> None:
        """Answer the sender; None means that nothing was stored."""
        if not self.done.done():
            if isinstance(result, Exception):
                self.done.set_exception(result)
            else:
                self.done.set_result(result)


class FastAdmission:
    """At most one arrival per agent: the run that it wakes takes it or returns it."""

    def __init__(self, dispatch: Dispatch, outcomes: Outcomes, limits: Limits) -> None:
        self._dispatch = dispatch
        self._outcomes = outcomes
        self._limits = limits
        self._waiting: dict[AgentId, Arrival] = {}
        self._coming: dict[AgentId, Arrival] = {}  # until their senders are answered

    async def offer(self, live: LiveAgent, priority: Priority, post: Post) -> Receipt | None:
        """Offer a message to an idle agent; None if it must be admitted as usual."""
        ahead = self._coming.get(live.id)
        if ahead is not None:
            await asyncio.wait({ahead.done})  # to keep messages in order
            return None
        if (
            live.owner != post.owner
            or not self._dispatch.is_free(live.id, priority)
            or not self.can_begin(live, post)
        ):
            return None
        arrival = Arrival(post=post, done=asyncio.get_running_loop().create_future())
        self._waiting[live.id] = self._coming[live.id] = arrival
        self._dispatch.wake(live.id, priority)
        try:
            return await arrival.done
        finally:
            del self._coming[live.id]

    def can_begin(self, live: LiveAgent, post: Post) -> bool:
        """Whether nothing precedes this message, and no burst must be awaited."""
        item = post.item
        is_gathered = bool(item.body.sender.connector and self._limits.gather_seconds)
        is_busy = live.state.turn or live.waiting or live.is_ended
        return not (is_busy or is_gathered or item.silent)

    def take(self, agent_id: AgentId) -> Arrival | None:
        return self._waiting.pop(agent_id, None) if self._waiting else None

    def taken(self, arrival: Arrival, receipt: Receipt) -> None:
        if not receipt.is_repeat:
            self._outcomes.admitted(arrival.post.owner, receipt.item)
        arrival.settle(receipt)

    def turn_away(self, agent_id: AgentId) -> None:
        """Return an arrival that the run did not take, so it is admitted as usual."""
        arrival = self.take(agent_id)
        if arrival is not None:
            arrival.settle(None)

    def close(self) -> None:
        for agent_id in list(self._waiting):
            self.turn_away(agent_id)


def arriving_item(agent_id: AgentId, post: Post) -> Item:
    """The item before it has a place in the inbox."""
    new = post.item
    return Item(
        id=new.id,
        agent_id=agent_id,
        seq=0,
        kind=new.kind,
        silent=new.silent,
        body=new.body,
        admitted_at=new.admitted_at,
    )
