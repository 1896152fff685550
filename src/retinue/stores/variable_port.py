"""The variables' part of the store port: values of whole accounts, sealed before they come here.

What one agent was given stands in its state. Nothing here can be read without the key.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

from retinue.ids import OwnerId

Sealed = Mapping[OwnerId, Mapping[str, str]]
"""Sealed values, by owner and name."""


class KeptVariables(Struct, frozen=True, kw_only=True, rename="camel"):
    """All of them, as the mirror and rebuilding carry them."""

    accounts: Sealed = {}
    v: int = 1


class VariableStore(Protocol):
    """Sealed values of accounts."""

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        """Call back on the event loop after an owner's changed; gives the undo."""
        ...

    async def all(self) -> Sealed: ...

    async def put(self, owner: OwnerId, name: str, sealed: str) -> None:
        """Set a value, in the place of the one that there was."""
        ...

    async def remove(self, owner: OwnerId, name: str) -> None:
        """Forget a value; one that is not there is forgotten already."""
        ...

    async def restore(self, kept: KeptVariables) -> None:
        """Put everything back; what is there already stays."""
        ...
