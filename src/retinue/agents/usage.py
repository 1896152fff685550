"""Usage: what model calls an agent's records tell of, and what people are told of their sums."""

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Literal

from msgspec import Struct, field

from retinue.agents.state import TokenStats
from retinue.records import (
    AnyRecord,
    AssistantRecord,
    HandoffRecord,
    SummaryRecord,
    ToolRecord,
    Usage,
)

UsageKey = Literal["day", "definition", "model", "agent"]


class Spent(Struct, frozen=True, kw_only=True):
    """One model call: when, for which definition, by which model."""

    at: datetime
    definition: str
    model: str
    usage: Usage


def spent(records: Sequence[AnyRecord], definition: str) -> Iterator[Spent]:
    """Give the calls, newest first; `definition` is the agent's own now.

    What came before a handoff was spent by the definition that handed over.
    """
    for record in reversed(records):
        if isinstance(record, HandoffRecord):
            definition = record.source
        elif isinstance(record, AssistantRecord | SummaryRecord):
            if record.usage is not None and record.model:
                yield Spent(
                    at=record.at, definition=definition, model=record.model, usage=record.usage
                )
        elif isinstance(record, ToolRecord):
            for asked in record.asked:
                yield Spent(
                    at=record.at, definition=definition, model=asked.model, usage=asked.usage
                )


class UsageLine(TokenStats, frozen=True, kw_only=True, omit_defaults=False):
    """The calls and tokens under one key; the cost is of those models that have a price."""

    key: str
    name: str  # for people
    cost: float | None = None  # None = no model among them has a price
    is_partial: bool = False  # some models among them have no price


class UsageReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Usage from one day to another, both included, in UTC; the keys with most tokens first."""

    by: UsageKey
    first: date | None = field(name="from")
    last: date | None = field(name="to")
    currency: str
    lines: list[UsageLine]
    total: UsageLine
    unpriced: list[str]  # models without a price
    hidden: int  # lines beyond those that are shown
