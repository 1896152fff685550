"""Who may come in: the Host that is asked for, credentials, the Origin, and headers on answers.

It stands before every operation, page and socket.
"""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Literal
from urllib.parse import unquote_to_bytes, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from retinue.clock import Clock
from retinue.errors import UsageError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.server.browser_sessions import EndedSessions, session_end
from retinue.server.error_responses import HttpError, error_response

PRINCIPAL = "retinue.principal"
"""Where the guard leaves who is asking, in the ASGI scope."""

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

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN = 16
"""characters; a shorter one can be guessed by whoever reaches the port"""
_WILDCARDS = frozenset({"", "0.0.0.0", "::", "*"})
CODE_SECONDS = 600
SESSION_SECONDS = 30 * 24 * 3600
_MOST_CODES = 16
_MOST_ADDRESSES = 4096

Via = Literal["token", "browser", "terminal"]
"""How somebody came in; the terminal is a command that has opened the engine in its process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The person behind a request, and how they proved it."""

    owner: OwnerId
    via: Via
    session: str = ""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def client_address(scope: Scope) -> str:
    """The peer's address; what a proxy claims about others is not believed."""
    client = scope.get("client")
    return client[0] if client else ""


def unauthorized(
    message: str = "This needs a token; send it as `Authorization: Bearer ...`, or log in.",
) -> HttpError:
    return HttpError(
        401, "unauthorized", message, headers={"WWW-Authenticate": 'Bearer realm="retinue"'}
    )


class LoginCodes:
    """Codes that let a browser in once; they live in memory and not for long."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ends: OrderedDict[bytes, float] = OrderedDict()

    def issue(self) -> str:
        code = secrets.token_urlsafe(24)
        self._ends[_digest(code)] = self._clock.monotonic() + CODE_SECONDS
        while len(self._ends) > _MOST_CODES:
            self._ends.popitem(last=False)
        return code

    def redeem(self, code: str) -> bool:
        # A look-up by digest tells a guesser nothing about how near they were.
        end = self._ends.pop(_digest(code), None)
        return end is not None and self._clock.monotonic() < end


class Guesses:
    """Lets each address fail a few times, then once in a while."""

    def __init__(self, clock: Clock, *, burst: int = 10, seconds_each: float = 6) -> None:
        self._clock = clock
        self._burst = burst
        self._seconds_each = seconds_each
        self._debts: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, address: str) -> float:
        """How long until this address may fail again; 0 = now."""
        over = self._debt(address) - (self._burst - 1)
        return max(0.0, over * self._seconds_each)

    def failed(self, address: str) -> None:
        self._debts[address] = (self._debt(address) + 1, self._clock.monotonic())
        self._debts.move_to_end(address)
        while len(self._debts) > _MOST_ADDRESSES:
            self._debts.popitem(last=False)

    def _debt(self, address: str) -> float:
        debt, since = self._debts.get(address, (0.0, 0.0))
        return max(0.0, debt - (self._clock.monotonic() - since) / self._seconds_each)


def too_many_guesses(wait_seconds: float) -> HttpError:
    seconds = int(wait_seconds) + 1
    return HttpError(
        429,
        "too_many_attempts",
        f"Too many failed attempts; try again in {seconds} s.",
        headers={"Retry-After": str(seconds)},
    )


class Gate:
    """Checks credentials for one token and makes browser sessions from it.

    A session is signed with a key derived from the token: it outlives a restart, and a new token
    ends all of them; one that is logged out stays so. Its cookie is named after the token too,
    since browsers share cookies among the ports of one host and two servers would otherwise log
    each other out.
    """

    def __init__(
        self,
        token: str,
        clock: Clock,
        *,
        ended: EndedSessions,
        owner: OwnerId = LOCAL_OWNER,
        via: Literal["token", "terminal"] = "token",
    ) -> None:
        self._token = _digest(token)
        self._key = hmac.digest(self._token, b"retinue browser session", "sha256")
        self._clock = clock
        self._owner = owner
        self._via: Via = via
        self._ended = ended
        self.codes = LoginCodes(clock)
        self.guesses = Guesses(clock)
        self.cookie = "retinue_" + hmac.digest(self._key, b"cookie", "sha256").hex()[:12]

    @property
    def owner(self) -> OwnerId:
        return self._owner

    def is_token(self, text: str) -> bool:
        return hmac.compare_digest(_digest(text), self._token)

    def bearer(self, token: str, address: str) -> Principal:
        """Let the token's holder in; a right token always passes, so guessing locks nobody out."""
        if self.is_token(token):
            return Principal(owner=self._owner, via=self._via)
        wait = self.guesses.wait_seconds(address)
        self.guesses.failed(address)
        if wait > 0:
            raise too_many_guesses(wait)
        raise unauthorized("This token is not the server's; it is kept in .retinue/token.")

    def login(self, *, code: str | None, token: str | None, address: str) -> str:
        """Exchange a code or the token for a browser session, the cookie's value."""
        wait = self.guesses.wait_seconds(address)
        if wait > 0:
            raise too_many_guesses(wait)
        if (code is not None and self.codes.redeem(code)) or (
            token is not None and self.is_token(token)
        ):
            return self._new_session()
        self.guesses.failed(address)
        raise unauthorized(
            "This code was used already or is too old; the server prints a new link at each start."
            if code is not None
            else "This token is not the server's; it is kept in .retinue/token."
        )

    def browser(self, cookie: str) -> Principal | None:
        """Read a session cookie; None when it is forged, too old or ended."""
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return None
        if self._clock.now().timestamp() >= session_end(body) or body in self._ended:
            return None
        return Principal(owner=self._owner, via="browser", session=body)

    async def logout(self, session: str) -> None:
        """End a session for good; it is over at once, and on disk when this returns."""
        await asyncio.to_thread(self._ended.add, session)

    def _new_session(self) -> str:
        ends = int(self._clock.now().timestamp()) + SESSION_SECONDS
        body = f"{ends}.{secrets.token_urlsafe(18)}"
        return f"{body}.{self._sign(body)}"

    def _sign(self, body: str) -> str:
        tag = hmac.digest(self._key, body.encode("utf-8", "surrogatepass"), "sha256")
        return base64.urlsafe_b64encode(tag).rstrip(b"=").decode()


