"""Values of accounts in the embedded store."""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import Any

from retinue.ids import OwnerId
from retinue.stores.sqlite.operations import ExecuteVariable, Operation
from retinue.stores.sqlite.queries import READING
from retinue.stores.sqlite.requests import Read
from retinue.stores.variable_port import KeptVariables, Sealed


class SqliteVariables:
    """Implements `VariableStore` beside the embedded store's agents."""

    def __init__(
        self,
        future: "Callable[[], asyncio.Future[Any]]",
        write: Callable[[Operation], Awaitable[Any]],
        read: Read,
    ) -> None:
        self._future = future
        self._write = write
        self._read = read
        self._listeners: list[Callable[[OwnerId], None]] = []

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        self._listeners.append(listener)

        def undo() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return undo

    async def all(self) -> Sealed:
        return (await self._read(read_variables)).accounts

    async def put(self, owner: OwnerId, name: str, sealed: str) -> None:
        await self._execute("put_variable", owner, name, sealed)

    async def remove(self, owner: OwnerId, name: str) -> None:
        await self._execute("delete_variable", owner, name)

    async def restore(self, kept: KeptVariables) -> None:
        for owner, values in kept.accounts.items():
            for name, sealed in values.items():
                await self._execute("restore_variable", owner, name, sealed)

    async def _execute(self, statement: str, owner: OwnerId, *rest: str) -> None:
        await self._write(ExecuteVariable(self._future(), statement, (owner, *rest)))
        for listener in tuple(self._listeners):
            listener(owner)


def read_variables(connection: sqlite3.Connection) -> KeptVariables:
    accounts: dict[OwnerId, dict[str, str]] = defaultdict(dict)
    for owner, name, sealed in connection.execute(READING["variables"]):
        accounts[owner][name] = sealed
    return KeptVariables(accounts=dict(accounts))
