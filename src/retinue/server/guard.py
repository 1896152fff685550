"""Access control: checks Host, credentials and Origin, and sets security headers.

It runs before every endpoint, page and socket.
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
"""The key of the authenticated principal in the ASGI scope."""

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
"""Set on every response unless the endpoint sets its own value."""

_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN = 16
"""characters; a shorter one could be guessed over the network"""
_WILDCARDS = frozenset({"", "0.0.0.0", "::", "*"})
CODE_SECONDS = 600
SESSION_SECONDS = 30 * 24 * 3600
_MOST_CODES = 16
_MOST_ADDRESSES = 4096

Via = Literal["token", "browser", "terminal"]
"""How a request was authenticated; `terminal` is a command with the engine in its process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """The authenticated owner of a request."""

    owner: OwnerId
    via: Via
    session: str = ""


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def client_address(scope: Scope) -> str:
    """Return the peer's address; forwarding headers of proxies are ignored."""
    client = scope.get("client")
    return client[0] if client else ""


def unauthorized(
    message: str = "Authentication required: send `Authorization: Bearer TOKEN`, or log in.",
) -> HttpError:
    return HttpError(
        401, "unauthorized", message, headers={"WWW-Authenticate": 'Bearer realm="retinue"'}
    )


class LoginCodes:
    """One-time login codes, kept in memory for a short time."""

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
        # A lookup by digest takes the same time however close a guess is.
        end = self._ends.pop(_digest(code), None)
        return end is not None and self._clock.monotonic() < end


class Guesses:
    """Limits failed attempts per address."""

    def __init__(self, clock: Clock, *, burst: int = 10, seconds_each: float = 6) -> None:
        self._clock = clock
        self._burst = burst
        self._seconds_each = seconds_each
        self._debts: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait_seconds(self, address: str) -> float:
        """Return the seconds until this address may try again; 0 = now."""
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
        f"Too many failed attempts. Try again in {seconds} s.",
        headers={"Retry-After": str(seconds)},
    )


class Gate:
    """Checks credentials against one token, and issues browser sessions.

    Sessions are signed with a key derived from the token: they survive a restart, and a new token
    ends them all. The cookie's name depends on the token too, because browsers share cookies
    between the ports of a host, and two servers would log each other out.
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
        """Check the token. A valid one always passes, so that guessing locks nobody out."""
        if self.is_token(token):
            return Principal(owner=self._owner, via=self._via)
        wait = self.guesses.wait_seconds(address)
        self.guesses.failed(address)
        if wait > 0:
            raise too_many_guesses(wait)
        raise unauthorized("Invalid token. The server's token is in .retinue/token.")

    def login(self, *, code: str | None, token: str | None, address: str) -> str:
        """Exchange a code or the token for a browser session, returned as the cookie's value."""
        wait = self.guesses.wait_seconds(address)
        if wait > 0:
            raise too_many_guesses(wait)
        if (code is not None and self.codes.redeem(code)) or (
            token is not None and self.is_token(token)
        ):
            return self._new_session()
        self.guesses.failed(address)
        raise unauthorized(
            "This login link was already used or has expired. Get a new one with `retinue open`."
            if code is not None
            else "Invalid token. The server's token is in .retinue/token."
        )

    def browser(self, cookie: str) -> Principal | None:
        """Read a session cookie; None if it is forged, expired or logged out."""
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._sign(body).encode()):
            return None
        if self._clock.now().timestamp() >= session_end(body) or body in self._ended:
            return None
        return Principal(owner=self._owner, via="browser", session=body)

    async def logout(self, session: str) -> None:
        """End a session at once; the logout is on disk when this returns."""
        await asyncio.to_thread(self._ended.add, session)

    def _new_session(self) -> str:
        ends = int(self._clock.now().timestamp()) + SESSION_SECONDS
        body = f"{ends}.{secrets.token_urlsafe(18)}"
        return f"{body}.{self._sign(body)}"

    def _sign(self, body: str) -> str:
        tag = hmac.digest(self._key, body.encode("utf-8", "surrogatepass"), "sha256")
        return base64.urlsafe_b64encode(tag).rstrip(b"=").decode()


