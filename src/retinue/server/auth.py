"""Who is asking: the token, one-time login codes, browser sessions, and patience with guessers."""

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Literal

from starlette.types import Scope

from retinue.clock import Clock
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.server.browser_sessions import EndedSessions, session_end
from retinue.server.error_responses import HttpError

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
