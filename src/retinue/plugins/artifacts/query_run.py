"""Runs queries over items and notes, from text to result rows."""

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

_MANY = 500  # above this number of rows, a query runs in a thread

Page = tuple[list[dict[str, Any]], dict[str, Any]]
"""The rows of a page, and information about the rest."""


def check_query(query: str, lists: Sequence[ItemList], present: Present) -> str:
    """Validate a query and return it in normalized form."""
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
    """Run a query over the items of a list. Raises `QueryError`."""
    evaluation = prepared(parse(query), Fields([of]), present)
    return await _page(evaluation, stored, [of], limit=limit, offset=offset)


async def answered_everywhere(
    repository: ArtifactRepository,
    owner: OwnerId,
    query: str,
    present: Present,
    *,
    limit: int,
    offset: int,
) -> Page:
    """Run a query over all items and notes of an owner; the store filters first."""
    lists = await repository.lists(owner)
    parsed = parse(query)
    evaluation = prepared(parsed, Fields(lists), present)
    stored = await repository.store.narrowed(owner, narrowing_of(parsed, lists))
    return await _page(evaluation, stored, lists, limit=limit, offset=offset)


async def _page(
    evaluation: QueryEvaluation,
    stored: Sequence[StoredArtifact],
    lists: Sequence[ItemList],
    *,
    limit: int,
    offset: int,
) -> Page:
    def work() -> Page:
        found = evaluation.answer(_rows_of(stored, lists))
        part, info = page(found, limit=limit, offset=offset)
        by_id = {one.artifact.id: one for one in stored}
        return [shown_row(row, by_id[row.of.id], evaluation.show) for row in part], info

    return await asyncio.to_thread(work) if len(stored) > _MANY else work()


def _rows_of(stored: Sequence[StoredArtifact], lists: Sequence[ItemList]) -> list[Row]:
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
