"""The store contract for variables of accounts; run it for every store."""

from collections.abc import AsyncIterator

import pytest

from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.stores.variable_port import KeptVariables, VariableStore
from retinue.testing.store_samples import STRANGER


class VariableStoreContract:
    """Subclasses provide the fixture."""

    @pytest.fixture
    async def variables(self) -> AsyncIterator[VariableStore]:
        raise NotImplementedError
        yield

    async def test_values_are_kept_by_owner_and_name(self, variables: VariableStore) -> None:
        await variables.put(LOCAL_OWNER, "KEY", "one")
        await variables.put(STRANGER, "KEY", "two")
        await variables.put(LOCAL_OWNER, "KEY", "three")
        assert await variables.all() == {LOCAL_OWNER: {"KEY": "three"}, STRANGER: {"KEY": "two"}}

    async def test_a_value_is_forgotten_for_its_owner_alone(self, variables: VariableStore) -> None:
        await variables.put(LOCAL_OWNER, "KEY", "one")
        await variables.put(STRANGER, "KEY", "two")
        await variables.remove(LOCAL_OWNER, "KEY")
        await variables.remove(LOCAL_OWNER, "NEVER_SET")
        assert await variables.all() == {STRANGER: {"KEY": "two"}}

    async def test_what_is_there_stays_when_others_are_put_back(
        self, variables: VariableStore
    ) -> None:
        await variables.put(LOCAL_OWNER, "KEY", "new")
        kept = KeptVariables(accounts={LOCAL_OWNER: {"KEY": "old", "OTHER": "old"}})
        await variables.restore(kept)
        assert await variables.all() == {LOCAL_OWNER: {"KEY": "new", "OTHER": "old"}}

    async def test_listeners_hear_of_changes_until_they_leave(
        self, variables: VariableStore
    ) -> None:
        heard: list[OwnerId] = []
        leave = variables.listen(heard.append)
        await variables.put(STRANGER, "KEY", "one")
        leave()
        await variables.remove(STRANGER, "KEY")
        assert heard == [STRANGER]
