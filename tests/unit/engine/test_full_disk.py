import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from retinue.errors import StoreFullError
from retinue.ids import AgentId, OwnerId
from retinue.models.scripted import Reply
from retinue.stores.port import Agent, Commit, Committed, Offset, Post, Receipt, Snapshot
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, gated

T = TypeVar("T")
Order = Callable[[Kit, Agent], Awaitable[object]]

ORDERS: dict[str, Order] = {
    "stop": lambda kit, agent: kit.engine.interrupt(agent.owner, agent.id),
    "reset": lambda kit, agent: kit.engine.reset(agent.owner, agent.id),
    "terminate": lambda kit, agent: kit.engine.terminate(agent.owner, agent.id),
    "delete": lambda kit, agent: kit.engine.delete(agent.owner, agent.id),
}


class FullStore:
    """A store that has room, or has none."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.is_full = False
        self.has_refused = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _refuse(self) -> None:
        if self.is_full:
            self.has_refused.set()
            raise StoreFullError("no room")

    async def admit(self, post: Post, *, offset: Offset | None = None) -> Receipt:
        if post.item.kind == "command":
            self._refuse()
        return await self._store.admit(post, offset=offset)

    async def commit(self, commit: Commit) -> Committed:
        self._refuse()
        return await self._store.commit(commit)

    async def claim(self, agent_id: AgentId) -> Snapshot:
        self._refuse()
        return await self._store.claim(agent_id)

    async def delete(self, owner: OwnerId, agent_id: AgentId) -> None:
        self._refuse()
        await self._store.delete(owner, agent_id)

    async def check(self) -> None:
        self._refuse()


async def passing(clock: FakeClock, work: Awaitable[T]) -> T:
    """Let time go by until this is done."""
    waiting = asyncio.ensure_future(work)
    while not waiting.done():
        await a_second(clock)
    return await waiting


async def a_second(clock: FakeClock) -> None:
    clock.advance(1)
    await asyncio.sleep(0.002)  # for the thread of the store


@pytest.mark.parametrize("name", ORDERS)
async def test_a_command_behind_a_result_that_finds_no_room_is_refused(
    start: Start, clock: FakeClock, name: str
) -> None:
    gate = Gate()
    kit = await start(
        [calls("work"), "done"],
        tools=[gated(gate, name="work")],
        clock=clock,
        wrap=FullStore,
    )
    store: Any = kit.store
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    store.is_full = True
    gate.opened.set()
    await store.has_refused.wait()
    with pytest.raises(StoreFullError):
        await passing(clock, ORDERS[name](kit, agent))
    store.is_full = False
    assert (await passing(clock, kit.outcome(receipt))).reply == "done"
    assert gate.count == 1


@pytest.mark.parametrize("name", ORDERS)
async def test_a_refused_command_still_breaks_off_the_model_and_the_turn_goes_on_later(
    start: Start, clock: FakeClock, name: str
) -> None:
    gate = Gate()
    kit = await start(
        [Reply(text="never said", midway=gate), "said later"], clock=clock, wrap=FullStore
    )
    store: Any = kit.store
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    store.is_full = True
    with pytest.raises(StoreFullError):
        await passing(clock, ORDERS[name](kit, agent))
    with pytest.raises(StoreFullError):  # nothing is at work any more, and it is refused at once
        await ORDERS[name](kit, agent)
    gate.opened.set()
    await a_second(clock)
    store.is_full = False
    assert (await passing(clock, kit.outcome(receipt))).reply == "said later"


async def test_a_sleeping_agent_s_command_is_refused_too(start: Start, clock: FakeClock) -> None:
    kit = await start(["hello"], clock=clock, wrap=FullStore)
    store: Any = kit.store
    agent = await kit.agent()
    store.is_full = True
    with pytest.raises(StoreFullError):
        await passing(clock, kit.engine.reset(agent.owner, agent.id))
    with pytest.raises(StoreFullError):
        await passing(clock, kit.engine.delete(agent.owner, agent.id))
    store.is_full = False
    assert (await passing(clock, kit.ask(agent, "hi"))).reply == "hello"


async def test_a_summary_that_finds_no_room_is_refused(start: Start, clock: FakeClock) -> None:
    kit = await start(["one", "two", "a summary", "three"], clock=clock, wrap=FullStore)
    store: Any = kit.store
    agent = await kit.agent()
    for text in ("first", "second"):
        await kit.ask(agent, text)
    store.is_full = True
    with pytest.raises(StoreFullError):
        await passing(clock, kit.engine.compact(agent.owner, agent.id))
    assert "summary command" not in await kit.kinds(agent)


async def test_a_full_disk_is_told_at_once_then_each_minute_and_so_is_its_end(
    start: Start, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    kit = await start(["one", "two"], clock=clock, wrap=FullStore)
    store: Any = kit.store
    agents = [await kit.agent(), await kit.agent()]
    store.is_full = True
    receipts = [await kit.post(agent, "go") for agent in agents]
    await store.has_refused.wait()
    for _ in range(70):
        await a_second(clock)
    store.is_full = False
    for receipt in receipts:
        await passing(clock, kit.outcome(receipt))
    told = [record.message for record in caplog.records if "the store accepts" in record.message]
    assert len(told) == 3
    assert "no writes" in told[0] and "no writes" in told[1] and "again" in told[2]


async def test_an_end_on_a_full_disk_is_quick_and_says_in_one_line_what_was_not_stored(
    start: Start, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Gate()
    kit = await start(
        [calls("work"), "done"],
        tools=[gated(gate, name="work")],
        clock=clock,
        wrap=FullStore,
    )
    store: Any = kit.store
    agent = await kit.agent()
    await kit.post(agent, "go")
    await gate.reached.wait()
    store.is_full = True
    gate.opened.set()
    await store.has_refused.wait()
    caplog.clear()
    await passing(clock, kit.engine.stop())
    (line,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert f"the result of work for {agent.id}" in line.message
    assert not any(record.exc_info for record in caplog.records)
