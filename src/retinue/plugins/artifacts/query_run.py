"""Queries over what owners keep, from the text to the rows that are shown."""

import asyncio
from collections.abc import Sequence
from typing import Any

from retinue.agents.artifact import ItemList, ListItem, Note
from retinue.ids import OwnerId
from retinue.plugins.artifacts.presentation import page, shown_row
from retinue.plugins.artifacts.query.date_values import Present
from retinue.plugins.artifacts.query.evaluation import QueryEvaluation, prepared
from retinue.plugins.artifacts.query.fields import Fields, Row
from retinue.plugins.artifacts.query.parser import parse
from retinue.plugins.artifacts.query.prefilter import narrowing_of
from retinue.plugins.artifacts.repository import ArtifactRepository
from retinue.stores.artifact_port import StoredArtifact

_MANY = 500  # more rows than that are asked beside everything else that goes on

Page = tuple[list[dict[str, Any]], dict[str, Any]]
"""The rows that are shown, and what is told of those that are not."""


def check_query(query: str, lists: Sequence[ItemList], present: Present) -> str:
    """Refuse a query that could not be answered now; gives it as it is written best."""
    parsed = parse(query)
    prepared(parsed, Fields(lists), present)
    return str(parsed)


async def answered(
    query: str,
    stored: Sequence[StoredArtifact],
    of: ItemList,
    present: Present,
    *,
    limit: int,
    offset: int,
) -> Page:
    """Give a page of what a query finds among the items of a list. Raises `QueryError`."""
    answering = prepared(parse(query), Fields([of]), present)
    return await _page(answering, stored, [of], limit=limit, offset=offset)


async def answered_everywhere(
    desk: ArtifactRepository,
    owner: OwnerId,
    query: str,
    present: Present,
    *,
    limit: int,
    offset: int,
) -> Page:
    """Ask all items and notes of an owner; those that cannot be meant are not read."""
    lists = await desk.lists(owner)
    parsed = parse(query)
    answering = prepared(parsed, Fields(lists), present)
    stored = await desk.store.narrowed(owner, narrowing_of(parsed, lists))
    return await _page(answering, stored, lists, limit=limit, offset=offset)


async def _page(
    answering: QueryEvaluation,
    stored: Sequence[StoredArtifact],
    lists: Sequence[ItemList],
    *,
    limit: int,
    offset: int,
) -> Page:
    def work() -> Page:
        found = answering.answer(_rows_of(stored, lists))
        part, told = page(found, limit=limit, offset=offset)
        by_id = {one.artifact.id: one for one in stored}
        return [shown_row(row, by_id[row.of.id], answering.show) for row in part], told

    return await asyncio.to_thread(work) if len(stored) > _MANY else work()


def _rows_of(stored: Sequence[StoredArtifact], lists: Sequence[ItemList]) -> list[Row]:
    """Give items and notes as queries see them."""
    known = {one.id: one for one in lists}
    return [
        Row(
            of=one.artifact,
            list=None if one.list_id is None else known.get(one.list_id),
            position=one.position,
        )
        for one in stored
        if isinstance(one.artifact, ListItem | Note)
    ]
