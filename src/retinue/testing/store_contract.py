"""The store contract; run it for every store, with a fixture of its own."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from retinue.agents.descriptor import (
    CronDescriptor,
    Descriptor,
    HeartbeatDescriptor,
    PermanentDescriptor,
    SubagentDescriptor,
    SwarmDescriptor,
    SystemDescriptor,
    kind_of,
)
from retinue.agents.state import AgentState
from retinue.errors import (
    ConflictError,
    FencedError,
    NotFoundError,
    RetinueError,
    StoreError,
    TerminatedError,
)
from retinue.ids import LOCAL_OWNER, AgentId, ItemId, new_agent_id
from retinue.records import StartRecord, UnknownRecord
from retinue.stores.port import (
    AuditLine,
    Commit,
    Effects,
    FateChange,
    NewDelivery,
    Offset,
    Redescription,
    Store,
)
from retinue.testing.store_admission_contract import StoreBeginningContract
from retinue.testing.store_reading_contract import StoreReadingContract
from retinue.testing.store_samples import (
    START,
    STRANGER,
    SampleRunner,
    at,
    chat,
    new_agent,
    permanent,
    post,
    said,
)

replace = msgspec.structs.replace


class StoreContract(StoreBeginningContract, StoreReadingContract):
    """Override `store` with a fixture that opens an empty store; also `reopened` if possible."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        raise NotImplementedError
        yield

    async def reopened(self, store: Store) -> Store:
        raise NotImplementedError

    # -- creating and finding

    async def test_a_new_agent_begins_with_its_start_record(self, store: Store) -> None:
        new = new_agent(chat("a"))
        agent, is_new = await store.create(new)
        assert is_new
        assert (agent.id, agent.owner, agent.kind) == (new.id, LOCAL_OWNER, "user")
        assert (agent.lifecycle, agent.queued, agent.running) == ("active", 0, 0)
        history = await store.history(LOCAL_OWNER, agent.id, after=0, limit=10)
        assert list(history) == [StartRecord(seq=1, at=START)]

    async def test_the_same_identity_finds_the_same_agent(self, store: Store) -> None:
        first, _ = await store.create(new_agent(chat("a")))
        again, is_new = await store.create(new_agent(chat("a")))
        assert not is_new
        assert again == first
        assert await store.find(LOCAL_OWNER, chat("a")) == first
        assert await store.find(LOCAL_OWNER, chat("b")) is None

    async def test_fifty_creations_at_once_make_one_agent(self, store: Store) -> None:
        created = await asyncio.gather(*(store.create(new_agent(chat("a"))) for _ in range(50)))
        assert len({agent.id for agent, _ in created}) == 1
        assert sum(is_new for _, is_new in created) == 1

    async def test_fifty_first_messages_at_once_make_one_agent(self, store: Store) -> None:
        posts = [post(new_agent(chat("a")), f"text {number}") for number in range(50)]
        receipts = await asyncio.gather(*(store.admit(one) for one in posts))
        assert len({receipt.agent_id for receipt in receipts}) == 1
        assert [receipt.item.seq for receipt in receipts] == list(range(1, 51))
        assert [receipt.position for receipt in receipts] == list(range(50))

    async def test_heartbeat_is_the_system_agent_of_that_tag(self, store: Store) -> None:
        agent, _ = await store.create(new_agent(HeartbeatDescriptor()))
        assert await store.find(LOCAL_OWNER, SystemDescriptor(tag="heartbeat")) == agent

    async def test_owners_have_agents_of_the_same_identity_apart(self, store: Store) -> None:
        mine, _ = await store.create(new_agent(chat("a")))
        theirs, is_new = await store.create(new_agent(chat("a"), owner=STRANGER))
        assert is_new
        assert mine.id != theirs.id

    async def test_an_id_that_is_taken_by_another_identity_is_refused(self, store: Store) -> None:
        taken = new_agent(chat("a"))
        await store.create(taken)
        with pytest.raises(ConflictError):
            await store.create(new_agent(chat("b"), agent_id=taken.id))
        assert await store.find(LOCAL_OWNER, chat("b")) is None

    # -- admitting

    async def test_an_admitted_item_is_open_and_counted(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        receipt = await store.admit(post(agent.id, "hello"))
        assert not receipt.is_repeat
        assert (receipt.item.fate, receipt.item.seq, receipt.position) == ("queued", 1, 0)
        assert list(await store.open_items(LOCAL_OWNER, agent.id)) == [receipt.item]
        assert await store.item(LOCAL_OWNER, receipt.item.id) == (receipt.item, 0)
        assert (await store.agent(LOCAL_OWNER, agent.id)).queued == 1

    async def test_posting_to_an_unknown_id_creates_nothing(self, store: Store) -> None:
        with pytest.raises(NotFoundError):
            await store.admit(post(new_agent_id()))
        assert (await store.facts()).agents == 0

    async def test_a_terminated_agent_takes_no_messages(self, store: Store) -> None:
        agent, _ = await store.create(new_agent(chat("a")))
        runner = await SampleRunner.claim(store, agent.id)
        await runner.commit(replace(runner.step(), lifecycle="terminated"))
        with pytest.raises(TerminatedError):
            await store.admit(post(agent.id))
        with pytest.raises(TerminatedError):
            await store.admit(post(new_agent(chat("a"))))
        assert list(await store.open_items(LOCAL_OWNER, agent.id)) == []

    @pytest.mark.parametrize(
        "descriptor",
        [
            CronDescriptor(id="daily"),
            HeartbeatDescriptor(),
            SystemDescriptor(tag="keeper"),
            SwarmDescriptor(id="s", contact_agent_id=AgentId("a")),
            PermanentDescriptor(
                id=AgentId("p"), name="Ada", description="Counts.", system_prompt="Count."
            ),
        ],
        ids=kind_of,
    )
    async def test_a_new_agent_takes_the_name_of_a_terminated_one(
        self, store: Store, descriptor: Descriptor
    ) -> None:
        first, _ = await store.create(new_agent(descriptor))
        runner = await SampleRunner.claim(store, first.id)
        await runner.commit(replace(runner.step(), lifecycle="terminated"))
        assert await store.find(LOCAL_OWNER, descriptor) is None
        receipt = await store.admit(post(new_agent(descriptor)))
        assert receipt.agent_id != first.id
        found = await store.find(LOCAL_OWNER, descriptor)
        assert found is not None
        assert (found.id, found.lifecycle) == (receipt.agent_id, "active")
        assert (await store.agent(LOCAL_OWNER, first.id)).lifecycle == "terminated"

    async def test_the_same_key_gives_the_first_item_as_it_is_now(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        first = await store.admit(post(agent.id, "hello", key="k"))
        runner = await SampleRunner.claim(store, agent.id)
        await runner.take_turn(first)
        again = await store.admit(post(agent.id, "hello", key="k"))
        assert again.is_repeat
        assert (again.item.id, again.item.fate) == (first.item.id, "answered")
        assert list(await store.open_items(LOCAL_OWNER, agent.id)) == []

    async def test_simultaneous_repeats_are_one_item(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        posts = [post(agent.id, "hello", key="k") for _ in range(20)]
        receipts = await asyncio.gather(*(store.admit(one) for one in posts))
        assert len({receipt.item.id for receipt in receipts}) == 1
        assert sum(not receipt.is_repeat for receipt in receipts) == 1

    async def test_a_key_with_another_message_is_a_conflict(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        await store.admit(post(agent.id, "hello", key="k"))
        with pytest.raises(ConflictError):
            await store.admit(post(agent.id, "something else", key="k"))
        assert len(await store.open_items(LOCAL_OWNER, agent.id)) == 1

    async def test_a_key_of_another_agents_message_is_a_conflict(self, store: Store) -> None:
        """If it counted as a repeat, the sender would assume that this agent has it."""
        agent, _ = await store.create(new_agent(chat("a")))
        other, _ = await store.create(new_agent(chat("b")))
        await store.admit(post(agent.id, "hello", key="k"))
        with pytest.raises(ConflictError):
            await store.admit(post(other.id, "hello", key="k"))
        with pytest.raises(ConflictError):
            await store.admit(post(new_agent(chat("c")), "hello", key="k"))
        assert (await store.admit(post(new_agent(chat("a")), "hello", key="k"))).is_repeat
        assert list(await store.open_items(LOCAL_OWNER, other.id)) == []

    async def test_keys_of_two_owners_do_not_meet(self, store: Store) -> None:
        await store.admit(post(new_agent(), "mine", key="k"))
        theirs = post(new_agent(owner=STRANGER), "theirs", owner=STRANGER, key="k")
        assert not (await store.admit(theirs)).is_repeat

    async def test_one_bad_operation_fails_alone(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        await store.admit(post(agent.id, "hello", key="k"))
        results = await asyncio.gather(
            store.admit(post(agent.id, "one")),
            store.admit(post(new_agent_id(), "nobody")),
            store.admit(post(agent.id, "clash", key="k")),
            store.commit(Commit(agent_id=agent.id, epoch=99, at=START)),
            store.admit(post(agent.id, "\ud800")),
            store.admit(post(agent.id, "two")),
            return_exceptions=True,
        )
        kinds = [type(one) for one in results if isinstance(one, Exception)]
        assert len(kinds) == 4
        assert kinds[:3] == [NotFoundError, ConflictError, FencedError]
        texts = [item.body.text for item in await store.open_items(LOCAL_OWNER, agent.id)]
        assert texts == ["hello", "one", "two"]

    async def test_an_item_id_is_used_once(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        one = post(agent.id, "hello")
        results = await asyncio.gather(
            store.admit(one),
            store.admit(one),
            store.admit(post(agent.id, "other")),
            return_exceptions=True,
        )
        assert [isinstance(result, RetinueError) for result in results] == [False, True, False]
        assert len(await store.open_items(LOCAL_OWNER, agent.id)) == 2

    async def test_position_counts_what_comes_before(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        first = await store.admit(post(agent.id))
        await store.admit(post(agent.id, silent=True))
        third = await store.admit(post(agent.id))
        assert third.position == 1
        runner = await SampleRunner.claim(store, agent.id)
        await runner.take_turn(first)
        assert (await store.item(LOCAL_OWNER, third.item.id))[1] == 0

    async def test_the_offset_is_stored_with_the_item(self, store: Store) -> None:
        assert await store.offset("telegram") is None
        await store.admit(post(new_agent()), offset=Offset(source="telegram", value="41"))
        assert await store.offset("telegram") == "41"
        with pytest.raises(NotFoundError):
            await store.admit(post(new_agent_id()), offset=Offset(source="telegram", value="42"))
        assert await store.offset("telegram") == "41"

    # -- claiming and committing

    async def test_a_claim_fences_the_one_before(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        old = await SampleRunner.claim(store, agent.id)
        new = await SampleRunner.claim(store, agent.id)
        assert new.epoch > old.epoch
        with pytest.raises(FencedError):
            await old.append("too late")
        await new.append("in time")
        texts = [
            record.seq for record in (await SampleRunner.claim(store, agent.id)).snapshot.records
        ]
        assert texts == [1, 2]

    async def test_a_snapshot_has_open_items_in_order_and_silent_ones_too(
        self, store: Store
    ) -> None:
        agent, _ = await store.create(new_agent())
        receipts = [await store.admit(post(agent.id, silent=number == 1)) for number in range(3)]
        snapshot = await store.claim(agent.id)
        assert list(snapshot.items) == [receipt.item for receipt in receipts]
        assert snapshot.agent.queued == 2
        assert snapshot.next_seq == 2

    async def test_a_commit_applies_everything_at_once(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        other, _ = await store.create(new_agent())
        receipt = await store.admit(post(agent.id))
        runner = await SampleRunner.claim(store, agent.id)
        child = new_agent(
            SubagentDescriptor(id=new_agent_id(), parent_agent_id=agent.id, name="child")
        )
        commit = Commit(
            agent_id=agent.id,
            epoch=runner.epoch,
            at=at(9),
            state=AgentState(created_at=START, updated_at=at(9), name="Ada's"),
            records=[said(2)],
            fates=[FateChange(item_id=receipt.item.id, fate="answered", reply_seq=2)],
            effects=Effects(
                posts=(post(other.id, "to other"),),
                notices=(post(child.id, "to child"),),
                creates=(child,),
                deliveries=(NewDelivery(key="d1", connector="web", channel="1", text="reply"),),
                audit=(AuditLine(action="tool_refused", detail={"tool": "shell"}),),
            ),
            definition="other",
        )
        done = await store.commit(commit)
        assert [receipt.agent_id for receipt in done.receipts] == [child.id, other.id]
        item, _ = await store.item(LOCAL_OWNER, receipt.item.id)
        assert (item.fate, item.reply_seq, item.ended_at) == ("answered", 2, at(9))
        now = await store.agent(LOCAL_OWNER, agent.id)
        assert (now.state.name, now.definition, now.queued) == ("Ada's", "other", 0)
        assert (await store.agent(LOCAL_OWNER, child.id)).queued == 1
        assert [one.text for one in await store.due_deliveries(at(10), 5)] == ["reply"]
        assert await store.record(LOCAL_OWNER, agent.id, 2) == said(2)
        assert await store.cursor() == done.cursor

    @pytest.mark.parametrize("broken", ["post", "gap", "fate", "key"])
    async def test_a_commit_that_fails_changes_nothing(self, store: Store, broken: str) -> None:
        agent, _ = await store.create(new_agent())
        other, _ = await store.create(new_agent())
        receipt = await store.admit(post(agent.id))
        await store.admit(post(agent.id, "taken", key="k"))
        runner = await SampleRunner.claim(store, agent.id)
        before = await store.cursor()
        good = Commit(
            agent_id=agent.id,
            epoch=runner.epoch,
            at=START,
            records=[said(2)],
            fates=[FateChange(item_id=receipt.item.id, fate="answered")],
            effects=Effects(
                posts=(post(other.id),), creates=(new_agent(CronDescriptor(id="nightly")),)
            ),
        )
        bad = {
            "post": replace(good, effects=Effects(posts=(post(other.id), post(new_agent_id())))),
            "gap": replace(good, records=[said(3)]),
            "fate": replace(good, fates=[FateChange(item_id=ItemId("m0"), fate="failed")]),
            "key": replace(
                good, effects=Effects(posts=(post(other.id), post(other.id, "clash", key="k")))
            ),
        }[broken]
        with pytest.raises((NotFoundError, ConflictError, StoreError)):
            await store.commit(bad)
        assert await store.cursor() == before
        assert list(await store.open_items(LOCAL_OWNER, other.id)) == []
        assert await store.find(LOCAL_OWNER, CronDescriptor(id="nightly")) is None
        await store.commit(good)
        assert len(await store.history(LOCAL_OWNER, agent.id, after=0, limit=9)) == 2

    async def test_an_item_has_one_final_fate(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        receipt = await store.admit(post(agent.id))
        runner = await SampleRunner.claim(store, agent.id)
        await runner.decide(receipt.item.id, "running")
        assert (await store.agent(LOCAL_OWNER, agent.id)).running == 1
        await runner.decide(receipt.item.id, "failed", "no model")
        with pytest.raises(ConflictError):
            await runner.decide(receipt.item.id, "answered")
        item, _ = await store.item(LOCAL_OWNER, receipt.item.id)
        assert (item.fate, item.reason) == ("failed", "no model")

    async def test_context_from_limits_what_a_claim_reads(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        await runner.append("one", "two", "three")
        await runner.commit(replace(runner.step(), context_from=3))
        snapshot = await store.claim(agent.id)
        assert [record.seq for record in snapshot.records] == [3, 4]
        assert snapshot.next_seq == 5
        everything = await store.history(LOCAL_OWNER, agent.id, after=0, limit=9)
        assert len(everything) == 4

    async def test_records_of_unknown_kinds_survive(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        raw = b'{"kind":"hologram","v":9,"seq":2,"at":"2026-11-16T08:00:02Z","depth":{"z":1}}'
        record = UnknownRecord(
            seq=2, at=at(0).replace(microsecond=0, second=2), kind="hologram", raw=raw
        )
        await runner.commit(runner.step([lambda seq: record]))
        assert await store.record(LOCAL_OWNER, agent.id, 2) == record

    async def test_history_pages_forward(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        await runner.append(*(f"text {number}" for number in range(9)))
        page = await store.history(LOCAL_OWNER, agent.id, after=4, limit=3)
        assert [record.seq for record in page] == [5, 6, 7]
        assert await store.record(LOCAL_OWNER, agent.id, 99) is None

    async def test_many_commits_at_once_keep_each_agents_order(self, store: Store) -> None:
        created = [(await store.create(new_agent()))[0] for _ in range(20)]

        async def work(agent_id: AgentId) -> None:
            runner = await SampleRunner.claim(store, agent_id)
            for number in range(10):
                receipt = await store.admit(post(agent_id, f"text {number}"))
                await runner.take_turn(receipt, f"reply {number}")

        await asyncio.gather(*(work(agent.id) for agent in created))
        for agent in created:
            history = await store.history(LOCAL_OWNER, agent.id, after=0, limit=99)
            assert [record.seq for record in history] == list(range(1, 22))
            assert (await store.agent(LOCAL_OWNER, agent.id)).queued == 0

    # -- deleting

    async def test_a_deleted_agent_leaves_nothing_and_frees_its_identity(
        self, store: Store
    ) -> None:
        agent, _ = await store.create(new_agent(chat("a")))
        receipt = await store.admit(post(agent.id, "hello", key="k"))
        runner = await SampleRunner.claim(store, agent.id)
        out = NewDelivery(key="d", connector="web", channel="1", text="reply")
        await runner.commit(runner.step(effects=Effects(deliveries=(out,))))
        await store.delete(LOCAL_OWNER, agent.id)
        for gone in (
            store.agent(LOCAL_OWNER, agent.id),
            store.item(LOCAL_OWNER, receipt.item.id),
            store.history(LOCAL_OWNER, agent.id, after=0, limit=1),
            store.claim(agent.id),
            store.delete(LOCAL_OWNER, agent.id),
        ):
            with pytest.raises(NotFoundError):
                await gone
        assert list(await store.due_deliveries(at(99), 9)) == []
        again, is_new = await store.create(new_agent(chat("a")))
        assert is_new
        assert again.id != agent.id
        assert not (await store.admit(post(again.id, "different", key="k"))).is_repeat

    # -- closing and opening

    async def test_everything_is_there_after_a_restart(self, store: Store) -> None:
        agent, _ = await store.create(new_agent(chat("a")))
        receipt = await store.admit(post(agent.id, "hello", key="k"))
        runner = await SampleRunner.claim(store, agent.id)
        await runner.append("one")
        before = await store.agent(LOCAL_OWNER, agent.id)
        cursor = await store.cursor()
        again = await self.reopened(store)
        assert again.was_clean
        assert await again.agent(LOCAL_OWNER, agent.id) == before
        assert await again.cursor() == cursor
        assert (await again.admit(post(agent.id, "hello", key="k"))).item == receipt.item
        assert (await again.admit(post(agent.id, "next"))).item.seq == 2
        snapshot = await again.claim(agent.id)
        assert snapshot.epoch > runner.epoch
        assert snapshot.next_seq == 3

    # -- descriptors that change

    async def test_a_descriptor_is_replaced_with_the_commit_and_found_by_its_new_name(
        self, store: Store
    ) -> None:
        named, _ = await store.create(new_agent(permanent("Archivist")))
        other, _ = await store.create(new_agent(permanent("Clerk")))
        runner = await SampleRunner.claim(store, other.id)
        renamed = permanent("Librarian", named.id)
        change = Redescription(agent_id=named.id, owner=LOCAL_OWNER, descriptor=renamed)
        await runner.commit(runner.step(effects=Effects(redescribed=(change,))))
        found = await store.find(LOCAL_OWNER, permanent("librarian"))
        assert found is not None and (found.id, found.descriptor) == (named.id, renamed)
        assert await store.find(LOCAL_OWNER, permanent("Archivist")) is None

    async def test_a_taken_name_a_foreign_and_an_ended_agent_are_refused_with_the_whole_commit(
        self, store: Store
    ) -> None:
        one, _ = await store.create(new_agent(permanent("One")))
        two, _ = await store.create(new_agent(permanent("Two")))
        foreign, _ = await store.create(new_agent(permanent("One"), owner=STRANGER))
        ended, _ = await store.create(new_agent(permanent("Ended")))
        last = await SampleRunner.claim(store, ended.id)
        await last.commit(replace(last.step(), lifecycle="terminated"))
        runner = await SampleRunner.claim(store, two.id)
        for target, name, error in [
            (two, "ONE", ConflictError),
            (foreign, "Three", NotFoundError),
            (ended, "Three", TerminatedError),
        ]:
            change = Redescription(
                agent_id=target.id, owner=LOCAL_OWNER, descriptor=permanent(name, target.id)
            )
            with pytest.raises(error):
                await runner.commit(runner.step(effects=Effects(redescribed=(change,))))
        assert (await store.agent(LOCAL_OWNER, one.id)).descriptor == one.descriptor

    async def test_the_name_of_a_permanent_agent_that_ended_is_free(self, store: Store) -> None:
        first, _ = await store.create(new_agent(permanent("Archivist")))
        runner = await SampleRunner.claim(store, first.id)
        await runner.commit(replace(runner.step(), lifecycle="terminated"))
        second, is_new = await store.create(new_agent(permanent("archivist")))
        assert is_new and second.id != first.id
        assert (await store.agent(LOCAL_OWNER, first.id)).lifecycle == "terminated"
