"""The store contract for usage; run it for every store."""

from datetime import UTC, date, datetime

import msgspec
import pytest

from retinue.agents.state import TokenStats
from retinue.errors import FencedError
from retinue.ids import LOCAL_OWNER
from retinue.records import Usage
from retinue.stores.port import Effects, Store
from retinue.stores.usage_port import UsageSum
from retinue.testing.store_samples import STRANGER, SampleRunner, new_agent

replace = msgspec.structs.replace

ONE = Usage(input=10, output=2, cache_read=5)
OTHER = Usage(input=100, output=20, cache_write=7)


async def working(store: Store) -> SampleRunner:
    agent, _ = await store.create(new_agent())
    return await SampleRunner.claim(store, agent.id)


def day(number: int) -> datetime:
    return datetime(2026, 11, number, 23, 59, tzinfo=UTC)


class UsageStoreContract:
    """Subclasses provide a fixture `store`."""

    async def test_commits_add_up_by_day_and_model(self, store: Store) -> None:
        runner = await working(store)
        await runner.commit(
            replace(runner.step(), at=day(1), effects=Effects(usages=(("a:x", ONE),)))
        )
        await runner.commit(
            replace(
                runner.step(), at=day(1), effects=Effects(usages=(("a:x", ONE), ("b:y", OTHER)))
            )
        )
        await runner.commit(
            replace(runner.step(), at=day(2), effects=Effects(usages=(("a:x", OTHER),)))
        )
        assert await store.usage.sums(LOCAL_OWNER, "day") == [
            _sum("2026-11-01", "a:x", calls=2, input=20, output=4, cache_read=10),
            _sum("2026-11-01", "b:y", calls=1, input=100, output=20, cache_write=7),
            _sum("2026-11-02", "a:x", calls=1, input=100, output=20, cache_write=7),
        ]
        (only,) = await store.usage.sums(
            LOCAL_OWNER, "model", first=date(2026, 11, 2), last=date(2026, 11, 2)
        )
        assert (only.key, only.tokens.calls) == ("a:x", 1)

    async def test_usage_is_its_owners_and_outlives_its_agent(self, store: Store) -> None:
        runner = await working(store)
        await runner.commit(runner.step(effects=Effects(usages=(("a:x", ONE),))))
        await store.delete(LOCAL_OWNER, runner.id)
        (kept,) = await store.usage.sums(LOCAL_OWNER, "agent")
        assert (kept.key, kept.tokens.calls) == (runner.id, 1)
        assert await store.usage.sums(STRANGER, "agent") == []

    async def test_a_step_counts_for_the_definition_that_took_it(self, store: Store) -> None:
        runner = await working(store)
        before = (await store.agent(LOCAL_OWNER, runner.id)).definition
        used = Effects(usages=(("a:x", ONE),))
        step = replace(runner.step(effects=used), definition="another")
        await runner.commit(step)
        await runner.commit(runner.step(effects=Effects(usages=(("a:x", ONE),))))
        found = await store.usage.sums(LOCAL_OWNER, "definition")
        assert [one.key for one in found] == sorted(["another", before])

    async def test_a_commit_that_is_refused_counts_nothing(self, store: Store) -> None:
        runner = await working(store)
        late = replace(
            runner.step(), epoch=runner.epoch - 1, effects=Effects(usages=(("a:x", ONE),))
        )
        with pytest.raises(FencedError):
            await store.commit(late)
        assert await store.usage.sums(LOCAL_OWNER, "day") == []


def _sum(key: str, model: str, **tokens: int) -> UsageSum:
    return UsageSum(key=key, model=model, tokens=TokenStats(**tokens))
