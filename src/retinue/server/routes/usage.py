"""Token usage and cost."""

from starlette.responses import Response

from retinue.agents.usage import UsageReport
from retinue.engine.feed.usage_summary import UsageSummaries
from retinue.errors import UsageError
from retinue.server.endpoints import AnyEndpoint, Endpoint, RouteCall, answer
from retinue.server.wire import Nothing, UsageQuery


async def usage(call: RouteCall[UsageQuery, Nothing]) -> Response:
    query, engine = call.query, call.engine
    if query.first is not None and query.last is not None and query.first > query.last:
        raise UsageError("parameter 'from': is after 'to'")
    summaries = UsageSummaries(engine.store, engine.settings, engine.catalog)
    return answer(await summaries.report(call.owner, query.by, first=query.first, last=query.last))


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/usage",
        summary="Read token usage and cost by day, definition, model or agent",
        run=usage,
        query=UsageQuery,
        body=Nothing,
        answer=UsageReport,
    ),
]
