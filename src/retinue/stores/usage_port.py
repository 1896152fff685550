"""The usage's part of the store port: what models were asked, summed by day.

A commit that stores a response counts it in the same transaction (`Commit.usages`). The sums stay
when their agent is deleted: its tokens are spent.
"""

from collections.abc import Sequence
from datetime import date
from typing import Protocol

from msgspec import Struct

from retinue.agents.state import TokenStats
from retinue.agents.usage import UsageKey
from retinue.ids import OwnerId


class UsageSum(Struct, frozen=True, kw_only=True):
    """What one model was asked under one key: a day as ISO writes it, or a name or an id."""

    key: str
    model: str
    tokens: TokenStats


class UsageStore(Protocol):
    """Sums over model calls; they are made by commits, and read here."""

    async def sums(
        self,
        owner: OwnerId,
        by: UsageKey,
        *,
        first: date | None = None,
        last: date | None = None,
    ) -> Sequence[UsageSum]:
        """An owner's sums for each key and model, from the first day to the last, in UTC."""
        ...
