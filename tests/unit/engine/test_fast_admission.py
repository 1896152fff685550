import asyncio

import pytest

from retinue.agents.inbox import Sender
from retinue.engine.rules.messages import new_message
from retinue.errors import ConflictError, RetinueError, StoreFullError, TerminatedError
from retinue.ids import LOCAL_OWNER, OwnerId
from retinue.models.scripted import Reply, ScriptedModel
from retinue.stores.port import Commit, Committed, Post, Receipt
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, last_said


class Admissions:
    """Counts what is admitted on its own, before its turn begins."""

    def __init__(self, kit: Kit) -> None:
        self.texts: list[str] = []
        self._admit = kit.store.admit
        kit.store.admit = self

    async def __call__(self, post: Post, **options: object) -> Receipt:
        self.texts.append(post.item.body.text)
        return await self._admit(post, **options)  # pyright: ignore[reportArgumentType]


async def test_a_message_that_finds_its_agent_at_rest_begins_with_its_admission(
    start: Start,
) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    admitted = Admissions(kit)
    outcome = await kit.ask(agent, "at rest")
    assert (outcome.item.fate, outcome.reply) == ("answered", "re at rest")
    assert admitted.texts == []
    kinds = await kit.kinds(agent)
    assert kinds[-2:] == ["user at rest", "assistant re at rest"]


async def test_a_message_to_an_agent_at_work_waits_in_its_inbox(start: Start) -> None:
    gate = Gate()
    model = ScriptedModel(["hello", Reply(text="first", before=gate), "second"], name="main")
    kit = await start(model)
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    admitted = Admissions(kit)
    first = await kit.post(agent, "one")
    await gate.reached.wait()
    second = await kit.post(agent, "two")
    assert admitted.texts == ["two"]
    gate.opened.set()
    assert [(await kit.outcome(one)).reply for one in (first, second)] == ["first", "second"]


async def test_a_key_counts_whichever_way_its_message_came(start: Start) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    first = await kit.post(agent, "one", key="k")
    await kit.outcome(first)
    again = await kit.post(agent, "one", key="k")
    assert (again.item.id, again.is_repeat) == (first.item.id, True)
    with pytest.raises(ConflictError):
        await kit.post(agent, "another", key="k")
    assert (await kit.ask(agent, "two", key="k2")).reply == "re two"
    assert [kind for kind in await kit.kinds(agent) if kind.startswith("user")] == [
        "user one",
        "user two",
    ]


async def test_messages_that_arrive_at_the_same_moment_are_all_answered(start: Start) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    receipts = await asyncio.gather(*(kit.post(agent, f"m{n}") for n in range(8)))
    outcomes = [await kit.outcome(receipt) for receipt in receipts]
    assert {outcome.item.fate for outcome in outcomes} == {"answered"}
    said = [kind for kind in await kit.kinds(agent) if kind.startswith("user m")]
    assert sorted(said) == [f"user m{n}" for n in range(8)]


async def test_messages_that_arrive_at_the_same_moment_keep_their_order(start: Start) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    receipts = await asyncio.gather(*(kit.post(agent, f"m{n}") for n in range(4)))
    seqs = [receipt.item.seq for receipt in receipts]
    for receipt in receipts:
        await kit.outcome(receipt)
    assert seqs == sorted(seqs)
    said = [kind for kind in await kit.kinds(agent) if kind.startswith("user m")]
    assert said == [f"user m{n}" for n in range(4)]


async def test_a_message_waits_behind_one_that_another_door_admitted_first(start: Start) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    offered = asyncio.ensure_future(kit.post(agent, "second"))
    await asyncio.sleep(0)
    sender = Sender(type="user", id=LOCAL_OWNER)
    item = new_message(
        "first", files=(), silent=False, key=None, sender=sender, at=agent.state.created_at
    )
    first = await kit.store.admit(Post(to=agent.id, item=item, owner=LOCAL_OWNER))
    second = await offered
    assert first.item.seq < second.item.seq
    await kit.outcome(first)
    await kit.outcome(second)
    said = [kind for kind in await kit.kinds(agent) if kind.startswith("user")]
    assert said[-2:] == ["user first", "user second"]


