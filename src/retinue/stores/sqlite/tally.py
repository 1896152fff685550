"""The tokens of one group, added up before they are written."""

from collections.abc import Iterable, Iterator, Sequence

from retinue.agents.usage import Spent, spent
from retinue.records import AnyRecord, Usage, decode_record
from retinue.stores.sqlite.writer_cache import CachedAgent

Cell = tuple[str, int, str, str, str]
"""Owner, day, definition, model, agent."""

_MARKS = (b'"usage":', b'"kind":"handoff"')  # of the records that are worth decoding


class UsageTally:
    """The sums of one group, which the table adds to what it has."""

    __slots__ = ("_cells",)

    def __init__(self) -> None:
        self._cells: dict[Cell, list[int]] = {}

    def add(self, entry: CachedAgent, day: int, usages: Iterable[tuple[str, Usage]]) -> None:
        for model, usage in usages:
            self._count((entry.owner, day, entry.definition, model, entry.id), usage)

    def add_spent(self, entry: CachedAgent, calls: Iterable[Spent]) -> None:
        for one in calls:
            cell = (entry.owner, one.at.toordinal(), one.definition, one.model, entry.id)
            self._count(cell, one.usage)

    def _count(self, cell: Cell, usage: Usage) -> None:
        sums = self._cells.get(cell)
        if sums is None:
            sums = self._cells[cell] = [0, 0, 0, 0, 0]
        sums[0] += 1
        sums[1] += usage.input
        sums[2] += usage.output
        sums[3] += usage.cache_read
        sums[4] += usage.cache_write

    def __bool__(self) -> bool:
        return bool(self._cells)

    @property
    def rows(self) -> Sequence[tuple[object, ...]]:
        return [(*cell, *sums) for cell, sums in self._cells.items()]


def restored(entry: CachedAgent, lines: Sequence[bytes]) -> UsageTally:
    """The sums that an agent's history tells of."""
    tally = UsageTally()
    tally.add_spent(entry, spent(list(_telling(lines)), entry.definition))
    return tally


def _telling(lines: Sequence[bytes]) -> Iterator[AnyRecord]:
    for line in lines:
        if any(mark in line for mark in _MARKS):
            yield decode_record(line)
