"""What a group keeps count of, and what its operations do to agents."""

from collections.abc import Sequence

from retinue.agents.inbox import Item
from retinue.agents.request import Request
from retinue.records import AnyRecord
from retinue.stores.port import Agent, Change
from retinue.stores.sqlite.writer_cache import CachedAgent


class Counters:
    """The next numbers of rows; the database's maxima, kept in memory."""

    __slots__ = ("agent", "cursor", "floor", "item")

    def __init__(self, agent: int, item: int, cursor: int, floor: int) -> None:
        self.agent = agent
        self.item = item
        self.cursor = cursor
        self.floor = floor  # changes up to this cursor are pruned


class Claimed:
    """What a claim found in memory; the records are read afterwards, nobody can add any."""

    __slots__ = ("agent", "context_from", "epoch", "items", "next_seq", "number")

    def __init__(self, entry: CachedAgent) -> None:
        self.number = entry.number
        self.agent = entry.agent()
        self.epoch = entry.epoch
        self.next_seq = entry.next_seq
        self.context_from = entry.context_from
        self.items = tuple(open_item.item for open_item in entry.open.values())


class AgentChange:
    """What one operation does to one agent."""

    __slots__ = ("entry", "items", "numbers", "records", "requests")

    def __init__(self, entry: CachedAgent) -> None:
        self.entry = entry
        self.records: Sequence[AnyRecord] = ()
        self.items: list[Item] = []
        self.numbers: list[int] = []
        self.requests: Sequence[Request] = ()


def changes_of(drafts: Sequence[tuple[int, AgentChange]]) -> list[Change]:
    """Give the feed of a group's drafts, each agent as it is at the end of it."""
    agents: dict[int, Agent] = {}
    changes: list[Change] = []
    for cursor, draft in drafts:
        entry = draft.entry
        agent = agents.get(entry.number)
        if agent is None:
            agent = agents[entry.number] = entry.agent()
        changes.append(
            Change(
                cursor=cursor,
                agent_id=entry.id,
                owner=entry.owner,
                agent=agent,
                records=draft.records,
                items=draft.items or (),
                requests=draft.requests,
            )
        )
    return changes
