"""Creates models of providers; imports vendor libraries in a thread, on first use."""

import asyncio
import ssl
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from retinue.models.port import Model
from retinue.models.providers.connection import Connection, Timeouts

if TYPE_CHECKING:
    import httpx2

_CONNECT_SECONDS = 10
_KEPT_CONNECTIONS = 20
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@cache
def _certificates() -> ssl.SSLContext:
    import httpx2

    return httpx2.create_ssl_context()


class Vendors:
    """Creates models that share one HTTP client per provider."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._clients: dict[str, httpx2.AsyncClient] = {}

    async def model(self, connection: Connection, model: str, *, window: int | None) -> Model:
        # Importing a vendor library takes seconds of CPU time and must not block the event loop.
        return await asyncio.to_thread(self._create, connection, model, window)

    async def close(self) -> None:
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()

    def _create(self, connection: Connection, model: str, window: int | None) -> Model:
        from retinue.models.providers.context_limits import known_window
        from retinue.models.providers.kinds import vendor_model
        from retinue.models.providers.provider_model import ProviderModel

        return ProviderModel(
            vendor_model(connection, model, self._client(connection)),
            name=f"{connection.name}:{model}",
            window=window or known_window(connection.kind, model),
            connection=connection,
            timeouts=self._timeouts,
        )

    def _client(self, connection: Connection) -> "httpx2.AsyncClient":
        import httpx2

        from retinue.models.providers.silence_timeout import listen

        if connection.name not in self._clients:
            self._clients[connection.name] = httpx2.AsyncClient(
                headers=dict(connection.headers),
                verify=_certificates(),
                # Read timeouts are handled by `silence_timeout`.
                timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS),
                limits=httpx2.Limits(max_keepalive_connections=_KEPT_CONNECTIONS),
                # Ignore proxies from the environment for local servers.
                trust_env=urlsplit(connection.base_url or "").hostname not in _LOOPBACK,
                event_hooks={"response": [listen]},
            )
        return self._clients[connection.name]
