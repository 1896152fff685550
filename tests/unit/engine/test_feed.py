import asyncio
from collections.abc import AsyncIterator

import pytest
from msgspec.structs import replace

from retinue.engine.feed import event_feed
from retinue.engine.feed.agent_views import cursor_of, events_of
from retinue.engine.feed.event_feed import LaggedError
from retinue.events import (
    AgentDeletedEvent,
    DeltaEvent,
    Event,
    HelloEvent,
    ItemEvent,
    RecordEvent,
    ResyncEvent,
    StepEvent,
    ToolEvent,
)
from retinue.ids import LOCAL_OWNER, AgentId, OwnerId
from retinue.models.scripted import Reply
from retinue.records import NoteRecord
from retinue.stores.port import Agent, Change
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.kit import PATIENCE_SECONDS, Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool


async def until_answered(events: AsyncIterator[Event], item_id: str) -> list[Event]:
    seen: list[Event] = []
    async for event in events:
        seen.append(event)
        if isinstance(event, ItemEvent) and event.item.id == item_id:
            if event.item.fate in ("answered", "failed", "cancelled"):
                return seen
    raise AssertionError("the stream ended")


def cursors(events: list[Event]) -> list[int]:
    return [c for event in events if (c := getattr(event, "cursor", None)) is not None]


def facts(events: list[Event]) -> list[str]:
    """Give the records with their cursors; an item is shown as it is now, also in a replay."""
    return [
        f"{event.cursor} {bytes(event.record).decode()}"
        for event in events
        if isinstance(event, RecordEvent)
    ]


async def test_replay_and_live_show_the_same_facts(start: Start) -> None:
    kit = await start(lambda request: "ok")
    agent = await kit.agent()
    live = kit.engine.subscribe(LOCAL_OWNER, after=0)
    receipt = await kit.post(agent, "one")
    seen = await until_answered(live, receipt.item.id)
    assert len(facts(seen)) == 3
    assert facts(await all_now(kit)) == facts(seen)


async def all_now(kit: Kit) -> list[Event]:
    """Replay everything up to now."""
    end = cursor_of(await kit.store.cursor())
    seen: list[Event] = []
    async for event in kit.engine.subscribe(LOCAL_OWNER, after=0):
        seen.append(event)
        if not isinstance(event, HelloEvent) and getattr(event, "cursor", 0) >= end:
            return seen
    raise AssertionError("the stream ended")


async def test_a_reader_that_comes_back_misses_nothing_and_sees_nothing_twice(
    start: Start,
) -> None:
    kit = await start(lambda request: "ok")
    posting = asyncio.ensure_future(talk(kit, await kit.agent(), 40))
    collected: list[Event] = []
    after = 0
    while not (posting.done() and after == cursor_of(await kit.store.cursor())):
        page = await some_events(kit, after, 7)
        collected += page
        after = max([after, *cursors(page)])
    assert facts(collected) == facts(await all_now(kit))
    assert len(facts(collected)) == 81


async def some_events(kit: Kit, after: int, count: int) -> list[Event]:
    """Read that many events, or fewer when no more come, and hang up, wherever that is."""
    page: list[Event] = []
    stream = kit.engine.subscribe(LOCAL_OWNER, after=after)
    await anext(stream)
    while True:
        try:
            event = await asyncio.wait_for(anext(stream), 0.2)
        except TimeoutError:
            return page
        if len({*cursors(page), *cursors([event])}) > count:
            return page
        page.append(event)


async def talk(kit: Kit, agent: Agent, count: int) -> None:
    for number in range(count):
        await kit.ask(agent, f"m{number}")


async def test_a_stream_shows_text_and_tools_as_they_come(start: Start) -> None:
    gate = Gate()
    kit = await start(
        [calls("work"), Reply(text="hello there", chunk=5, midway=gate)],
        tools=[counted_tool([], "work")],
    )
    agent = await kit.agent()
    stream = kit.engine.subscribe(LOCAL_OWNER, after=None, agent_id=agent.id)
    await anext(stream)
    receipt = await kit.post(agent, "hi")
    gate.opened.set()
    seen = await until_answered(stream, receipt.item.id)
    text = "".join(e.text for e in seen if isinstance(e, DeltaEvent) and e.kind == "text")
    assert text == "hello there"
    assert [e.name for e in seen if isinstance(e, ToolEvent)] == ["work"]
    order = [type(e).__name__ for e in seen]
    assert order.index("DeltaEvent") < order.index("RecordEvent") or "StepEvent" in order


