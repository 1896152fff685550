import asyncio

from retinue.engine.feed.dispatch import LocalDispatch
from retinue.ids import AgentId
from retinue.testing.fake_clock import FakeClock
from tests.unit.engine.support import eventually

AGENT = AgentId("a")


async def test_an_agent_has_one_timer_the_earliest(clock: FakeClock) -> None:
    woken: list[AgentId] = []

    async def run(agent_id: AgentId) -> None:
        woken.append(agent_id)

    dispatch = LocalDispatch(foreground=1, background=1, clock=clock)
    dispatch.begin(run)
    for seconds in (30, 10, 20, 10):
        dispatch.wake_later(AGENT, "foreground", seconds)
        await asyncio.sleep(0)
    assert clock.delays == [10]
    clock.advance(10)
    await eventually(lambda: woken)
    clock.advance(60)
    await asyncio.sleep(0.01)
    assert woken == [AGENT]
    dispatch.wake_later(AGENT, "foreground", 5)
    await clock.someone_sleeps()
    await dispatch.end()
