"""The store port for usage: model calls and tokens, summed by day.

A commit that stores a response counts it in the same transaction (`Effects.usages`). The sums are
kept when their agent is deleted.
"""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from msgspec import Struct

from retinue.agents.state import TokenStats
from retinue.agents.usage import UsageKey
from retinue.ids import OwnerId


class UsageSum(Struct, frozen=True, kw_only=True):
    """The usage of one model under one key: an ISO date, a name or an id."""

    key: str
    model: str
    tokens: TokenStats


class UsageStore(Protocol):
    """Sums of model calls; commits add to them, and they are read here."""

    async def sums(
        self,
        owner: OwnerId,
        by: UsageKey,
        *,
        first: date | None = None,
        last: date | None = None,
    ) -> Sequence[UsageSum]:
        """An owner's sums per key and model, from the first to the last day, in UTC."""
        ...
