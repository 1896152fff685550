"""What a group keeps count of, and what its operations do to agents."""

from collections.abc import Sequence

from retinue.agents.inbox import Item
from retinue.agents.request import Request
from retinue.messages import AnyRecord
from retinue.stores.sqlite.warm import Entry


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

    def __init__(self, entry: Entry) -> None:
        self.number = entry.number
        self.agent = entry.agent()
        self.epoch = entry.epoch
        self.next_seq = entry.next_seq
        self.context_from = entry.context_from
        self.items = tuple(open_item.item for open_item in entry.open.values())


class Draft:
    """What one operation does to one agent."""

    __slots__ = ("entry", "items", "numbers", "records", "requests")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.records: Sequence[AnyRecord] = ()
        self.items: list[Item] = []
        self.numbers: list[int] = []
        self.requests: Sequence[Request] = ()
