"""Access to the writer and the readers, shared by the parts of the embedded store."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeVar

from retinue.stores.sqlite.write_operations import WriteOperation

T = TypeVar("T")
NewsT = TypeVar("NewsT")


class Read(Protocol):
    """Runs a query on one of the readers."""

    async def __call__(self, query: Callable[..., T], *parameters: object) -> T: ...


class Access(NamedTuple):
    """The store's writer and readers."""

    future: "Callable[[], asyncio.Future[Any]]"
    write: Callable[[WriteOperation], Awaitable[Any]]
    read: Read


class Listeners(list[Callable[[NewsT], None]]):
    """Callbacks to call with each event."""

    def add(self, listener: Callable[[NewsT], None]) -> Callable[[], None]:
        """Register a callback; returns a function that removes it."""
        self.append(listener)

        def undo() -> None:
            if listener in self:
                self.remove(listener)

        return undo

    def notify(self, news: NewsT) -> None:
        for listener in tuple(self):
            listener(news)