async def test_whoever_comes_in_the_middle_of_an_answer_sees_all_of_it(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="hello there", chunk=5, midway=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await gate.reached.wait()
    stream = kit.engine.subscribe(LOCAL_OWNER, after=None)
    await anext(stream)
    started, delta = await anext(stream), await anext(stream)
    assert isinstance(started, StepEvent)
    assert isinstance(delta, DeltaEvent)
    assert delta.text == "hello there"
    gate.opened.set()
    rest = await until_answered(stream, receipt.item.id)
    assert not [event for event in rest if isinstance(event, StepEvent | DeltaEvent)]


async def test_text_that_will_not_become_a_record_is_taken_back(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="half", midway=gate)])
    agent = await kit.agent()
    stream = kit.engine.subscribe(LOCAL_OWNER, after=None)
    await anext(stream)
    receipt = await kit.post(agent, "hi")
    await gate.reached.wait()
    await kit.engine.reset(agent.owner, agent.id)
    seen = await until_answered(stream, receipt.item.id)
    assert [e.state for e in seen if isinstance(e, StepEvent)] == ["started", "discarded"]


async def test_a_reader_sees_only_its_owner_s_agents(start: Start) -> None:
    kit = await start(lambda request: Reply(text="ok", chunk=1))
    mine, other = await kit.agent(), await kit.agent(owner=OwnerId("other"))
    stream = kit.engine.subscribe(LOCAL_OWNER, after=0)
    await anext(stream)
    await kit.ask(other, "secret")
    receipt = await kit.post(mine, "hi")
    seen = await until_answered(stream, receipt.item.id)
    assert {e.agent_id for e in seen if not isinstance(e, HelloEvent | ResyncEvent)} == {mine.id}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def test_a_slow_reader_is_told_to_come_back_and_can(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_feed, "_QUEUE", 5)
    kit = await start(lambda request: "ok")
    agent = await kit.agent()
    stream = kit.engine.subscribe(LOCAL_OWNER, after=None)
    hello = await anext(stream)
    assert isinstance(hello, HelloEvent)
    await talk(kit, agent, 10)
    last = await kit.ask(agent, "last")
    seen: list[Event] = []
    with pytest.raises(LaggedError):
        async for event in stream:
            seen.append(event)
    after = cursors(seen)[-1] if seen else hello.cursor
    again = kit.engine.subscribe(LOCAL_OWNER, after=after)
    rest = await until_answered(again, last.item.id)
    got = cursors(seen) + cursors(rest[1:])
    assert got == sorted(got)


async def test_a_cursor_that_is_too_old_asks_for_a_fresh_start(start: Start) -> None:
    def forgetful(store: SqliteStore) -> SqliteStore:
        store._writer._changes_kept = 5  # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
        return store

    kit = await start(lambda request: "ok", wrap=forgetful)
    agent = await kit.agent()
    for number in range(10):
        await kit.ask(agent, f"m{number}")
    stream = kit.engine.subscribe(LOCAL_OWNER, after=1)
    assert isinstance(await anext(stream), HelloEvent)
    resync = await anext(stream)
    assert isinstance(resync, ResyncEvent)
    receipt = await kit.post(agent, "after that")
    seen = await until_answered(stream, receipt.item.id)
    assert all(cursor > resync.cursor for cursor in cursors(seen))


async def test_a_cursor_from_the_future_asks_for_a_fresh_start(start: Start) -> None:
    kit = await start([])
    stream = kit.engine.subscribe(LOCAL_OWNER, after=cursor_of(10**9))
    await anext(stream)
    assert isinstance(await anext(stream), ResyncEvent)


async def test_a_deletion_is_told(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    stream = kit.engine.subscribe(LOCAL_OWNER, after=None)
    await anext(stream)
    await kit.engine.delete(agent.owner, agent.id)
    event = await asyncio.wait_for(anext(stream), PATIENCE_SECONDS)
    assert isinstance(event, AgentDeletedEvent)


async def test_streams_end_when_the_engine_stops(start: Start) -> None:
    kit = await start([])
    stream = kit.engine.subscribe(LOCAL_OWNER, after=None)
    await anext(stream)
    await kit.engine.stop()
    with pytest.raises(StopAsyncIteration):
        await asyncio.wait_for(anext(stream), PATIENCE_SECONDS)


def test_a_change_with_more_events_than_numbers_makes_readers_read_anew() -> None:
    records = [NoteRecord(code="x", text="")] * 65_536
    change = Change(cursor=7, agent_id=AgentId("a"), owner=LOCAL_OWNER, records=records)
    assert events_of(change, bool) == [ResyncEvent(cursor=cursor_of(7))]
    fitting = events_of(replace(change, records=records[:65_535]), bool)
    assert len({event.cursor for event in fitting}) == 65_535
    assert fitting[-1].cursor < cursor_of(7)


async def test_what_a_model_says_within_a_moment_reaches_watchers_as_one_piece(
    start: Start,
) -> None:
    kit = await start([Reply(text="0123456789" * 20, chunk=10)])
    agent = await kit.agent()
    events = kit.engine.subscribe(agent.owner, after=None, agent_id=agent.id)
    await anext(events)
    receipt = await kit.post(agent, "go")
    seen = await until_answered(events, receipt.item.id)
    pieces = [event.text for event in seen if isinstance(event, DeltaEvent)]
    assert "".join(pieces) == "0123456789" * 20
    assert len(pieces) < 20
