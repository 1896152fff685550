"""The store contract for items that are admitted and started in one commit."""

import msgspec
import pytest

from retinue.agents.state import AgentState, Turn
from retinue.errors import BusyError, ConflictError, FencedError, NotFoundError, TerminatedError
from retinue.ids import LOCAL_OWNER
from retinue.stores.port import Commit, FateChange, Post, Store
from retinue.testing.store_samples import START, Heard, SampleRunner, at, new_agent, post, said

replace = msgspec.structs.replace


def beginning(runner: SampleRunner, first: Post) -> Commit:
    """Return the commit that starts a turn for a new message."""
    item = first.item
    turn = Turn(items=[item.id], first_seq=runner.next_seq)
    commit = runner.step(
        [lambda seq: said(seq, item.body.text, item.id)],
        state=AgentState(created_at=START, updated_at=at(runner.next_seq), turn=turn),
        fates=[FateChange(item_id=item.id, fate="running")],
    )
    return replace(commit, begins=first)


class StoreBeginningContract:
    """Part of `StoreContract`."""

    async def test_an_item_is_admitted_and_begun_in_one_change(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        heard = Heard(store)
        first = post(agent.id)
        done = await runner.commit(beginning(runner, first))
        (receipt,) = done.receipts
        assert (receipt.item.id, receipt.is_repeat, receipt.position) == (first.item.id, False, 0)
        (change,) = heard.of(agent.id)
        assert [(item.id, item.fate) for item in change.items] == [(first.item.id, "running")]
        item, _ = await store.item(LOCAL_OWNER, first.item.id)
        assert (item.fate, item.seq) == ("running", receipt.item.seq)
        assert (await store.agent(LOCAL_OWNER, agent.id)).running == 1

    async def test_a_repeat_of_a_key_begins_nothing(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        first = post(agent.id, key="k")
        await store.admit(first)
        done = await store.commit(beginning(runner, post(agent.id, key="k")))
        assert [(one.item.id, one.is_repeat) for one in done.receipts] == [(first.item.id, True)]
        assert len(await store.history(LOCAL_OWNER, agent.id, after=0, limit=10)) == 1
        assert (await store.agent(LOCAL_OWNER, agent.id)).state.turn is None
        assert [item.fate for item in await store.open_items(LOCAL_OWNER, agent.id)] == ["queued"]

    async def test_an_item_does_not_begin_before_those_that_came_earlier(
        self, store: Store
    ) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        await store.admit(post(agent.id))
        second = post(agent.id)
        with pytest.raises(BusyError):
            await store.commit(beginning(runner, second))
        with pytest.raises(NotFoundError):
            await store.item(LOCAL_OWNER, second.item.id)
        assert len(await store.history(LOCAL_OWNER, agent.id, after=0, limit=10)) == 1

    async def test_what_cannot_be_admitted_is_not_begun_either(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        old = await SampleRunner.claim(store, agent.id)
        runner = await SampleRunner.claim(store, agent.id)
        await store.admit(post(agent.id, "one", key="k"))
        other = post(agent.id, "two", key="k")
        with pytest.raises(ConflictError):
            await store.commit(beginning(runner, other))
        late = post(agent.id)
        with pytest.raises(FencedError):
            await store.commit(beginning(old, late))
        await store.commit(replace(runner.step(), lifecycle="terminated"))
        too_late = post(agent.id)
        with pytest.raises(TerminatedError):
            await store.commit(beginning(runner, too_late))
        for unknown in (other, late, too_late):
            with pytest.raises(NotFoundError):
                await store.item(LOCAL_OWNER, unknown.item.id)
        assert len(await store.history(LOCAL_OWNER, agent.id, after=0, limit=10)) == 1
