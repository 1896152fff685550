"""Passes: for whom they are, for how long, and for how many calls."""

import asyncio

import pytest

from retinue.engine.calls.plugin_calls import Caller
from retinue.engine.skills.sandbox_tokens import MOST_CALLS, SandboxTokens
from retinue.errors import RefusedError
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.testing.fake_clock import FakeClock

CALLER = Caller(owner=LOCAL_OWNER, agent_id=AgentId("a" * 24), is_skill=True)


async def test_a_pass_counts_until_its_time_is_over_and_nobody_else_has_it() -> None:
    clock = FakeClock()
    passes = SandboxTokens(clock)
    token = passes.issue(CALLER, 60)
    with passes.used(token) as caller, passes.used(f"{token}x") as stranger:
        assert (caller, stranger) == (CALLER, None)
    clock.advance(60)
    with passes.used(token) as caller:
        assert caller is None


async def test_a_pass_serves_so_many_calls_at_the_same_time_and_ends_them_with_itself() -> None:
    passes = SandboxTokens(FakeClock())
    token = passes.issue(CALLER, 60)

    async def call() -> None:
        with passes.used(token):
            await asyncio.Event().wait()

    calls = [asyncio.create_task(call()) for _ in range(MOST_CALLS)]
    await asyncio.sleep(0)
    with pytest.raises(RefusedError, match="at most 16 calls"), passes.used(token):
        pass
    passes.revoke(token)
    await asyncio.gather(*calls, return_exceptions=True)
    assert all(one.cancelled() for one in calls)
    with passes.used(token) as caller:
        assert caller is None