def host_name(authority: str) -> str | None:
    """Return the host name of a Host header, in lower case, without port and brackets."""
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
    """Whether only this machine can reach the address."""
    name = host.strip("[]").lower()
    if name == "localhost":
        return True
    return _is_address(name) and ip_address(name).is_loopback


def check_bind(host: str, token: str | None) -> None:
    """Refuse to listen on the network unless the operator has set a strong token."""
    if is_loopback(host) or (token is not None and len(token) >= SHORTEST_TOKEN):
        return
    lack = (
        "no token is set"
        if token is None
        else f"the token has fewer than {SHORTEST_TOKEN} characters"
    )
    raise UsageError(
        f"refusing to listen on {host!r}: other machines could reach it, and {lack}."
        " Set one with RETINUE_SERVER__TOKEN or `token` in [server] of retinue.toml,"
        " or listen on 127.0.0.1.",
        details={"host": host},
    )


class Hosts:
    """Decides which Host and Origin headers are accepted."""

    def __init__(
        self, bound: str, *, allowed_hosts: Sequence[str] = (), allowed_origins: Sequence[str] = ()
    ) -> None:
        bound = bound.strip("[]").lower()
        # An attacker's DNS name can point here (DNS rebinding); an IP address cannot be spoofed so.
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
        """Whether an origin is this server's, with either scheme, as a proxy may terminate TLS."""
        origin = origin.lower()
        own = authority.lower()
        return origin in (f"http://{own}", f"https://{own}") or origin in self._origins


def forbidden(message: str) -> HttpError:
    return HttpError(403, "forbidden", message)


def _only(headers: Headers, name: str) -> str | None:
    """Return a header that must not be repeated, so that check and use see the same value."""
    values = headers.getlist(name)
    if len(values) > 1:
        raise HttpError(400, "invalid", f"header {name!r} is repeated")
    return values[0] if values else None


def _cookie(headers: Headers, name: str) -> str | None:
    for line in headers.getlist("cookie"):
        if name in line and (value := cookie_parser(line).get(name)):
            return value
    return None


class Guard:
    """ASGI middleware; refused requests go no further."""

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
            await receive()  # a handshake can be answered only after it was read
        await response(scope, receive, _with_headers(send))

    def _admit(self, scope: Scope) -> Principal | None:
        headers = Headers(scope=scope)
        authority = _only(headers, "host")
        if authority is None or not self._hosts.knows(authority):
            raise HttpError(
                400,
                "unknown_host",
                "unknown host name: add it to allowedHosts in [server] of retinue.toml",
            )
        _check_path(scope)
        if not scope["path"].startswith(API):
            return None
        principal = self._principal(scope, headers)
        origin = _only(headers, "origin")
        is_own = origin is not None and self._hosts.is_own_origin(origin, authority)
        if scope["type"] == "websocket":
            if not is_own and (origin is not None or _is_browser(principal)):
                raise forbidden("connections from pages of other origins are not allowed")
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
        """Refuse requests that a page of another origin could have caused (CSRF)."""
        if _is_browser(principal) and not (is_own and headers.get("x-retinue") == "1"):
            raise forbidden("browser requests need this server's Origin and `X-Retinue: 1`")
        if scope["path"] in self._public and origin is not None and not is_own:
            raise forbidden("requests from pages of other origins are not allowed")

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
        raise HttpError(400, "invalid", "the path is not valid UTF-8") from None
    if "\x00" in path or "\\" in path or any(part in (".", "..") for part in path.split("/")):
        raise HttpError(400, "invalid", "the path must not contain '.', '..', backslashes or NUL")


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.http.response.start"):
            given: list[tuple[bytes, bytes]] = message["headers"]
            names = {name for name, _ in given}
            message["headers"] = given + [one for one in _RAW_HEADERS if one[0] not in names]
        await send(message)

    return send_with_headers
