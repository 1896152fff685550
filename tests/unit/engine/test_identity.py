"""Who is found, who is created, and who is fetched."""

import asyncio

import pytest

from retinue.agents.descriptor import (
    CronDescriptor,
    HeartbeatDescriptor,
    PermanentDescriptor,
    SystemDescriptor,
    UserDescriptor,
)
from retinue.engine.lineage.fetch_strategies import fetch
from retinue.errors import NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, OwnerId, new_agent_id
from retinue.stores.port import AgentQuery
from tests.unit.engine.conftest import Start

CHAT = UserDescriptor(connector="telegram", user_id="7", channel_id="7")


async def test_simultaneous_first_messages_of_one_chat_make_one_agent(start: Start) -> None:
    kit = await start(lambda request: "ok")
    posts = [kit.engine.post(LOCAL_OWNER, CHAT, f"m{n}", definition="helper") for n in range(20)]
    receipts = await asyncio.gather(*posts)
    assert len({receipt.agent_id for receipt in receipts}) == 1
    for receipt in receipts:
        assert (await kit.outcome(receipt)).item.fate == "answered"


async def test_posting_to_an_id_never_creates(start: Start) -> None:
    kit = await start([])
    with pytest.raises(NotFoundError):
        await kit.engine.post(LOCAL_OWNER, new_agent_id(), "hello")
    assert not (await kit.store.agents(AgentQuery(owner=LOCAL_OWNER))).agents


async def test_a_system_agent_needs_a_configured_tag(start: Start) -> None:
    kit = await start([])
    with pytest.raises(UsageError, match="architect"):
        await kit.engine.post(LOCAL_OWNER, SystemDescriptor(tag="architect"), "hello")
    assert not (await kit.store.agents(AgentQuery(owner=LOCAL_OWNER))).agents


async def test_an_owner_has_one_permanent_agent_of_a_name(start: Start) -> None:
    kit = await start([])

    def keeper(name: str) -> PermanentDescriptor:
        return PermanentDescriptor(
            id=new_agent_id(), name=name, description="keeps", system_prompt="Keep."
        )

    first = await kit.engine.create(LOCAL_OWNER, "helper", descriptor=keeper("Keeper"))
    again = await kit.engine.create(LOCAL_OWNER, "helper", descriptor=keeper("KEEPER"))
    foreign = await kit.engine.create(OwnerId("other"), "helper", descriptor=keeper("Keeper"))
    assert again.id == first.id != foreign.id


async def test_the_most_recent_foreground_is_where_a_person_wrote_last_also_after_a_restart(
    start: Start,
) -> None:
    kit = await start(lambda request: "ok")
    older, newer = await kit.agent(), await kit.agent()
    cron = await kit.engine.create(LOCAL_OWNER, "helper", descriptor=CronDescriptor(id="daily"))
    await kit.ask(newer, "first")
    await kit.ask(older, "second")
    await kit.ask(newer, "third")
    await kit.ask(older, "a note", silent=True)
    await kit.ask(cron, "tick")
    await kit.restart()
    found = await fetch(kit.store, LOCAL_OWNER, "most-recent-foreground")
    assert found is not None and found.id == newer.id
    assert await fetch(kit.store, OwnerId("other"), "most-recent-foreground") is None


async def test_the_heartbeat_is_fetched_under_both_its_names(start: Start) -> None:
    kit = await start([])
    assert await fetch(kit.store, LOCAL_OWNER, "heartbeat") is None
    made = await kit.engine.create(
        LOCAL_OWNER, "helper", descriptor=SystemDescriptor(tag="heartbeat")
    )
    same = await kit.engine.create(LOCAL_OWNER, "helper", descriptor=HeartbeatDescriptor())
    found = await fetch(kit.store, LOCAL_OWNER, "heartbeat")
    assert found is not None and made.id == same.id == found.id
