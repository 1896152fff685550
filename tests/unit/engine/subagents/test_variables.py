"""Subagents and variables: what they inherit, and what each of them has to be given."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from retinue.errors import NotFoundError, UsageError
from retinue.ids import LOCAL_OWNER, OwnerId, RequestId
from retinue.models.scripted import Call, Reply
from retinue.records import SystemRecord, ToolRecord
from retinue.stores.port import Agent
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.subagents.support import (
    Play,
    begin,
    call,
    children,
    notices,
    on_go,
    only_child,
    record_until,
    tool_result,
)

SECRET = "the pair's very own"
KEPT = "{name: pair, resumable: {maxInstances: 2}}"
WORKER = "---\nmodel: main\ntools: [draw, give_up, spend]\n---\nYou are the worker."
ASKED = {"agent": "pair", "name": "Ann", "message": "draw a tree"}
GO = Reply(calls=[Call(name="subagent_create", arguments=ASKED)])


def spend(seen: list[str]) -> Any:
    @tool(name="spend", variables=[{"name": "PAIR_KEY", "required": True, "scoped": True}])
    async def spend(ctx: ToolContext) -> str:
        """Spend money."""
        seen.append(f"{ctx.env('PAIR_KEY')} / {ctx.env('SHARED', 'nothing')}")
        return f"spent with {ctx.env('PAIR_KEY')}"

    return spend


def spends_once() -> Any:
    spent: set[str] = set()

    def worker(request: Any) -> Any:
        if request.session in spent:
            return "here it is"
        spent.add(request.session)
        return call("spend")

    return worker


async def begun(start: Start, seen: list[str], **options: Any) -> tuple[Kit, Agent, Play]:
    play = Play(on_go(GO), spends_once())
    prompts = {"worker.md": WORKER}
    kit = await begin(start, play, KEPT, prompts=prompts, tools=[spend(seen)], **options)
    env = {"SHARED": "of all", "PAIR_KEY": "of the boss"}
    boss = await kit.engine.create(LOCAL_OWNER, "boss", env=env)
    await kit.ask(boss, "go")
    return kit, boss, play


async def asked(kit: Kit, boss: Agent) -> dict[str, Any]:
    result = await tool_result(kit, boss)
    assert result.status == "error"
    return json.loads(result.text)


async def test_missing_scoped_variables_are_asked_for_and_the_child_then_begins(
    start: Start,
) -> None:
    seen: list[str] = []
    kit, boss, play = await begun(start, seen)
    told = await asked(kit, boss)
    request_id = RequestId(told["request_id"])
    assert told["error_code"] == "subagent_env_required"
    assert told["endpoint"] == f"/threads/{boss.id}/variables/{request_id}"
    assert (told["agent"], told["required"], told["missing"]) == (
        "pair",
        ["PAIR_KEY"],
        ["PAIR_KEY"],
    )
    assert await children(kit, boss) == []
    office = kit.engine.variables
    wanted = await office.request(LOCAL_OWNER, boss.id, request_id)
    assert (wanted.required, wanted.missing) == (["PAIR_KEY"], ["PAIR_KEY"])
    with pytest.raises(UsageError, match="still missing: PAIR_KEY"):
        await office.provide(LOCAL_OWNER, boss.id, request_id, {"OTHER": "x"})
    child = await office.provide(LOCAL_OWNER, boss.id, request_id, {"PAIR_KEY": SECRET})
    await record_until(kit, boss, lambda record: isinstance(record, SystemRecord))
    assert (await only_child(kit, boss)).id == child
    (notice,) = await notices(kit, boss)
    assert notice.text == (
        f"Subagent (reference: {child}) has returned the following result:\n\na good tree"
    )
    assert seen == [f"{SECRET} / of all"]
    shown = repr([request for _, request in play.requests])
    kept = repr([await kit.records(boss), await kit.records(await only_child(kit, boss))])
    assert SECRET not in shown + kept
    assert "spent with [secret PAIR_KEY]" in kept


async def test_a_request_is_answered_once_however_many_answer_it(start: Start) -> None:
    kit, boss, _ = await begun(start, [])
    request_id = RequestId((await asked(kit, boss))["request_id"])
    office = kit.engine.variables
    answers = await asyncio.gather(
        *(
            office.provide(LOCAL_OWNER, boss.id, request_id, {"PAIR_KEY": f"value {number}"})
            for number in range(5)
        ),
        return_exceptions=True,
    )
    assert sorted(type(one).__name__ for one in answers) == ["NotFoundError"] * 4 + ["str"]
    assert len(await children(kit, boss)) == 1
    with pytest.raises(NotFoundError):
        await office.request(LOCAL_OWNER, boss.id, request_id)


async def test_a_request_survives_a_crash(start: Start) -> None:
    kit, boss, _ = await begun(start, [])
    request_id = RequestId((await asked(kit, boss))["request_id"])
    await kit.crash()
    values = {"PAIR_KEY": SECRET}
    child = await kit.engine.variables.provide(LOCAL_OWNER, boss.id, request_id, values)
    await record_until(kit, boss, lambda record: isinstance(record, SystemRecord))
    assert (await only_child(kit, boss)).id == child


async def test_a_request_is_its_owners_alone_and_ends_with_time_reset_and_termination(
    start: Start, clock: FakeClock
) -> None:
    kit, boss, _ = await begun(start, [], clock=clock)
    request_id = RequestId((await asked(kit, boss))["request_id"])
    office = kit.engine.variables
    with pytest.raises(NotFoundError):
        await office.request(OwnerId("stranger"), boss.id, request_id)
    clock.advance(timedelta(hours=25).total_seconds())
    with pytest.raises(NotFoundError):
        await office.provide(LOCAL_OWNER, boss.id, request_id, {"PAIR_KEY": SECRET})


@pytest.mark.parametrize("ends", ["reset", "terminate"])
async def test_a_request_is_dropped_with_what_asked_for_it(start: Start, ends: str) -> None:
    kit, boss, _ = await begun(start, [])
    request_id = RequestId((await asked(kit, boss))["request_id"])
    await getattr(kit.engine, ends)(LOCAL_OWNER, boss.id)
    with pytest.raises(NotFoundError):
        await kit.engine.variables.provide(LOCAL_OWNER, boss.id, request_id, {"PAIR_KEY": SECRET})
    assert await children(kit, boss) == []


async def test_asking_again_for_the_same_child_gives_the_same_request(start: Start) -> None:
    kit, boss, _ = await begun(start, [])
    first = await asked(kit, boss)
    await kit.ask(boss, "go")
    assert (await asked(kit, boss))["request_id"] == first["request_id"]


async def test_an_account_may_give_what_each_child_needs(start: Start) -> None:
    seen: list[str] = []
    play = Play(on_go(GO), spends_once())
    kit = await begin(start, play, KEPT, prompts={"worker.md": WORKER}, tools=[spend(seen)])
    await kit.engine.variables.set_account(LOCAL_OWNER, "PAIR_KEY", "of the account")
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert seen == ["of the account / nothing"]


async def test_a_change_reaches_children_except_what_is_their_own(start: Start) -> None:
    seen: list[str] = []
    kit, boss, _ = await begun(start, seen)
    request_id = RequestId((await asked(kit, boss))["request_id"])
    office = kit.engine.variables
    await office.provide(LOCAL_OWNER, boss.id, request_id, {"PAIR_KEY": SECRET})
    await record_until(kit, boss, lambda record: isinstance(record, SystemRecord))
    child = await only_child(kit, boss)
    before = child.state.env
    await office.set_agent(LOCAL_OWNER, boss.id, {"SHARED": "new", "PAIR_KEY": "another"})
    after = (await kit.fresh(child)).state.env
    assert after["PAIR_KEY"] == before["PAIR_KEY"]
    assert kit.engine.environment.own_value(child.id, after, "SHARED") == "new"
    assert [type(record) for record in await kit.records(boss)].count(ToolRecord) == 1


async def test_what_tools_use_counts_among_what_a_child_has_to_be_given(start: Start) -> None:
    @tool(name="shop")
    async def shop() -> str:
        """Shop, with the help of another tool."""
        return "bought"

    worker = "---\nmodel: main\ntools: [draw, give_up, shop]\n---\nYou are the worker."
    kit = await begin(
        start,
        Play(on_go(GO)),
        KEPT,
        prompts={"worker.md": worker},
        tools=[replace(shop.as_tool(), uses=("spend",)), spend([])],
    )
    boss = await kit.agent("boss")
    await kit.ask(boss, "go")
    assert (await asked(kit, boss))["missing"] == ["PAIR_KEY"]
