"""The store contract for requests; run it for every store."""

import asyncio
from collections.abc import AsyncIterator
from typing import Literal

import msgspec
import pytest

from retinue.agents.inbox import Answer, ItemBody, Sender
from retinue.agents.request import Asked, Request
from retinue.errors import ConflictError, NotFoundError
from retinue.ids import LOCAL_OWNER, AgentId, CallId, OwnerId, RequestId, new_item_id
from retinue.stores.port import Effects, Store
from retinue.stores.request_port import Decision, Voiding
from retinue.testing.store_samples import STRANGER, Heard, SampleRunner, at, new_agent

replace = msgspec.structs.replace


def a_request(agent_id: AgentId, request_id: str = "q1", expires: float = 100) -> Request:
    return Request(
        id=RequestId(request_id),
        owner=LOCAL_OWNER,
        agent_id=agent_id,
        call=CallId("c1"),
        kind="permission",
        asked=Asked(permission="@network", reason="to look it up"),
        digest="d",
        created_at=at(0),
        expires_at=at(expires),
    )


def a_decision(
    request_id: str = "q1",
    *,
    status: Literal["allowed", "denied", "answered", "expired"] = "allowed",
    owner: OwnerId = LOCAL_OWNER,
    seconds: float = 10,
) -> Decision:
    return Decision(
        owner=owner,
        request_id=RequestId(request_id),
        status=status,
        by="ada",
        at=at(seconds),
        item_id=new_item_id(),
        answer=ItemBody(
            text=f"it was {status}",
            sender=Sender(type="engine"),
            answer=Answer(call=CallId("c1"), request=RequestId(request_id)),
        ),
        note="fine",
    )


async def asking(store: Store, *requests: str, expires: float = 100) -> SampleRunner:
    """Return an agent with these pending requests."""
    agent, _ = await store.create(new_agent())
    runner = await SampleRunner.claim(store, agent.id)
    made = [a_request(agent.id, request, expires) for request in requests or ("q1",)]
    await runner.commit(runner.step(effects=Effects(requests=tuple(made))))
    return runner


