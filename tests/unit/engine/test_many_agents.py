import asyncio
from random import Random

import pytest

from retinue.agents.descriptor import CronDescriptor
from retinue.agents.inbox import FINAL
from retinue.errors import NotFoundError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Reply
from retinue.records import AnyRecord, AssistantRecord, ToolRecord, UserRecord
from retinue.stores.port import Agent
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, last_said, said

OTHER = OwnerId("other")


async def test_owners_never_see_each_other_s_messages(start: Start) -> None:
    gate = Gate()
    kit = await start(lambda request: Reply(text="ok", before=gate))
    agent = await kit.agent()
    receipt = await kit.post(agent, "private")
    await gate.reached.wait()
    for wait_seconds in (0, 0.01):
        with pytest.raises(NotFoundError):
            await kit.engine.outcome(OTHER, receipt.item.id, wait_seconds=wait_seconds)
    with pytest.raises(NotFoundError):
        await kit.engine.post(OTHER, agent.id, "hello")
    gate.opened.set()
    await kit.outcome(receipt)
    with pytest.raises(NotFoundError):
        await kit.engine.outcome(OTHER, receipt.item.id, wait_seconds=0.01)


async def test_background_work_never_starves_a_person(start: Start) -> None:
    gate = Gate()

    def reply(request: ModelRequest) -> Answer:
        return Reply(text="slow", before=gate) if last_said(request) == "job" else "quick"

    kit = await start(reply, limits={"background_concurrency": 2, "foreground_concurrency": 2})
    jobs = [
        await kit.engine.post(LOCAL_OWNER, CronDescriptor(id=f"j{n}"), "job", definition="helper")
        for n in range(6)
    ]
    await gate.reached.wait()
    assert (await kit.ask(await kit.agent(), "hi")).reply == "quick"
    assert gate.count <= 2
    gate.opened.set()
    for job in jobs:
        assert (await kit.outcome(job)).reply == "slow"


async def test_an_agent_that_was_let_go_from_memory_goes_on_where_it_was(start: Start) -> None:
    kit = await start(lambda request: f"{len(said(request))} lines", limits={"warm_bytes": 20_000})
    agents = [await kit.agent() for _ in range(40)]
    for agent in agents:
        await kit.ask(agent, "one")
    assert len(kit.engine._live) < 10  # pyright: ignore[reportPrivateUsage]
    for agent in agents:
        assert (await kit.ask(agent, "two")).reply == "2 lines"


async def test_one_huge_agent_is_let_go_too(start: Start) -> None:
    kit = await start(lambda request: "ok", limits={"warm_bytes": 20_000})
    agent = await kit.agent()
    await kit.ask(agent, "x" * 50_000)
    small = await kit.agent()
    await kit.ask(small, "hi")
    assert agent.id not in kit.engine._live  # pyright: ignore[reportPrivateUsage]
    assert (await kit.ask(agent, "still there?")).reply == "ok"


def well_formed(records: list[AnyRecord]) -> bool:
    """Every call has one result, before anything else is said."""
    pending: list[str] = []
    for record in records:
        if isinstance(record, AssistantRecord):
            if pending:
                return False
            pending = [call.id for call in record.calls]
        elif isinstance(record, ToolRecord):
            if record.call not in pending:
                return False
            pending.remove(record.call)
        elif isinstance(record, UserRecord) and pending:
            return False
    return not pending


async def chatter(kit: Kit, agent: Agent, random: Random, count: int) -> list[str]:
    sent: list[str] = []
    for number in range(count):
        receipt = await kit.post(agent, f"m{number:02}")
        sent.append(receipt.item.id)
        match random.randrange(12):
            case 0:
                await kit.engine.interrupt(agent.owner, agent.id)
            case 1:
                await kit.engine.reset(agent.owner, agent.id)
            case 2 | 3 | 4 | 5:
                await kit.outcome(receipt)
            case 6:
                await asyncio.sleep(random.random() / 200)
            case _:
                pass
    return sent


@pytest.mark.slow
async def test_fifty_agents_with_stops_and_resets_keep_every_promise(start: Start) -> None:
    random = Random(7)

    def reply(request: ModelRequest) -> Answer:
        choice = random.randrange(5)
        is_tool_due = choice == 0 and len(request.messages) % 4
        return calls("work", "work") if is_tool_due else Reply(text="ok", chunk=1)

    @tool
    async def work() -> str:
        """Work."""
        await asyncio.sleep(0)
        return "worked"

    kit = await start(reply, tools=[work], limits={"warm_bytes": 200_000})
    agents = [await kit.agent() for _ in range(50)]
    sent = await asyncio.gather(
        *(chatter(kit, agent, Random(n), 20) for n, agent in enumerate(agents))
    )
    for agent, item_ids in zip(agents, sent, strict=True):
        for item_id in item_ids:
            outcome = await kit.outcome(item_id)  # pyright: ignore[reportArgumentType]
            assert outcome.item.fate in FINAL
            assert outcome.item.fate in ("answered", "cancelled")
        records = await kit.records(agent)
        assert well_formed(records)
        items = [r.item for r in records if isinstance(r, UserRecord)]
        assert items == [i for i in item_ids if i in set(items)], "in the order they were sent"
        assert len(items) == len(set(items))
        fresh = await kit.fresh(agent)
        assert (fresh.state.turn, fresh.queued, fresh.running) == (None, 0, 0)
        answers = [r.seq for r in records if isinstance(r, AssistantRecord) and not r.calls]
        replies = {(await kit.outcome(i)).item.reply_seq for i in item_ids}  # pyright: ignore[reportArgumentType]
        assert set(answers) <= replies