def host_name(authority: str) -> str | None:
    """Give the name in a Host header, in lower case and without port and brackets."""
    try:
        parts = urlsplit("//" + authority)
        _ = parts.port
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return None
    return parts.hostname.rstrip(".") if parts.hostname else None


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what is bound there."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    return _is_address(name) and ip_address(name).is_loopback


def check_bind(host: str, token: str | None) -> None:
    """Refuse to listen beyond this machine unless the operator chose a token that holds."""
    if is_loopback(host) or (token is not None and len(token) >= SHORTEST_TOKEN):
        return
    lack = (
        "no token was chosen"
        if token is None
        else f"the chosen token has fewer than {SHORTEST_TOKEN} characters"
    )
    raise UsageError(
        f"refusing to listen on {host!r}: other machines could reach it, and {lack}."
        " Set one with RETINUE_SERVER__TOKEN or `token` in [server] of retinue.toml,"
        " or listen on 127.0.0.1.",
        details={"host": host},
    )


class Hosts:
    """Decides which Host and Origin headers are ours."""

    def __init__(
        self, bound: str, *, allowed_hosts: Sequence[str] = (), allowed_origins: Sequence[str] = ()
    ) -> None:
        bound = bound.strip("[]").lower()
        # A name can be made to point here; an address in the Host header cannot be anybody else's.
        self._any_address = bound in _WILDCARDS
        configured = (name.strip("[]").lower().rstrip(".") for name in allowed_hosts)
        self._names = LOOPBACK_NAMES | {bound} | set(configured)
        self._origins = frozenset(origin.rstrip("/").lower() for origin in allowed_origins)

    def knows(self, authority: str) -> bool:
        name = host_name(authority)
        if name is None:
            return False
        return name in self._names or (self._any_address and _is_address(name))

    def is_own_origin(self, origin: str, authority: str) -> bool:
        """Whether a page of that origin is ours; with either scheme, as TLS may end before us."""
        origin = origin.lower()
        own = authority.lower()
        return origin in (f"http://{own}", f"https://{own}") or origin in self._origins


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
