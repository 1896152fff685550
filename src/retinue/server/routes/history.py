"""History, in pages forward and backward."""

from collections.abc import Sequence

import msgspec
from starlette.responses import Response

from retinue.errors import UsageError
from retinue.ids import AgentId, OwnerId
from retinue.records import AnyRecord, encode_record
from retinue.server.endpoints import AnyEndpoint, Endpoint, RouteCall, answer
from retinue.server.wire import HistoryPage, HistoryQuery, Nothing
from retinue.stores.port import Store


async def history(call: RouteCall[HistoryQuery, Nothing]) -> Response:
    query, store, owner, agent_id = call.query, call.engine.store, call.owner, call.agent_id
    if query.before is None:
        after, limit = query.after or 0, query.limit
    elif query.after is None:
        end = await _end(store, owner, agent_id, query.before)
        # Seqs have no gaps, so the previous page is found by counting.
        after = max(0, end - query.limit - 1)
        limit = end - after - 1
    else:
        raise UsageError("give either 'after' or 'before'", details={"field": "before"})
    records: Sequence[AnyRecord] = ()
    if limit > 0:
        records = await store.history(owner, agent_id, after=after, limit=limit + 1)
    page = records[:limit]
    has_more = len(records) > limit if query.before is None else after > 0
    return answer(
        HistoryPage(
            records=[msgspec.Raw(encode_record(record)) for record in page],
            cursor=page[-1].seq if page else after,
            first=page[0].seq if page else after + 1,
            has_more=has_more,
        )
    )


async def _end(store: Store, owner: OwnerId, agent_id: AgentId, before: int) -> int:
    """Return `before`, but at most one more than the last seq."""

    async def exists(seq: int) -> bool:
        return await store.record(owner, agent_id, seq) is not None

    await store.agent(owner, agent_id)
    if before <= 1 or await exists(before - 1):
        return before
    low, high = 0, 1  # every seq up to `low` exists, and none from `high` on
    while high < before and await exists(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        if await exists(middle):
            low = middle
        else:
            high = middle
    return low + 1


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/agents/{agent_id}/history",
        summary="Read records, oldest first: after a seq, or the last ones before it",
        run=history,
        query=HistoryQuery,
        body=Nothing,
        answer=HistoryPage,
        refuses=(404,),
    )
]
