"""Token usage: the model calls in an agent's records, and reports of their totals."""

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
    """Yield the model calls, newest first; `definition` is the agent's current one.

    Calls before a handoff belong to the definition that handed over.
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
    """Calls and tokens of one key; the cost covers the models that have a price."""

    key: str
    name: str  # display name
    cost: float | None = None  # None = no model has a price
    is_partial: bool = False  # some models have no price


class UsageReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Usage between two days (inclusive, UTC), with the largest keys first."""

    by: UsageKey
    first: date | None = field(name="from")
    last: date | None = field(name="to")
    currency: str
    lines: list[UsageLine]
    total: UsageLine
    unpriced: list[str]  # models without a price
    hidden: int  # the number of lines that are left out
