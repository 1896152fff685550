"""Account variables in the embedded store."""

import sqlite3
from collections import defaultdict
from collections.abc import Callable

from retinue.ids import OwnerId
from retinue.stores.sqlite.access import Access, Listeners
from retinue.stores.sqlite.queries import READING
from retinue.stores.sqlite.write_operations import ExecuteVariable
from retinue.stores.variable_port import KeptVariables, Sealed


class SqliteVariables:
    """Implements `VariableStore` for the embedded store."""

    def __init__(self, access: Access) -> None:
        self._future, self._write, self._read = access
        self._listeners = Listeners[OwnerId]()

    def listen(self, listener: Callable[[OwnerId], None]) -> Callable[[], None]:
        return self._listeners.add(listener)

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
        self._listeners.notify(owner)


def read_variables(connection: sqlite3.Connection) -> KeptVariables:
    accounts: dict[OwnerId, dict[str, str]] = defaultdict(dict)
    for owner, name, sealed in connection.execute(READING["variables"]):
        accounts[owner][name] = sealed
    return KeptVariables(accounts=dict(accounts))