class RequestStoreContract:
    """Override `store` with a fixture that opens an empty store."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        raise NotImplementedError
        yield

    async def test_a_request_is_stored_with_the_step_that_makes_it(self, store: Store) -> None:
        heard = Heard(store)
        runner = await asking(store)
        request = await store.requests.get(LOCAL_OWNER, RequestId("q1"))
        assert request == a_request(runner.id)
        assert heard.changes[-1].requests == [request]
        assert await store.requests.list(LOCAL_OWNER, status="pending") == [request]

    async def test_a_step_that_fails_makes_no_request(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        await SampleRunner.claim(store, agent.id)
        with pytest.raises(Exception, match="epoch"):
            await runner.commit(runner.step(effects=Effects(requests=(a_request(agent.id),))))
        assert await store.requests.list(LOCAL_OWNER) == []

    async def test_a_decision_answers_the_agent_in_the_same_transaction(self, store: Store) -> None:
        heard = Heard(store)
        runner = await asking(store)
        decided = await store.requests.settle(a_decision())
        assert (decided.status, decided.decided_by, decided.note) == ("allowed", "ada", "fine")
        assert decided.decided_at == at(10)
        (item,) = await store.open_items(LOCAL_OWNER, runner.id)
        assert (item.kind, item.body.text) == ("answer", "it was allowed")
        assert heard.changes[-1].requests == [decided]
        assert [entry.id for entry in heard.changes[-1].items] == [item.id]
        assert await store.requests.list(LOCAL_OWNER, status="pending") == []

    async def test_a_second_decision_changes_nothing_and_says_what_was_decided(
        self, store: Store
    ) -> None:
        runner = await asking(store)
        await store.requests.settle(a_decision())
        with pytest.raises(ConflictError, match=r"allowed at 2026-.*nothing was changed"):
            await store.requests.settle(a_decision(status="denied"))
        assert len(await store.open_items(LOCAL_OWNER, runner.id)) == 1
        assert (await store.requests.get(LOCAL_OWNER, RequestId("q1"))).status == "allowed"

    async def test_of_many_decisions_at_once_one_counts(self, store: Store) -> None:
        runner = await asking(store)
        verdicts = [a_decision(status="allowed"), a_decision(status="denied")] * 4
        outcomes = await asyncio.gather(
            *(store.requests.settle(one) for one in verdicts), return_exceptions=True
        )
        refused = [one for one in outcomes if isinstance(one, ConflictError)]
        assert len(refused) == len(verdicts) - 1
        assert len(await store.open_items(LOCAL_OWNER, runner.id)) == 1

    async def test_a_foreign_request_is_not_there(self, store: Store) -> None:
        runner = await asking(store)
        with pytest.raises(NotFoundError):
            await store.requests.settle(a_decision(owner=STRANGER))
        with pytest.raises(NotFoundError):
            await store.requests.get(STRANGER, RequestId("q1"))
        assert await store.requests.list(STRANGER) == []
        assert await store.requests.list(STRANGER, agent_id=runner.id) == []
        assert (await store.requests.get(LOCAL_OWNER, RequestId("q1"))).status == "pending"

    async def test_an_unknown_request_is_not_there(self, store: Store) -> None:
        with pytest.raises(NotFoundError):
            await store.requests.settle(a_decision("nothing"))

    async def test_a_decision_after_the_time_changes_nothing(self, store: Store) -> None:
        runner = await asking(store, expires=5)
        with pytest.raises(ConflictError, match=r"expired .*nothing was changed"):
            await store.requests.settle(a_decision(seconds=5))
        assert await store.open_items(LOCAL_OWNER, runner.id) == []

    async def test_only_what_is_due_expires_and_once(self, store: Store) -> None:
        runner = await asking(store, expires=50)
        with pytest.raises(ConflictError):
            await store.requests.settle(a_decision(status="expired", seconds=49))
        assert await store.requests.earliest() == at(50)
        assert await store.requests.due(at(49), 10) == []
        assert [one.id for one in await store.requests.due(at(50), 10)] == ["q1"]
        await store.requests.settle(a_decision(status="expired", seconds=50))
        with pytest.raises(ConflictError):
            await store.requests.settle(a_decision(status="expired", seconds=51))
        assert await store.requests.due(at(60), 10) == []
        assert await store.requests.earliest() is None
        assert len(await store.open_items(LOCAL_OWNER, runner.id)) == 1

    async def test_a_voided_request_cannot_be_decided(self, store: Store) -> None:
        runner = await asking(store, "q1", "q2")
        heard = Heard(store)
        voids = Voiding(reason="reset", requests=[RequestId("q1")])
        await runner.commit(runner.step(effects=Effects(voids=(voids,))))
        assert [(one.id, one.status) for one in heard.changes[-1].requests] == [("q1", "void")]
        with pytest.raises(ConflictError, match=r"\(reset\).*nothing was changed"):
            await store.requests.settle(a_decision())
        assert await store.open_items(LOCAL_OWNER, runner.id) == []
        await runner.commit(runner.step(effects=Effects(voids=(Voiding(reason="reset"),))))
        assert await store.requests.list(LOCAL_OWNER, status="pending") == []

    async def test_a_commit_may_answer_a_request_itself(self, store: Store) -> None:
        runner = await asking(store, "q1", "q2")
        done = Voiding(reason="", requests=[RequestId("q1")], status="answered", by="owner")
        await runner.commit(runner.step(effects=Effects(voids=(done,))))
        first = await store.requests.get(LOCAL_OWNER, RequestId("q1"))
        assert (first.status, first.decided_by) == ("answered", "owner")
        with pytest.raises(ConflictError, match="already decided: answered"):
            await store.requests.settle(a_decision())
        assert len(await store.requests.list(LOCAL_OWNER, status="pending")) == 1

    async def test_a_commit_that_answers_what_was_decided_is_refused(self, store: Store) -> None:
        runner = await asking(store)
        await store.requests.settle(a_decision())
        done = Voiding(reason="", requests=[RequestId("q1")], status="answered", by="owner")
        with pytest.raises(ConflictError, match="already decided: allowed"):
            await runner.commit(runner.step(effects=Effects(voids=(done,))))
        assert (await store.requests.get(LOCAL_OWNER, RequestId("q1"))).status == "allowed"

    async def test_voiding_leaves_what_was_decided(self, store: Store) -> None:
        runner = await asking(store)
        await store.requests.settle(a_decision())
        await runner.commit(runner.step(effects=Effects(voids=(Voiding(reason="reset"),))))
        assert (await store.requests.get(LOCAL_OWNER, RequestId("q1"))).status == "allowed"

    async def test_voiding_and_deciding_at_once_do_one_of_both(self, store: Store) -> None:
        runner = await asking(store)
        _, decided = await asyncio.gather(
            runner.commit(runner.step(effects=Effects(voids=(Voiding(reason="reset"),)))),
            store.requests.settle(a_decision()),
            return_exceptions=True,
        )
        items = await store.open_items(LOCAL_OWNER, runner.id)
        status = (await store.requests.get(LOCAL_OWNER, RequestId("q1"))).status
        is_void = isinstance(decided, ConflictError)
        assert (status, len(items)) == (("void", 0) if is_void else ("allowed", 1))

    async def test_an_agent_that_ended_cannot_be_answered(self, store: Store) -> None:
        runner = await asking(store)
        await runner.commit(replace(runner.step(), lifecycle="terminated"))
        with pytest.raises(ConflictError, match="nothing was changed"):
            await store.requests.settle(a_decision())

    async def test_deleting_an_agent_forgets_what_it_asked(self, store: Store) -> None:
        runner = await asking(store)
        await store.delete(LOCAL_OWNER, runner.id)
        with pytest.raises(NotFoundError):
            await store.requests.settle(a_decision())
        assert await store.requests.earliest() is None

    async def test_the_list_goes_backwards_in_pages(self, store: Store) -> None:
        await asking(store, "q1", "q2", "q3")
        page = await store.requests.list(LOCAL_OWNER, limit=2)
        assert [one.id for one in page] == ["q3", "q2"]
        rest = await store.requests.list(LOCAL_OWNER, before=page[-1].id)
        assert [one.id for one in rest] == ["q1"]

    async def test_a_replayed_change_tells_of_its_requests(self, store: Store) -> None:
        runner = await asking(store)
        decided = await store.requests.settle(a_decision())
        changes = await store.changes(LOCAL_OWNER, after=0, agent_id=runner.id, limit=10)
        assert changes is not None
        assert [list(change.requests) for change in changes] == [[], [decided], [decided]]
