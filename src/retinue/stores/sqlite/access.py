"""What the parts of the embedded store share: how they write and read, and whom they tell."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from retinue.stores.sqlite.write_operations import WriteOperation

T = TypeVar("T")
NewsT = TypeVar("NewsT")


class Read(Protocol):
    """How the store reads."""

    async def __call__(self, query: Callable[..., T], *parameters: object) -> T: ...


class Access(NamedTuple):
    """The store's one writer and its readers."""

    future: "Callable[[], asyncio.Future[Any]]"
    write: Callable[[WriteOperation], Awaitable[Any]]
    read: Read


class Listeners(Generic[NewsT]):
    """Whoever wants to be told."""

    def __init__(self) -> None:
        self._told: list[Callable[[NewsT], None]] = []

    def add(self, listener: Callable[[NewsT], None]) -> Callable[[], None]:
        """Tell somebody from now on; what is given back undoes that."""
        self._told.append(listener)

        def undo() -> None:
            if listener in self._told:
                self._told.remove(listener)

        return undo

    def tell(self, news: NewsT) -> None:
        for listener in tuple(self._told):
            listener(news)
