"""What a subagent waits for stands among the owner's requests: names, never values."""

import asyncio
from datetime import timedelta

import pytest

from retinue.agents.request import Request
from retinue.engine.feed.request_views import request_view
from retinue.errors import ConflictError, NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER
from retinue.records import SystemRecord
from retinue.stores.port import Agent
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.subagents.support import children, notices, record_until
from tests.unit.engine.subagents.test_variables import SECRET, asked, begun


async def only_request(kit: Kit, boss: Agent) -> Request:
    (request,) = await kit.store.requests.list(LOCAL_OWNER, agent_id=boss.id)
    return request


async def test_the_owner_is_asked_for_the_values_under_the_same_id(start: Start) -> None:
    kit, boss, _ = await begun(start, [])
    told = await asked(kit, boss)
    shown = request_view(await only_request(kit, boss))
    assert (shown.id, shown.kind, shown.status) == (told["request_id"], "variables", "pending")
    assert shown.headline == "needs values to start its subagent Ann"
    assert (shown.tool, shown.reason) == ("pair", "draw a tree")
    assert [(f.name, f.type, f.required) for f in shown.fields] == [("PAIR_KEY", "secret", True)]


async def test_giving_the_values_answers_the_request_and_keeps_nothing_in_it(start: Start) -> None:
    kit, boss, _ = await begun(start, [])
    request = await only_request(kit, boss)
    with pytest.raises(UsageError, match=f"/threads/{boss.id}/variables/{request.id}"):
        await kit.engine.requests.decide(LOCAL_OWNER, request.id, "allow", by="me")
    values = {"PAIR_KEY": SECRET}
    await kit.engine.variables.provide(LOCAL_OWNER, boss.id, request.id, values, by="me")
    settled = await only_request(kit, boss)
    assert (settled.status, settled.decided_by, settled.values) == ("answered", "me", {})
    assert SECRET not in repr(settled)


async def test_an_owner_who_declines_ends_the_request_and_the_parent_hears_of_it(
    start: Start,
) -> None:
    kit, boss, _ = await begun(start, [])
    request = await only_request(kit, boss)
    await kit.engine.requests.decide(LOCAL_OWNER, request.id, "deny", by="me", note="Not now.")
    with pytest.raises(NotFoundError, match="denied"):
        await kit.engine.variables.provide(LOCAL_OWNER, boss.id, request.id, {"PAIR_KEY": "x"})
    await record_until(kit, boss, lambda record: isinstance(record, SystemRecord))
    (notice,) = await notices(kit, boss)
    assert "the owner did not provide them" in notice.text and "Not now." in notice.text
    assert (await kit.fresh(boss)).state.deferred == []
    assert await children(kit, boss) == []


async def test_of_values_and_a_denial_at_the_same_time_only_one_counts(start: Start) -> None:
    kit, boss, _ = await begun(start, [])
    request = await only_request(kit, boss)
    given, denied = await asyncio.gather(
        kit.engine.variables.provide(LOCAL_OWNER, boss.id, request.id, {"PAIR_KEY": SECRET}),
        kit.engine.requests.decide(LOCAL_OWNER, request.id, "deny", by="me"),
        return_exceptions=True,
    )
    is_begun = not isinstance(given, BaseException)
    assert is_begun == isinstance(denied, ConflictError)
    assert isinstance(given, str | ConflictError | NotFoundError), given
    assert len(await children(kit, boss)) == is_begun
    assert (await only_request(kit, boss)).status == ("answered" if is_begun else "denied")


async def test_a_request_that_nobody_answers_expires_and_the_parent_hears_of_it(
    start: Start, clock: FakeClock
) -> None:
    kit, boss, _ = await begun(start, [], clock=clock)
    clock.advance(timedelta(hours=25).total_seconds())
    await record_until(kit, boss, lambda record: isinstance(record, SystemRecord))
    (notice,) = await notices(kit, boss)
    assert "Expired: there was no decision in time" in notice.text
    assert (await only_request(kit, boss)).status == "expired"


@pytest.mark.parametrize("ends", ["reset", "terminate"])
async def test_a_request_is_closed_with_what_asked_for_it(start: Start, ends: str) -> None:
    kit, boss, _ = await begun(start, [])
    await getattr(kit.engine, ends)(LOCAL_OWNER, boss.id)
    assert (await only_request(kit, boss)).status == "void"
