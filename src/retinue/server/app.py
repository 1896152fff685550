"""The ASGI app: endpoints, the event stream and the web app behind one guard."""

from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from retinue.clock import Clock, SystemClock
from retinue.engine.engine import Engine
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.server.browser_sessions import EndedSessions
from retinue.server.endpoints import AnyEndpoint, Endpoint, Plain, RouteServices, routes_of
from retinue.server.error_responses import error_response, from_starlette
from retinue.server.event_clients import LiveClients
from retinue.server.guard import Gate, Guard, Hosts
from retinue.server.openapi_document import document
from retinue.server.options import ServerOptions
from retinue.server.routes import (
    agents,
    contexts,
    definitions,
    events,
    files,
    health,
    history,
    login,
    messages,
    permissions,
    plugins,
    refusals,
    schedules,
    servers,
    skills,
    usage,
    variables,
    windows,
)
from retinue.server.static_files import STATIC_DIR, WebApp
from retinue.server.store_health import Pulse
from retinue.server.wire import Nothing


async def _openapi(_: Plain) -> Response:
    return Response(document(ENDPOINTS), media_type="application/json")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(from_starlette(error))


ENDPOINTS: list[AnyEndpoint] = [
    *health.ENDPOINTS,
    *messages.ENDPOINTS,
    *agents.ENDPOINTS,
    *history.ENDPOINTS,
    *contexts.ENDPOINTS,
    *permissions.ENDPOINTS,
    *refusals.ENDPOINTS,
    *files.ENDPOINTS,
    *events.ENDPOINTS,
    *definitions.ENDPOINTS,
    *plugins.ENDPOINTS,
    *skills.ENDPOINTS,
    *servers.ENDPOINTS,
    *schedules.ENDPOINTS,
    *variables.ENDPOINTS,
    *windows.ENDPOINTS,
    *usage.ENDPOINTS,
    *login.ENDPOINTS,
    Endpoint(
        method="GET",
        path="/api/openapi.json",
        summary="Describe this API",
        run=_openapi,
        query=Nothing,
        body=Nothing,
        answer="application/json",
    ),
]


def create_app(
    engine: Engine,
    *,
    token: str,
    options: ServerOptions | None = None,
    static_dir: Path = STATIC_DIR,
    clock: Clock | None = None,
    owner: OwnerId = LOCAL_OWNER,
) -> Starlette:
    """Create the app. Requests with the token act as the owner.

    `app.state.services` has the gate that issues login codes.
    """
    options = options or ServerOptions()
    clock = clock or SystemClock()
    ended = EndedSessions(engine.settings.data_dir / "ended-sessions", clock)
    services = RouteServices(
        engine=engine,
        gate=Gate(
            token,
            clock,
            ended=ended,
            owner=owner,
            via="terminal" if options.is_in_process else "token",
        ),
        live=LiveClients(),
        pulse=Pulse(engine.store, clock),
        options=options,
    )
    guard = Middleware(
        Guard,
        gate=services.gate,
        hosts=Hosts(
            options.host,
            allowed_hosts=options.allowed_hosts,
            allowed_origins=options.allowed_origins,
        ),
        public_paths={endpoint.path for endpoint in ENDPOINTS if endpoint.is_public},
    )
    app = Starlette(
        routes=[*routes_of(ENDPOINTS, services), events.socket_route(services)],
        middleware=[guard],
        exception_handlers={HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    app.router.default = WebApp(static_dir)
    app.state.services = services
    return app
