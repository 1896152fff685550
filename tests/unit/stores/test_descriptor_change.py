"""Descriptors that change are in the folders too, and come back from them."""

from pathlib import Path

import msgspec

from retinue.ids import LOCAL_OWNER
from retinue.stores.port import Effects, Redescription
from retinue.testing.store_samples import SampleRunner, new_agent, permanent
from tests.unit.stores.home import Home

replace = msgspec.structs.replace


async def test_a_rebuild_knows_new_names_and_that_names_of_ended_agents_are_free(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path / "data")
    await home.open()
    named, _ = await home.store.create(new_agent(permanent("Archivist")))
    await home.close()
    home = Home(home.data)
    await home.open()
    runner = await SampleRunner.claim(home.store, named.id)
    change = Redescription(
        agent_id=named.id, owner=LOCAL_OWNER, descriptor=permanent("Librarian", named.id)
    )
    await runner.commit(runner.step(effects=Effects(redescribed=(change,))))
    ended, _ = await home.store.create(new_agent(permanent("Clerk")))
    last = await SampleRunner.claim(home.store, ended.id)
    await last.commit(replace(last.step(), lifecycle="terminated"))
    clerk, _ = await home.store.create(new_agent(permanent("clerk")))
    again = await home.again()
    try:
        found = await again.store.find(LOCAL_OWNER, permanent("LIBRARIAN"))
        assert found is not None and found.id == named.id
        found = await again.store.find(LOCAL_OWNER, permanent("Clerk"))
        assert found is not None and found.id == clerk.id
        assert (await again.store.agent(LOCAL_OWNER, ended.id)).lifecycle == "terminated"
    finally:
        await again.close()
