"""Usage sums in the embedded store."""

import sqlite3
from collections.abc import Sequence
from datetime import date

from retinue.agents.state import TokenStats
from retinue.agents.usage import UsageKey
from retinue.ids import OwnerId
from retinue.stores.sqlite.access import Read
from retinue.stores.sqlite.queries import READING
from retinue.stores.usage_port import UsageSum

_FOREVER = (date.min.toordinal(), date.max.toordinal())


class SqliteUsage:
    """Implements `UsageStore` for the embedded store."""

    def __init__(self, read: Read) -> None:
        self._read = read

    async def sums(
        self,
        owner: OwnerId,
        by: UsageKey,
        *,
        first: date | None = None,
        last: date | None = None,
    ) -> Sequence[UsageSum]:
        start = _FOREVER[0] if first is None else first.toordinal()
        end = _FOREVER[1] if last is None else last.toordinal()
        return await self._read(_read_sums, owner, by, start, end)


def _read_sums(
    connection: sqlite3.Connection, owner: OwnerId, by: UsageKey, first: int, last: int
) -> list[UsageSum]:
    rows = connection.execute(READING["usage_sums"], (owner, by, first, last))
    return [
        UsageSum(
            key=date.fromordinal(key).isoformat() if by == "day" else key,
            model=model,
            tokens=TokenStats(
                calls=calls, input=read, output=written, cache_read=hit, cache_write=kept
            ),
        )
        for key, model, calls, read, written, hit, kept in rows
    ]
