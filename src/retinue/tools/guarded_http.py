"""The HTTP client for URLs from untrusted sources, such as a model or a web page.

It connects to the public internet only. Names are resolved here, all their addresses are checked,
and the connection goes to a checked address, so that DNS rebinding has no effect. Each redirect is
checked in the same way.
"""

import asyncio
import re
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from retinue.errors import RefusedError, RetinueError, UsageError
from retinue.tools.addresses import not_public

if TYPE_CHECKING:
    import httpx2

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 5
_FOLLOWED_METHODS = frozenset({"GET", "HEAD"})
_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns all addresses of a host."""


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Resolve with the system's resolver, which also accepts spellings such as 0x7f.1."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class FetchError(RetinueError):
    """The server could not be reached, or its response was not valid HTTP."""

    code = "fetch_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A response of any status."""

    url: str  # after redirects
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    is_cut: bool = False  # there was more than the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedClient:
    """Fetches within limits of address, size, time and redirects."""

    allowed_hosts: Sequence[str] = ()  # `host` or `host:port`, with `*`: may be private
    max_bytes: int = 2_000_000
    timeout_seconds: float = 30.0
    connect_timeout_seconds: float = 10.0
    resolve: Resolve = system_resolve
    headers: Mapping[str, str] = field(default_factory=lambda: {"User-Agent": "Retinue"})

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | None = None,
    ) -> Fetched:
        """Raises `UsageError` (invalid URL), `RefusedError` (private address) or `FetchError`."""
        import httpx2  # noqa: PLC0415  (slow to import)

        try:
            async with asyncio.timeout(self.timeout_seconds):
                return await self._follow(url, method, dict(headers or {}), content)
        except TimeoutError:
            raise FetchError(f"{url} took longer than {self.timeout_seconds:g} seconds.") from None
        except httpx2.InvalidURL as error:
            raise UsageError(f"{url!r} is not a valid URL: {error}") from error
        except (httpx2.HTTPError, OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise FetchError(f"cannot fetch {url}: {reason}") from error

    async def _follow(
        self, url: str, method: str, headers: dict[str, str], content: bytes | None
    ) -> Fetched:
        import httpx2  # noqa: PLC0415

        target = httpx2.URL(url)
        for _ in range(_MOST_REDIRECTS + 1):
            fetched = await self._once(target, method, headers, content)
            location = fetched.headers.get("location")
            if (
                fetched.status not in _REDIRECTS
                or location is None
                or method not in _FOLLOWED_METHODS
            ):
                return fetched
            following = target.join(location)
            if (following.scheme, following.netloc) != (target.scheme, target.netloc):
                headers = {k: v for k, v in headers.items() if k.lower() not in _SECRET_HEADERS}
            target = following
        raise FetchError(f"{url} redirects more than {_MOST_REDIRECTS} times.")

    async def _once(
        self, url: "httpx2.URL", method: str, headers: Mapping[str, str], content: bytes | None
    ) -> Fetched:
        import httpx2  # noqa: PLC0415

        host, port = _target(url)
        addresses = await self._checked_addresses(host, port)
        limits = httpx2.Timeout(self.timeout_seconds, connect=self.connect_timeout_seconds)
        failure: Exception = FetchError(f"{host} has no address.")
        async with httpx2.AsyncClient(trust_env=False, timeout=limits, verify=_trusted()) as client:
            for address in addresses:
                request = client.build_request(
                    method,
                    url.copy_with(host=address),
                    headers={
                        **self.headers,
                        **headers,
                        "Host": url.netloc.decode(),
                        "Accept-Encoding": "gzip",
                    },
                    content=content,
                    extensions={"sni_hostname": host},
                )
                try:
                    response = await client.send(request, stream=True)
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    failure = error
                    continue
                try:
                    return await self._read(url, response)
                finally:
                    await response.aclose()
        raise failure

    async def _checked_addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self.resolve(host, port)
        except (socket.gaierror, UnicodeError) as error:
            raise FetchError(f"cannot resolve {host!r}: {error}") from error
        if not self._is_allowed(host, port):
            for address in addresses:
                kind = not_public(address)
                if kind is not None:
                    raise RefusedError(
                        f"{host!r} ({address}) is not on the public internet ({kind}). "
                        "An operator can allow the host in the settings."
                    )
        return addresses

    def _is_allowed(self, host: str, port: int) -> bool:
        return any(
            _matches(pattern, host) or _matches(pattern, f"{host}:{port}")
            for pattern in self.allowed_hosts
        )

    async def _read(self, url: "httpx2.URL", response: "httpx2.Response") -> Fetched:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        chunks = response.aiter_raw(65_536)
        if encoding in ("gzip", "x-gzip"):
            chunks = _unzipped(chunks, self.max_bytes)
        elif encoding not in ("", "identity"):
            raise FetchError(f"{url} uses the unsupported encoding {encoding!r}.")
        body = bytearray()
        async for chunk in chunks:
            body += chunk
            if len(body) > self.max_bytes:
                break
        return Fetched(
            url=str(url),
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            body=bytes(body[: self.max_bytes]),
            is_cut=len(body) > self.max_bytes,
        )


@cache
def _trusted() -> ssl.SSLContext:
    """Load the certificates once, since it takes longer than most requests."""
    import httpx2  # noqa: PLC0415

    return httpx2.create_ssl_context(trust_env=False)


def _target(url: "httpx2.URL") -> tuple[str, int]:
    """Check the URL before its name is resolved."""
    if url.scheme not in ("http", "https"):
        raise RefusedError(f"{str(url)!r} is not an http or https URL.")
    if url.userinfo:
        raise RefusedError("URLs with a user name or password are not allowed.")
    host = url.raw_host.decode().rstrip(".")
    if not host:
        raise UsageError(f"{str(url)!r} has no host.")
    return host, url.port or (443 if url.scheme == "https" else 80)


def _matches(pattern: str, text: str) -> bool:
    expression = ".*".join(re.escape(part) for part in pattern.lower().split("*"))
    return re.fullmatch(expression, text.lower()) is not None


async def _unzipped(chunks: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """Decompress in chunks of limited size: a small body can expand to gigabytes."""
    unpacker = zlib.decompressobj(wbits=31)
    given = 0
    async for chunk in chunks:
        rest = chunk
        while rest:
            try:
                piece = unpacker.decompress(rest, 65_536)
            except zlib.error as error:
                raise FetchError(f"The response is not valid gzip: {error}") from error
            rest = unpacker.unconsumed_tail
            given += len(piece)
            yield piece
            if unpacker.eof or given > limit:
                return
