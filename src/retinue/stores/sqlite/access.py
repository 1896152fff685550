"""What the parts of the embedded store share: how they write and read, and whom they notify."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, TypeVar

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


class Listeners(list[Callable[[NewsT], None]]):
    """Callbacks to call with each piece of news."""

    def add(self, listener: Callable[[NewsT], None]) -> Callable[[], None]:
        """Call this one from now on; what is given back undoes that."""
        self.append(listener)

        def undo() -> None:
            if listener in self:
                self.remove(listener)

        return undo

    def tell(self, news: NewsT) -> None:
        for listener in tuple(self):
            listener(news)
