import asyncio
import sqlite3
from collections.abc import Sequence
from datetime import datetime

import pytest

from retinue.agents.descriptor import UserDescriptor
from retinue.engine.feed.outbox import UndeliverableError
from retinue.errors import ModelError
from retinue.ids import LOCAL_OWNER
from retinue.stores.port import Delivery, Receipt
from retinue.stores.sqlite.store import SqliteStore
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, eventually, last_said


class Channel:
    """A connector that notes what it sends, and fails as it is told to."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.keys: list[str] = []
        self.fails: dict[str, list[Exception]] = {}
        self.gates: dict[str, Gate] = {}

    async def deliver(self, delivery: Delivery) -> None:
        if delivery.channel in self.gates:
            await self.gates[delivery.channel]()
        failures = self.fails.get(delivery.channel)
        if failures:
            raise failures.pop(0)
        self.sent.append((delivery.channel, delivery.text))
        self.keys.append(delivery.key)

    def texts(self, channel: str) -> list[str]:
        return [text for where, text in self.sent if where == channel]


@pytest.fixture
def channel() -> Channel:
    return Channel()


async def say(kit: Kit, channel: str, text: str) -> Receipt:
    chat = UserDescriptor(connector="chat", user_id="u", channel_id=channel)
    return await kit.engine.post(LOCAL_OWNER, chat, text, definition="helper")


async def test_a_reply_leaves_through_its_connector(start: Start, channel: Channel) -> None:
    kit = await start(["hello"], connectors={"chat": channel})
    await say(kit, "c", "hi")
    await eventually(lambda: channel.sent)
    assert channel.sent == [("c", "hello")]


async def test_replies_of_one_channel_leave_in_order_though_some_fail(
    start: Start, channel: Channel, clock: FakeClock
) -> None:
    kit = await start(
        lambda request: f"re {last_said(request)}", connectors={"chat": channel}, clock=clock
    )
    channel.fails["c"] = [ConnectionError("down"), ConnectionError("still down")]
    for number in range(3):
        await kit.outcome(await say(kit, "c", f"m{number}"))
    assert await clock.someone_sleeps(0.9) <= 2

    def all_left() -> bool:
        clock.advance(2)
        return len(channel.sent) == 3

    await eventually(all_left)
    assert channel.texts("c") == ["re m0", "re m1", "re m2"]
    assert len(set(channel.keys)) == 3


async def test_a_channel_that_hangs_delays_only_itself(start: Start, channel: Channel) -> None:
    kit = await start(lambda request: "ok", connectors={"chat": channel})
    channel.gates["slow"] = Gate()
    await say(kit, "slow", "hi")
    await channel.gates["slow"].reached.wait()
    for _ in range(3):
        await kit.outcome(await say(kit, "fast", "hi"))
    await eventually(lambda: len(channel.texts("fast")) == 3)
    assert channel.texts("slow") == []
    channel.gates["slow"].opened.set()
    await eventually(lambda: channel.texts("slow") == ["ok"])
    assert channel.gates["slow"].count == 1


async def test_a_crowd_of_channels_that_hang_delays_no_others(
    start: Start, channel: Channel
) -> None:
    kit = await start(lambda request: "ok", connectors={"chat": channel})
    gate = Gate()
    for number in range(100):
        channel.gates[f"slow{number}"] = gate
    await asyncio.gather(*(say(kit, name, "hi") for name in channel.gates))
    await eventually(lambda: gate.count == 100)
    await say(kit, "fast", "hi")
    await eventually(lambda: channel.texts("fast") == ["ok"])
    gate.opened.set()
    await eventually(lambda: len(channel.sent) == 101)


async def test_a_reply_that_can_never_arrive_does_not_block_the_next(
    start: Start, channel: Channel
) -> None:
    kit = await start(lambda request: f"re {last_said(request)}", connectors={"chat": channel})
    channel.fails["c"] = [UndeliverableError("blocked")]
    await kit.outcome(await say(kit, "c", "one"))
    await kit.outcome(await say(kit, "c", "two"))
    await eventually(lambda: channel.sent)
    assert channel.texts("c") == ["re two"]


async def test_what_was_not_sent_is_sent_after_a_restart(start: Start, channel: Channel) -> None:
    kit = await start(lambda request: "ok", connectors={"chat": channel})
    channel.gates["c"] = Gate()
    await kit.outcome(await say(kit, "c", "hi"))
    await channel.gates["c"].reached.wait()
    await kit.crash()
    channel.gates["c"].opened.set()
    await eventually(lambda: channel.sent)
    assert channel.texts("c") == ["ok"]


async def test_a_failure_is_told_to_the_chat_in_words(start: Start, channel: Channel) -> None:
    kit = await start([ModelError("no credit")], connectors={"chat": channel})
    await say(kit, "c", "hi")
    await eventually(lambda: channel.sent)
    assert channel.texts("c") == ["This could not be answered: no credit"]


async def test_a_thousand_replies_leave_once_each(start: Start, channel: Channel) -> None:
    kit = await start(lambda request: "ok", connectors={"chat": channel})
    receipts = await asyncio.gather(*(say(kit, f"c{n % 40}", f"m{n}") for n in range(200)))
    outcomes = await asyncio.gather(*(kit.outcome(receipt) for receipt in receipts))
    replies = {(o.item.agent_id, o.item.reply_seq) for o in outcomes}
    await eventually(lambda: len(channel.keys) >= len(replies))
    await asyncio.sleep(0.05)
    assert len(channel.keys) == len(set(channel.keys)) == len(replies)


async def test_the_outbox_is_read_only_when_a_commit_has_replies(
    start: Start, channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = SqliteStore.due_deliveries

    async def counted(store: SqliteStore, now: datetime, limit: int) -> Sequence[Delivery]:
        reads.append(limit)
        return await read(store, now, limit)

    monkeypatch.setattr(SqliteStore, "due_deliveries", counted)
    kit = await start(lambda request: "ok", connectors={"chat": channel})
    await eventually(lambda: reads)
    reads.clear()
    agent = await kit.agent()
    for number in range(5):
        await kit.ask(agent, f"m{number}")  # of the web app, where no reply has to leave
    await asyncio.sleep(0.01)
    assert not reads
    await kit.outcome(await say(kit, "c", "hi"))
    await eventually(lambda: channel.sent)
    assert reads


async def test_a_reply_that_left_takes_no_room_any_more(start: Start, channel: Channel) -> None:
    kit = await start(lambda request: "ok", connectors={"chat": channel})
    for number in range(3):
        await kit.outcome(await say(kit, "c", f"m{number}"))
    await eventually(lambda: len(channel.sent) == 3)
    database = sqlite3.connect(kit.stage.directory / ".retinue" / "retinue.db")
    count = "SELECT count(*) FROM deliveries"
    await eventually(lambda: database.execute(count).fetchone() == (0,))
    database.close()
