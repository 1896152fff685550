"""The server's options, from the settings."""

from collections.abc import Sequence
from dataclasses import dataclass

from retinue.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The server's address, allowed hosts and limits."""

    host: str = "127.0.0.1"
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    message_chars: int = 200_000
    upload_bytes: int = 50_000_000
    body_bytes: int = 4 * 1024 * 1024  # of JSON; a character may be escaped as twelve bytes
    read_timeout_seconds: float = 30
    send_timeout_seconds: float = 10
    is_in_process: bool = False  # called by a command without a network; exceptions reach it

    @classmethod
    def of(
        cls, settings: Settings, *, host: str | None = None, is_in_process: bool = False
    ) -> "ServerOptions":
        """Read the options from the settings; `host` overrides them."""
        return cls(
            host=host or settings.server.host,
            allowed_hosts=settings.server.allowed_hosts,
            allowed_origins=settings.server.allowed_origins,
            message_chars=settings.limits.message_chars,
            upload_bytes=settings.limits.upload_bytes,
            is_in_process=is_in_process,
        )