async def test_a_burst_in_a_chat_is_still_gathered(start: Start) -> None:
    kit = await start(lambda request: "all", limits={"coalesce_window_ms": 150})
    agent = await kit.agent()
    chatting = Sender(type="user", id="ada", connector="chat")
    await kit.ask(agent, "wakes it")
    receipts = [await kit.post(agent, f"m{n}", sender=chatting) for n in range(3)]
    for receipt in receipts:
        assert (await kit.outcome(receipt)).reply == "all"
    kinds = await kit.kinds(agent)
    assert kinds[-4:] == ["user m0", "user m1", "user m2", "assistant all"]


async def test_nobody_else_reaches_an_agent_in_memory(start: Start) -> None:
    kit = await start(lambda request: "hi")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    with pytest.raises(RetinueError, match="there is no agent"):
        await kit.engine.post(OwnerId("stranger"), agent.id, "hello")
    await kit.engine.terminate(LOCAL_OWNER, agent.id)
    with pytest.raises(TerminatedError):
        await kit.post(agent, "too late")


async def test_a_message_that_arrives_as_the_engine_stops_is_stored_or_refused(
    start: Start,
) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    posting = asyncio.ensure_future(kit.post(agent, "at the last moment"))
    await asyncio.sleep(0)
    await kit.restart()
    receipt = await posting
    assert (await kit.outcome(receipt)).reply == "re at the last moment"


async def test_a_sender_that_goes_away_leaves_one_message_or_none_and_an_agent_that_works(
    start: Start,
) -> None:
    kit = await start(lambda request: f"re {last_said(request)}")
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    posting = asyncio.ensure_future(kit.post(agent, "gone", key="k"))
    await asyncio.sleep(0)
    posting.cancel()
    again = await kit.post(agent, "gone", key="k")
    assert (await kit.outcome(again)).reply == "re gone"
    assert (await kit.ask(agent, "next")).reply == "re next"
    said = [kind for kind in await kit.kinds(agent) if kind.startswith("user")]
    assert said == ["user wakes it", "user gone", "user next"]


async def test_a_message_that_was_begun_when_the_process_died_is_answered_once(
    start: Start,
) -> None:
    gate = Gate()
    model = ScriptedModel(["hello", Reply(text="lost", before=gate), "said"], name="main")
    kit = await start(model)
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    admitted = Admissions(kit)
    first = await kit.post(agent, "one", key="k")
    await gate.reached.wait()
    assert admitted.texts == []
    await kit.crash()
    again = await kit.post(agent, "one", key="k")
    assert (again.item.id, again.is_repeat) == (first.item.id, True)
    assert (await kit.outcome(first)).reply == "said"
    kinds = await kit.kinds(agent)
    assert kinds[-2:] == ["user one", "assistant said"]


async def test_a_message_that_finds_no_room_is_refused_and_can_be_sent_again(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(lambda request: f"re {last_said(request)}", clock=clock)
    agent = await kit.agent()
    await kit.ask(agent, "wakes it")
    commit = kit.store.commit
    kit.store.commit = no_room
    with pytest.raises(StoreFullError):
        await kit.post(agent, "one", key="k")
    assert await kit.store.open_items(LOCAL_OWNER, agent.id) == []
    kit.store.commit = commit
    again = await kit.post(agent, "one", key="k")
    assert not again.is_repeat
    assert (await kit.outcome(again)).reply == "re one"
    said = [kind for kind in await kit.kinds(agent) if kind.startswith("user")]
    assert said == ["user wakes it", "user one"]


async def no_room(commit: Commit) -> Committed:
    raise StoreFullError("no room")
