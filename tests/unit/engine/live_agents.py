"""Live agents, items and drafts built in memory, for tests of what a step decides and writes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import structs

from retinue.agents.descriptor import Descriptor, UserDescriptor, kind_of
from retinue.agents.inbox import Fate, Item, ItemBody, ItemKind, Sender
from retinue.agents.state import AgentState, Turn
from retinue.engine.agent.live_agent import Draft, LiveAgent
from retinue.ids import LOCAL_OWNER, AgentId, ItemId
from retinue.records import KnownRecord
from retinue.stores.port import Agent, FateChange, Snapshot

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CHAT = UserDescriptor(connector="web", user_id="ada", channel_id="1")
PERSON = Sender(type="user", id="ada")


def item(
    name: str = "m1", *, kind: ItemKind = "message", silent: bool = False, **body: Any
) -> Item:
    """An item of the agent's inbox; its number is the digits of its name."""
    said: dict[str, Any] = {"text": "hi", "sender": PERSON} | body
    return Item(
        id=ItemId(name),
        agent_id=AgentId("agent"),
        seq=int("".join(letter for letter in name if letter.isdigit())),
        kind=kind,
        silent=silent,
        body=ItemBody(**said),
        admitted_at=NOW,
    )


def turn_of(*items: Item, **changes: Any) -> Turn:
    plain = Turn(items=[one.id for one in items], first_seq=1)
    return structs.replace(plain, **changes)


def live_agent(
    *,
    descriptor: Descriptor = CHAT,
    waiting: Sequence[Item] = (),
    running: Sequence[Item] = (),
    records: Sequence[KnownRecord] = (),
    **state: Any,
) -> LiveAgent:
    """An agent with these items; a turn goes on when some are running."""
    turn = turn_of(*running) if running else None
    plain = AgentState(created_at=NOW, updated_at=NOW, turn=turn)
    agent = Agent(
        id=AgentId("agent"),
        owner=LOCAL_OWNER,
        kind=kind_of(descriptor),
        descriptor=descriptor,
        definition="helper",
        state=structs.replace(plain, **state),
        lifecycle="active",
        queued=len(waiting),
        running=len(running),
    )
    items = [*waiting, *(structs.replace(one, fate="running") for one in running)]
    return LiveAgent(
        Snapshot(agent=agent, epoch=1, next_seq=len(records) + 1, records=records, items=items)
    )


def draft_of(live: LiveAgent, *fates: FateChange, **changes: Any) -> Draft:
    """A draft that gives items these fates; `changes` are changes of the agent's state."""
    state = structs.replace(live.state, **changes) if changes else live.state
    return Draft(at=NOW, epoch=live.epoch, next_seq=live.next_seq, state=state, fates=list(fates))


def ended(one: Item, fate: Fate = "answered", **more: Any) -> FateChange:
    return FateChange(item_id=one.id, fate=fate, **more)
