"""Queries over what owners keep, from the text to the rows that are shown."""

from collections.abc import Sequence
from typing import Any

from retinue.agents.artifact import ItemList, ListItem, Note
from retinue.ids import OwnerId
from retinue.plugins.artifacts.desk import Desk
from retinue.plugins.artifacts.query.answering import prepared
from retinue.plugins.artifacts.query.fields import Fields, Row
from retinue.plugins.artifacts.query.moments import Present
from retinue.plugins.artifacts.query.parsing import parse
from retinue.plugins.artifacts.showing import shown_row
from retinue.stores.artifact_port import StoredArtifact

Stored = tuple[Row, StoredArtifact]


def rows_of(stored: Sequence[StoredArtifact], lists: Sequence[ItemList]) -> list[Stored]:
    """Give items and notes as queries see them."""
    known = {one.id: one for one in lists}
    return [
        (
            Row(
                of=one.artifact,
                list=None if one.list_id is None else known.get(one.list_id),
                position=one.position,
            ),
            one,
        )
        for one in stored
        if isinstance(one.artifact, ListItem | Note)
    ]


def check_query(query: str, lists: Sequence[ItemList], present: Present) -> str:
    """Refuse a query that could not be answered now; gives it as it is written best."""
    parsed = parse(query)
    prepared(parsed, Fields(lists), present)
    return str(parsed)


def answered(
    query: str, rows: Sequence[Stored], lists: Sequence[ItemList], present: Present
) -> list[dict[str, Any]]:
    """Give what a query shows of the rows that it finds. Raises `QueryError`."""
    answering = prepared(parse(query), Fields(lists), present)
    stored = {id(row): one for row, one in rows}
    found = answering.answer(row for row, _ in rows)
    return [shown_row(row, stored[id(row)], answering.show) for row in found]


async def answered_everywhere(
    desk: Desk, owner: OwnerId, query: str, present: Present
) -> list[dict[str, Any]]:
    """Ask all items and notes of an owner."""
    lists = await desk.lists(owner)
    items = await desk.store.all(owner, "item")
    notes = await desk.store.all(owner, "note")
    return answered(query, rows_of([*items, *notes], lists), lists, present)
