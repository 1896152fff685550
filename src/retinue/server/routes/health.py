"""Whether the server is there."""

from starlette.responses import Response

from retinue import __version__
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.wire import Health, Nothing, StoreHealth


async def health(call: Plain) -> Response:
    """Tell strangers that the store answers, and those who may see them its numbers too."""
    if call.principal is None:
        await call.engine.store.cursor()
        return answer(Health(status="ok", version=__version__, store=StoreHealth(ok=True)))
    facts = await call.engine.store.facts()
    ok = not facts.problems
    store = StoreHealth(
        ok=ok,
        kind=facts.kind,
        schema=facts.schema,
        agents=facts.agents,
        items_open=facts.items_open,
        deliveries_open=facts.deliveries_open,
        cursor=facts.cursor,
        bytes=facts.bytes,
        problems=list(facts.problems),
    )
    return answer(Health(status="ok" if ok else "degraded", version=__version__, store=store))


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/health",
        summary="Whether the server is there; with a token also how its store is",
        run=health,
        query=Nothing,
        body=Nothing,
        answer=Health,
        is_public=True,
    )
]
