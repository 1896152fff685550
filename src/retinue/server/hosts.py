"""Names under which the server may be reached: against DNS rebinding and foreign pages."""

from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from retinue.errors import UsageError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SHORTEST_TOKEN = 16
"""characters; a shorter one can be guessed by whoever reaches the port"""
_WILDCARDS = frozenset({"", "0.0.0.0", "::", "*"})


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
