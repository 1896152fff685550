"""What stands before every operation, page and socket: Host, credentials, Origin, headers."""

from collections.abc import Collection, Mapping
from urllib.parse import unquote_to_bytes

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retinue.server.auth import Gate, Principal, client_address, unauthorized
from retinue.server.endpoints import PRINCIPAL
from retinue.server.error_responses import HttpError, error_response
from retinue.server.hosts import Hosts

API = ("/api/", "/threads/")
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; font-src 'self'; manifest-src 'self'; frame-ancestors 'none';"
    " base-uri 'none'; form-action 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer that does not say otherwise."""

_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def forbidden(message: str) -> HttpError:
    return HttpError(403, "forbidden", message)


def _only(headers: Headers, name: str) -> str | None:
    """Give a header that must not be repeated; two of them would let a check and its use differ."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise HttpError(400, "invalid", f"the header {name} is given more than once")
    return values[0] if values else None


def _cookie(headers: Headers, name: str) -> str | None:
    for line in headers.getlist("cookie"):
        if name in line and (value := cookie_parser(line).get(name)):
            return value
    return None


class Guard:
    """ASGI middleware; nothing behind it runs for a request that it refuses."""

    def __init__(
        self, app: ASGIApp, *, gate: Gate, hosts: Hosts, public_paths: Collection[str]
    ) -> None:
        self._app = app
        self._gate = gate
        self._hosts = hosts
        self._public = frozenset(public_paths)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        try:
            scope[PRINCIPAL] = self._admit(scope)
        except HttpError as error:
            await self._refuse(error_response(error), scope, receive, send)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._app(scope, receive, _with_headers(send))

    async def _refuse(self, response: Response, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await receive()  # the handshake is answered only after it was read
        await response(scope, receive, _with_headers(send))

    def _admit(self, scope: Scope) -> Principal | None:
        headers = Headers(scope=scope)
        authority = _only(headers, "host")
        if authority is None or not self._hosts.knows(authority):
            raise HttpError(
                400,
                "unknown_host",
                "this server does not answer under that name; add it to allowedHosts in [server]",
            )
        _check_path(scope)
        if not scope["path"].startswith(API):
            return None
        principal = self._principal(scope, headers)
        origin = _only(headers, "origin")
        is_own = origin is not None and self._hosts.is_own_origin(origin, authority)
        if scope["type"] == "websocket":
            if not is_own and (origin is not None or _is_browser(principal)):
                raise forbidden("a page of another origin may not connect here")
        elif scope["method"] not in _SAFE_METHODS:
            self._check_same_site(scope, headers, principal, origin=origin, is_own=is_own)
        if principal is None and scope["path"] not in self._public:
            raise unauthorized()
        return principal

    def _check_same_site(
        self,
        scope: Scope,
        headers: Headers,
        principal: Principal | None,
        *,
        origin: str | None,
        is_own: bool,
    ) -> None:
        """Refuse what a page of another origin could have made a browser send."""
        if _is_browser(principal) and not (is_own and headers.get("x-retinue") == "1"):
            raise forbidden("a browser's changes need its own Origin and the header `X-Retinue: 1`")
        if scope["path"] in self._public and origin is not None and not is_own:
            raise forbidden("a page of another origin may not do this")

    def _principal(self, scope: Scope, headers: Headers) -> Principal | None:
        authorization = _only(headers, "authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            if scheme.lower() != "bearer":
                raise unauthorized()
            return self._gate.bearer(token.strip(), client_address(scope))
        cookie = _cookie(headers, self._gate.cookie)
        return self._gate.browser(cookie) if cookie else None


def _is_browser(principal: Principal | None) -> bool:
    return principal is not None and principal.via == "browser"


def _check_path(scope: Scope) -> None:
    raw: bytes = scope.get("raw_path") or b""
    try:
        path = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeDecodeError:
        raise HttpError(400, "invalid", "the path is not well-formed UTF-8") from None
    if "\x00" in path or "\\" in path or any(part in (".", "..") for part in path.split("/")):
        raise HttpError(400, "invalid", "the path must not hold '.', '..', backslashes or NUL")


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            given: list[tuple[bytes, bytes]] = message["headers"]
            names = {name for name, _ in given}
            message["headers"] = given + [one for one in _RAW_HEADERS if one[0] not in names]
        await send(message)

    return send_with_headers
