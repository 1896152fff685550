"""What tests of schedules share."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from retinue.agents.descriptor import CronDescriptor
from retinue.engine.engine import Engine
from retinue.engine.scheduling.schedule_service import NewSchedule
from retinue.ids import LOCAL_OWNER, ScheduleId
from retinue.models.port import ModelRequest
from retinue.models.scripted import ScriptedModel
from retinue.records import SystemRecord
from retinue.stores.port import Agent, Store
from retinue.stores.schedule_port import Slot, StoredSchedule
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import PATIENCE_SECONDS, Kit

HOUR = 3600.0


class Opened(Protocol):
    """An engine at work: a kit, or the whole of a project."""

    @property
    def engine(self) -> Engine: ...

    @property
    def store(self) -> Store: ...


class Silent:
    """A model that counts its calls and says little."""

    def __init__(self, says: str = "ok") -> None:
        self.requests: list[ModelRequest] = []
        self._says = says
        self.model = ScriptedModel(self._answer, name="main")

    def _answer(self, request: ModelRequest) -> str:
        self.requests.append(request)
        return self._says


async def until(kit: Opened, holds: Callable[[], Awaitable[Any]]) -> Any:
    """Wait until something in the store holds, looking again after every change."""
    news = asyncio.Event()
    undo = [
        kit.store.listen(lambda _: news.set()),
        kit.engine.schedules.store.listen(lambda _: news.set()),
    ]
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                news.clear()
                found = await holds()
                if found:
                    return found
                await news.wait()
    finally:
        for one in undo:
            one()


async def make(kit: Opened, title: str = "Daily", **fields: Any) -> StoredSchedule:
    known: dict[str, Any] = {"title": title, "prompt": "Report.", "timezone": "UTC"}
    if "at" not in fields:
        known["cron"] = "0 * * * *"
    return await kit.engine.schedules.create(LOCAL_OWNER, NewSchedule(**(known | fields)))


async def slots(kit: Opened, name: str = "daily") -> Sequence[Slot]:
    return await kit.engine.schedules.store.slots(LOCAL_OWNER, ScheduleId(name), 100)


async def statuses(kit: Opened, name: str = "daily") -> list[str]:
    """What became of its times, the oldest first."""
    return [slot.status for slot in reversed(await slots(kit, name))]


async def ended(kit: Opened, count: int = 1, name: str = "daily") -> list[Slot]:
    """Wait until that many of its runs have ended."""

    async def holds() -> list[Slot] | None:
        done = [slot for slot in await slots(kit, name) if slot.ended_at is not None]
        return done if len(done) >= count else None

    return await until(kit, holds)


async def pass_time(kit: Opened, clock: FakeClock, name: str = "daily") -> None:
    """Let time pass until the schedule's next time, and wait until it was handled."""
    before = await kit.engine.schedules.get(LOCAL_OWNER, ScheduleId(name))
    assert before.next_at is not None
    seconds = (before.next_at - clock.now()).total_seconds()
    await clock.someone_sleeps(seconds)
    clock.advance(seconds)

    async def moved_on() -> bool:
        now = await kit.engine.schedules.get(LOCAL_OWNER, ScheduleId(name))
        return now.next_at != before.next_at

    await until(kit, moved_on)


async def cron_agent(kit: Opened, name: str = "daily") -> Agent:
    agent = await kit.store.find(LOCAL_OWNER, CronDescriptor(id=name))
    assert agent is not None
    return agent


async def system_texts(kit: Kit, agent: Agent) -> list[str]:
    """What an agent was told by others than people, whether it has read it yet or not."""
    waiting = await kit.store.open_items(agent.owner, agent.id)
    read = [r for r in await kit.records(agent) if isinstance(r, SystemRecord)]
    told = {item.id: item.body.text for item in waiting if item.kind == "system"}
    return list((told | {record.item: record.text for record in read}).values())
