"""The store port for account variables. Values are encrypted before they get here.

The variables of a single agent are part of its state.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from retinue.ids import OwnerId

Sealed = Mapping[OwnerId, Mapping[str, str]]
"""Encrypted values, by owner and name."""


class KeptVariables(Struct, frozen=True, kw_only=True, rename="camel"):
    """All values, as the mirror and rebuilds transfer them."""

    accounts: Sealed = {}
    v: int = 1


class VariableStore(Protocol):
    """Encrypted values of accounts."""

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        """Call back on the event loop after a change for an owner; returns an undo."""
        ...

    async def all(self) -> Sealed: ...

    async def put(self, owner: OwnerId, name: str, sealed: str) -> None:
        """Set a value; replaces an existing one."""
        ...

    async def remove(self, owner: OwnerId, name: str) -> None:
        """Delete a value; does nothing if there is none."""
        ...

    async def restore(self, kept: KeptVariables) -> None:
        """Restore everything; existing values are kept."""
        ...
