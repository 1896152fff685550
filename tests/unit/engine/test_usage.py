"""What models were asked is counted with what they answered, and made again from histories."""

import sqlite3
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from retinue.agents.state import TokenStats
from retinue.agents.usage import UsageKey
from retinue.engine.feed.usage_summary import UsageSummaries, cost_of
from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import Usage
from retinue.settings.tables import PriceSettings
from retinue.stores.agent_export import StoredAgent
from retinue.stores.port import Agent
from retinue.stores.sqlite.database_file import DATABASE
from retinue.stores.sqlite.store import SqliteStore
from retinue.stores.usage_port import UsageSum
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.test_sub_prompts import asking, begin

USAGE = Usage(input=5, output=2, cache_read=1)


def model_of(usage: Usage = USAGE) -> ScriptedModel:
    return ScriptedModel(lambda _: Reply(text="ok", usage=usage), name="main")


async def told(kit: Kit, by: UsageKey) -> list[tuple[str, str, int, int]]:
    found = await kit.store.usage.sums(LOCAL_OWNER, by)
    return [(one.key, one.model, one.tokens.calls, one.tokens.output) for one in found]


async def test_each_answer_is_counted_on_its_day(start: Start, clock: FakeClock) -> None:
    kit = await start(model_of(), clock=clock)
    agent = await kit.agent()
    first = clock.now().date()
    await kit.ask(agent, "one")
    await kit.ask(agent, "two")
    clock.advance(timedelta(days=1).total_seconds())
    await kit.ask(agent, "three")
    second = first + timedelta(days=1)
    assert await told(kit, "day") == [
        (first.isoformat(), "main", 2, 4),
        (second.isoformat(), "main", 1, 2),
    ]
    assert await told(kit, "agent") == [(agent.id, "main", 3, 6)]


def whole(kit: Kit, agent: Agent) -> StoredAgent:
    assert isinstance(kit.store, SqliteStore)
    reader = kit.store.whole_reader()
    stored = reader.read(agent.id, after=0)
    reader.close()
    assert stored is not None
    return stored


async def rebuilt(kit: Kit, agent: Agent, folder: Path) -> Sequence[UsageSum]:
    """What a store tells that has nothing but the agent's history."""
    empty = SqliteStore(folder / "empty")
    await empty.open()
    await empty.restore(whole(kit, agent))
    found = await empty.usage.sums(LOCAL_OWNER, "definition")
    await empty.close()
    return found


async def test_what_a_sub_prompt_asked_is_counted_and_found_again_in_the_history(
    start: Start, tmp_path: Path
) -> None:
    model = ScriptedModel(asking(Reply(text="Twice a day.", usage=USAGE)), name="main")
    kit = await begin(start, model)
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert await told(kit, "definition") == [("helper", "main", 1, 2)]
    assert await rebuilt(kit, agent, tmp_path) == await kit.store.usage.sums(
        LOCAL_OWNER, "definition"
    )


async def test_what_was_asked_before_a_handoff_is_its_sources(start: Start, tmp_path: Path) -> None:
    definitions = {
        "desk.toml": 'name = "desk"\ndescription = "Receives."\n[sideA]\nprompt = "desk"\n',
        "billing.toml": 'name = "billing"\ndescription = "Bills."\nexposeAsTool = true\n'
        '[sideA]\nprompt = "billing"\n',
    }
    prompts = {
        "desk.md": "---\nmodel: main\ntools: [billing]\n---\nYou receive.",
        "billing.md": "---\nmodel: main\ntools: []\n---\nYou bill.",
    }

    def script(request: ModelRequest) -> Answer:
        if "You bill" in request.system:
            return Reply(text="Paid.", usage=USAGE)
        return Reply(calls=[Call(name="billing", arguments={})], usage=USAGE)

    kit = await start(script, definitions=definitions, prompts=prompts)
    agent = await kit.agent("desk")
    await kit.ask(agent, "pay")
    assert await told(kit, "definition") == [("billing", "main", 1, 2), ("desk", "main", 1, 2)]
    assert await rebuilt(kit, agent, tmp_path) == await kit.store.usage.sums(
        LOCAL_OWNER, "definition"
    )


async def test_an_agent_that_is_restored_where_it_was_counted_counts_once(start: Start) -> None:
    kit = await start(model_of())
    agent = await kit.agent()
    await kit.ask(agent, "one")
    before = await told(kit, "agent")
    stored = whole(kit, agent)
    await kit.engine.delete(LOCAL_OWNER, agent.id)
    assert isinstance(kit.store, SqliteStore)
    await kit.store.restore(stored)
    assert await told(kit, "agent") == before


async def test_a_database_from_before_counts_what_its_histories_tell(start: Start) -> None:
    kit = await start(model_of())
    agent = await kit.agent()
    await kit.ask(agent, "one")
    await kit.ask(agent, "two")
    keys: tuple[UsageKey, ...] = ("day", "definition", "agent")
    before = [await told(kit, by) for by in keys]
    await kit.close()
    (database,) = kit.stage.directory.glob(f"**/{DATABASE}")
    _before_usage(database)
    await kit.open()
    assert [await told(kit, by) for by in keys] == before


def _before_usage(database: Path) -> None:
    schema = Path(__file__).resolve().parents[3] / "src/retinue/stores/sqlite/schema"
    (number,) = [int(file.name[:4]) for file in schema.glob("*_usage.sql")]
    connection = sqlite3.connect(database)
    connection.executescript(
        f"DROP TABLE usage; ALTER TABLE items DROP COLUMN code; PRAGMA user_version = {number - 1};"
    )
    connection.close()


PRICE = PriceSettings(input=2.0, output=10.0, cache_read=0.5)


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [
        (TokenStats(input=1_000_000), 2.0),
        (TokenStats(output=500_000), 5.0),
        (TokenStats(cache_read=1_000_000), 0.5),
        (TokenStats(cache_write=1_000_000), 2.0),  # as much as input
        (TokenStats(calls=3), 0.0),
    ],
)
def test_tokens_cost_what_a_million_of_them_does(tokens: TokenStats, cost: float) -> None:
    assert cost_of(PRICE, tokens) == pytest.approx(cost)


class Sums:
    """A store's sums, given."""

    def __init__(self, *sums: UsageSum) -> None:
        self._sums = sums

    async def sums(self, *_: object, **__: object) -> tuple[UsageSum, ...]:
        return self._sums


async def test_models_without_a_price_are_counted_and_named_and_cost_nothing(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    kit = await start(model_of())
    sums = Sums(
        UsageSum(key="helper", model="a:x", tokens=TokenStats(calls=1, input=1_000_000)),
        UsageSum(key="helper", model="local:y", tokens=TokenStats(calls=1, input=7)),
        UsageSum(key="gone", model="local:y", tokens=TokenStats(calls=2, output=3)),
    )
    monkeypatch.setattr(type(kit.store), "usage", sums)
    prices = kit.engine.settings.prices.model_copy(update={"models": {"a:x": PRICE}})
    settings = kit.engine.settings.model_copy(update={"prices": prices})
    report = await UsageSummaries(kit.store, settings, kit.engine.catalog).report(
        LOCAL_OWNER, "definition"
    )
    assert [(one.key, one.cost, one.is_partial) for one in report.lines] == [
        ("helper", 2.0, True),
        ("gone", None, True),
    ]
    assert (report.total.cost, report.total.calls, report.unpriced) == (2.0, 4, ["local:y"])
