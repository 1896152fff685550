"""What a command breaks off: the work ends, and the task that did it can work on."""

import asyncio
from typing import Any, cast

import pytest

from retinue.engine.turn.committing import Committer, Interrupted
from tests.unit.engine.live_agents import draft_of, ended, item, live_agent
from tests.unit.engine.support import Gate


def a_committer() -> Committer:
    """One that commits nothing here, and so needs none of its parts."""
    none = cast("Any", None)
    return Committer(store=none, clock=none, connectors={}, outbox=none, disk=none)


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_work_is_broken_off_once_by_several_commands_at_once(times: int) -> None:
    committer, live, gate = a_committer(), live_agent(), Gate()

    async def run() -> str:
        with pytest.raises(Interrupted):
            await committer.interruptibly(live, gate())
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0  # else a time limit further on takes it for its own
        return await committer.interruptibly(live, asyncio.sleep(0, "worked on"))

    running = asyncio.ensure_future(run())
    await gate.reached.wait()
    for _ in range(times):
        live.interrupt()
    assert await running == "worked on"


async def test_a_cancellation_that_no_command_asked_for_is_passed_on() -> None:
    committer, live, gate = a_committer(), live_agent(), Gate()
    running = asyncio.ensure_future(committer.interruptibly(live, gate()))
    await gate.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_work_that_ends_by_itself_gives_its_result() -> None:
    committer, live = a_committer(), live_agent()
    assert await committer.interruptibly(live, asyncio.sleep(0, "done")) == "done"
    assert not live.is_working


async def test_the_end_of_the_process_breaks_work_off_and_lets_none_begin() -> None:
    committer, live, gate = a_committer(), live_agent(), Gate()
    running = asyncio.ensure_future(committer.interruptibly(live, gate()))
    await gate.reached.wait()
    committer.is_stopping = True
    running.cancel()
    with pytest.raises(Interrupted):
        await running
    with pytest.raises(Interrupted):
        await committer.interruptibly(live, gate())
    assert gate.count == 1


async def test_an_end_without_its_notices_is_not_committed() -> None:
    committer, message = a_committer(), item("m1")
    live = live_agent(waiting=[message])
    live.has_listeners = True
    with pytest.raises(AssertionError, match="not completed"):
        await committer.commit(live, draft_of(live, ended(message)))
