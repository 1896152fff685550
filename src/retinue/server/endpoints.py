"""Endpoint declarations: routing, decoding, responses and the facts for OpenAPI."""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from retinue.engine.engine import Engine
from retinue.errors import NotFoundError, RetinueError, StoreFullError
from retinue.ids import AgentId, OwnerId, is_agent_id
from retinue.server.error_responses import HttpError, error_response, internal_error
from retinue.server.event_clients import LiveClients
from retinue.server.guard import PRINCIPAL, Gate, Principal, unauthorized
from retinue.server.options import ServerOptions
from retinue.server.request_decoder import decode_request
from retinue.server.store_health import Pulse
from retinue.server.wire import Nothing

logger = logging.getLogger(__name__)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Q = TypeVar("Q", bound=Struct)
B = TypeVar("B", bound=Struct)

_NOBODY = OwnerId("")
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteServices:
    """The services that endpoints use."""

    engine: Engine
    gate: Gate
    live: LiveClients
    pulse: Pulse
    options: ServerOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCall(Generic[Q, B]):
    """One request, decoded."""

    request: Request
    services: RouteServices
    engine: Engine
    principal: Principal | None  # None only where the endpoint is public
    owner: OwnerId  # empty without a principal
    query: Q
    body: B

    @property
    def decider(self) -> str:
        """The owner and how they were authenticated, for the audit log."""
        principal = self.principal
        return f"{self.owner} ({principal.via})" if principal else self.owner

    @property
    def agent_id(self) -> AgentId:
        return known_agent_id(self.request.path_params["agent_id"])

    def parameter(self, name: str) -> str:
        return self.request.path_params[name]


Plain = RouteCall[Nothing, Nothing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[Q, B]):
    """One method of one path."""

    method: Method
    path: str
    summary: str
    run: Callable[[RouteCall[Q, B]], Awaitable[Response]]
    query: type[Q]
    body: type[B]
    takes: Literal["nothing", "json", "optional json", "bytes"] = "nothing"
    status: int = 200
    answer: type[Struct] | str | None = None  # a media type if not JSON
    refuses: Sequence[int] = ()  # error statuses in addition to the common ones
    answers_too: Sequence[int] = ()  # other statuses with the same body as a success
    is_public: bool = False
    takes_head: bool = True


AnyEndpoint = Endpoint[Any, Any]


def known_agent_id(text: str) -> AgentId:
    """Check the form of an agent id; an invalid one is not found."""
    if not is_agent_id(text):
        raise NotFoundError(f"no agent {text[:64]!r}", details={"agent": text[:64]})
    return AgentId(text)


def answer(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(_encoder.encode(value), status, headers, "application/json")


def no_content() -> Response:
    return Response(status_code=204)


async def _perform(request: Request, endpoint: AnyEndpoint, services: RouteServices) -> Response:
    try:
        principal: Principal | None = request.scope.get(PRINCIPAL)
        if principal is None and not endpoint.is_public:
            raise unauthorized()
        query, body = await decode_request(request, endpoint, services.options)
        call: RouteCall[Any, Any] = RouteCall(
            request=request,
            services=services,
            engine=services.engine,
            principal=principal,
            owner=_NOBODY if principal is None else principal.owner,
            query=query,
            body=body,
        )
        return await endpoint.run(call)
    except RetinueError as error:
        if isinstance(error, StoreFullError):
            services.pulse.doubt()
        return error_response(error)
    except Exception:
        if services.options.is_in_process:
            raise
        logger.exception("request failed", extra={"method": endpoint.method, "path": endpoint.path})
        return error_response(internal_error())


def _no_head() -> HttpError:
    return HttpError(
        405, "method_not_allowed", "a stream does not support HEAD", headers={"Allow": "GET"}
    )


def _route(path: str, endpoints: Sequence[AnyEndpoint], services: RouteServices) -> Route:
    by_method = {endpoint.method: endpoint for endpoint in endpoints}

    async def dispatch(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        endpoint = by_method[method]  # the router refuses all other methods
        if request.method == "HEAD" and not endpoint.takes_head:
            return error_response(_no_head())
        return await _perform(request, endpoint, services)

    return Route(path, dispatch, methods=list(by_method))


def routes_of(endpoints: Iterable[AnyEndpoint], services: RouteServices) -> list[Route]:
    """Create one route per path, so that a 405 response lists all allowed methods."""
    by_path: dict[str, list[AnyEndpoint]] = {}
    for endpoint in endpoints:
        by_path.setdefault(endpoint.path, []).append(endpoint)
    return [_route(path, group, services) for path, group in by_path.items()]
