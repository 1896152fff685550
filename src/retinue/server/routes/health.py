"""The server's health."""

from starlette.responses import Response

from retinue import __version__
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, answer
from retinue.server.error_responses import RETRY_SECONDS
from retinue.server.wire import Health, Nothing, StoreHealth


async def health(call: Plain) -> Response:
    """Return whether messages can be stored and, if authenticated, the store's details."""
    refusal = await call.services.pulse.problem()
    if call.principal is None:
        reason = "nothing can be stored; log in to see the reason" if refusal else ""
        return _answer(reason, StoreHealth(ok=not refusal), is_refusing=bool(refusal))
    facts = await call.engine.store.facts()
    problems = [refusal, *facts.problems] if refusal else list(facts.problems)
    store = StoreHealth(
        ok=not problems,
        kind=facts.kind,
        schema=facts.schema,
        agents=facts.agents,
        items_open=facts.items_open,
        deliveries_open=facts.deliveries_open,
        cursor=facts.cursor,
        bytes=facts.bytes,
        problems=list(facts.problems),
    )
    return _answer("; ".join(problems), store, is_refusing=bool(refusal))


def _answer(reason: str, store: StoreHealth, *, is_refusing: bool) -> Response:
    status = "degraded" if reason else "ok"
    health = Health(status=status, reason=reason, version=__version__, store=store)
    headers = {"Retry-After": RETRY_SECONDS} if is_refusing else None
    return answer(health, 503 if is_refusing else 200, headers)


ENDPOINTS: list[AnyEndpoint] = [
    Endpoint(
        method="GET",
        path="/api/health",
        summary="Read whether messages can be stored (503 if not); with a token, also details",
        run=health,
        query=Nothing,
        body=Nothing,
        answer=Health,
        answers_too=(503,),
        is_public=True,
    )
]
