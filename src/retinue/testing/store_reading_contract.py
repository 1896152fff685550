"""The store contract for feeds, lists, the outbox and owners."""

import msgspec
import pytest

from retinue.agents.descriptor import (
    CronDescriptor,
)
from retinue.agents.state import AgentState
from retinue.errors import (
    NotFoundError,
)
from retinue.ids import LOCAL_OWNER, AgentId, new_agent_id
from retinue.stores.port import (
    AgentQuery,
    AuditLine,
    Change,
    Effects,
    NewDelivery,
    Store,
)
from retinue.testing.store_samples import (
    START,
    STRANGER,
    Heard,
    SampleRunner,
    at,
    chat,
    new_agent,
    post,
)

replace = msgspec.structs.replace


class StoreReadingContract:
    """Part of `StoreContract`."""

    # -- the audit log

    async def test_audit_lines_are_found_by_action_newest_first_and_by_owner(
        self, store: Store
    ) -> None:
        agent, _ = await store.create(new_agent())
        for tool in ("a", "b", "c"):
            line = AuditLine(action="tool_refused", detail={"tool": tool})
            await store.note(LOCAL_OWNER, agent.id, line)
        await store.note(LOCAL_OWNER, agent.id, AuditLine(action="reset", detail={}))
        found = await store.audited(LOCAL_OWNER, ["tool_refused"], before=None, limit=2)
        assert [(one.agent_id, one.detail["tool"]) for one in found] == [
            (agent.id, "c"),
            (agent.id, "b"),
        ]
        [first] = await store.audited(
            LOCAL_OWNER, ["tool_refused", "reset"], before=found[-1].number, limit=9
        )
        assert first.detail == {"tool": "a"}
        assert await store.audited(STRANGER, ["tool_refused"], before=None, limit=9) == []

    # -- the feed

    async def test_the_feed_can_be_replayed_as_it_was_heard(self, store: Store) -> None:
        heard = Heard(store)
        agent, _ = await store.create(new_agent())
        receipt = await store.admit(post(agent.id))
        runner = await SampleRunner.claim(store, agent.id)
        await runner.take_turn(receipt)
        replayed = await store.changes(LOCAL_OWNER, after=0, agent_id=None, limit=99)
        assert replayed is not None
        assert [_essence(change) for change in replayed] == [
            _essence(change) for change in heard.changes
        ]
        now = await store.agent(LOCAL_OWNER, agent.id)
        assert all(change.agent == now for change in replayed)
        assert replayed[-1] == heard.changes[-1]

    async def test_the_feed_pages_by_cursor_and_by_agent(self, store: Store) -> None:
        first, _ = await store.create(new_agent())
        second, _ = await store.create(new_agent())
        for _ in range(3):
            await store.admit(post(first.id))
            await store.admit(post(second.id))
        seen: list[int] = []
        while True:
            page = await store.changes(
                LOCAL_OWNER, after=seen[-1] if seen else 0, agent_id=None, limit=3
            )
            assert page is not None
            if not page:
                break
            seen += [change.cursor for change in page]
        assert len(seen) == 8
        assert seen == sorted(set(seen))
        only = await store.changes(LOCAL_OWNER, after=0, agent_id=second.id, limit=99)
        assert only is not None
        assert {change.agent_id for change in only} == {second.id}
        assert len(only) == 4

    async def test_the_feed_ends_an_agent_with_its_deletion(self, store: Store) -> None:
        heard = Heard(store)
        agent, _ = await store.create(new_agent())
        await store.admit(post(agent.id))
        await store.delete(LOCAL_OWNER, agent.id)
        assert heard.changes[-1].is_deleted
        replayed = await store.changes(LOCAL_OWNER, after=0, agent_id=None, limit=1)
        assert replayed is not None
        assert [change.is_deleted for change in replayed] == [True]
        assert replayed[0] == heard.changes[-1]

    async def test_a_listener_that_is_undone_hears_no_more(self, store: Store) -> None:
        heard = Heard(store)
        await store.create(new_agent())
        heard.undo()
        await store.create(new_agent())
        assert len(heard.changes) == 1

    async def test_a_cursor_that_the_feed_never_reached_starts_anew(self, store: Store) -> None:
        await store.create(new_agent())
        beyond = await store.cursor() + 1
        assert await store.changes(LOCAL_OWNER, after=beyond, agent_id=None, limit=9) is None

    # -- lists

    async def test_lists_show_pinned_then_newest_activity(self, store: Store) -> None:
        for number, pinned in enumerate([False, True, False, False]):
            state = AgentState(
                created_at=START,
                updated_at=at(number),
                name=f"Chat {number} ÄPFEL",
                pinned_at=START if pinned else None,
            )
            await store.create(new_agent(chat(str(number)), state=state))
        names: list[str | None] = []
        cursor: str | None = None
        while True:
            page = await store.agents(AgentQuery(owner=LOCAL_OWNER, limit=2, cursor=cursor))
            names += [agent.state.name for agent in page.agents]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert [name and name[5] for name in names] == ["1", "3", "2", "0"]
        found = await store.agents(AgentQuery(owner=LOCAL_OWNER, text="2 äpfel"))
        assert [agent.state.name for agent in found.agents] == ["Chat 2 ÄPFEL"]

    async def test_lists_filter_by_definition_and_kind(self, store: Store) -> None:
        await store.create(new_agent(chat("a"), definition="one"))
        await store.create(new_agent(CronDescriptor(id="b"), definition="two"))
        one = await store.agents(AgentQuery(owner=LOCAL_OWNER, definition="one"))
        cron = await store.agents(AgentQuery(owner=LOCAL_OWNER, kind="cron"))
        assert [agent.kind for agent in one.agents] == ["user"]
        assert [agent.kind for agent in cron.agents] == ["cron"]

    async def test_most_recent_foreground_is_the_last_real_user_input(self, store: Store) -> None:
        assert await store.most_recent_foreground(LOCAL_OWNER) is None
        for number, seen in enumerate([5, 9, 7]):
            state = AgentState(
                created_at=START, updated_at=at(20 - number), last_user_activity_at=at(seen)
            )
            await store.create(new_agent(chat(str(number)), state=state))
        await store.create(new_agent(CronDescriptor(id="nightly")))
        found = await store.most_recent_foreground(LOCAL_OWNER)
        assert found is not None
        assert found.descriptor == chat("1")

    async def test_the_latest_conversation_took_up_a_message_last(self, store: Store) -> None:
        made: list[AgentId] = []
        for number, (updated, active) in enumerate([(20, 5), (10, 9), (15, 7)]):
            state = AgentState(created_at=START, updated_at=at(updated), active_at=at(active))
            new = new_agent(chat(str(number)), definition="todo", state=state)
            made.append((await store.create(new))[0].id)
        await store.create(new_agent(CronDescriptor(id="nightly"), definition="todo"))
        await store.create(new_agent(chat("else"), definition="journal"))

        async def latest(*excluding: AgentId) -> AgentId | None:
            found = await store.latest_conversation(LOCAL_OWNER, "todo", excluding=excluding)
            return None if found is None else found.id

        assert await latest() == made[1]
        assert await latest(made[1]) == made[2]
        runner = await SampleRunner.claim(store, made[2])
        await runner.commit(replace(runner.step(), lifecycle="terminated"))
        assert await latest(made[1]) == made[0]
        assert await latest(made[0], made[1]) is None

    async def test_waking_names_agents_with_work_left(self, store: Store) -> None:
        idle, _ = await store.create(new_agent())
        queued = await store.admit(post(new_agent(CronDescriptor(id="nightly"))))
        await store.admit(post(idle.id, silent=True))
        turning, _ = await store.create(new_agent())
        receipt = await store.admit(post(turning.id))
        await (await SampleRunner.claim(store, turning.id)).decide(receipt.item.id, "running")
        ended = await store.admit(post(new_agent()))
        runner = await SampleRunner.claim(store, ended.agent_id)
        await runner.commit(replace(runner.step(), lifecycle="terminated"))
        assert dict(await store.waking()) == {
            queued.agent_id: "background",
            turning.id: "foreground",
            ended.agent_id: "foreground",
        }

    # -- the outbox

    async def test_replies_leave_in_order_within_a_channel(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        runner = await SampleRunner.claim(store, agent.id)
        texts = [("a", "a1"), ("a", "a2"), ("b", "b1")]
        out = [NewDelivery(key=t, connector="web", channel=c, text=t) for c, t in texts]
        await runner.commit(runner.step(effects=Effects(deliveries=tuple(out))))
        first = await store.due_deliveries(at(99), 9)
        assert [delivery.text for delivery in first] == ["a1", "b1"]
        await store.delivery_failed(first[0].id, error="down", retry_at=at(200))
        assert [one.text for one in await store.due_deliveries(at(99), 9)] == ["b1"]
        retried = (await store.due_deliveries(at(200), 9))[0]
        assert (retried.text, retried.attempts) == ("a1", 1)
        await store.delivered(retried.id)
        await store.delivered(first[1].id)
        left = await store.due_deliveries(at(202), 9)
        assert [delivery.text for delivery in left] == ["a2"]
        await store.delivery_failed(left[0].id, error="refused", retry_at=None)
        assert list(await store.due_deliveries(at(999), 9)) == []
        assert (await store.facts()).deliveries_open == 0

    # -- owners

    async def test_a_stranger_reaches_nothing(self, store: Store) -> None:
        agent, _ = await store.create(new_agent(chat("a")))
        receipt = await store.admit(post(agent.id))
        for refused in (
            store.admit(post(agent.id, owner=STRANGER)),
            store.agent(STRANGER, agent.id),
            store.item(STRANGER, receipt.item.id),
            store.open_items(STRANGER, agent.id),
            store.history(STRANGER, agent.id, after=0, limit=9),
            store.context(STRANGER, agent.id),
            store.record(STRANGER, agent.id, 1),
            store.delete(STRANGER, agent.id),
        ):
            with pytest.raises(NotFoundError) as foreign:
                await refused
            assert "stranger" not in str(foreign.value)
        assert await store.find(STRANGER, chat("a")) is None
        assert (await store.agents(AgentQuery(owner=STRANGER))).agents == []
        assert await store.most_recent_foreground(STRANGER) is None
        definition = agent.definition
        assert await store.latest_conversation(STRANGER, definition, excluding=()) is None
        changes = await store.changes(STRANGER, after=0, agent_id=agent.id, limit=9)
        assert changes == []

    async def test_foreign_and_unknown_ids_get_the_same_message(self, store: Store) -> None:
        agent, _ = await store.create(new_agent())
        unknown = new_agent_id()
        messages: list[str] = []
        for agent_id in (agent.id, unknown):
            with pytest.raises(NotFoundError) as error:
                await store.admit(post(agent_id, owner=STRANGER))
            messages.append(str(error.value).replace(agent_id, "?"))
        assert messages[0] == messages[1]


def _essence(change: Change) -> tuple[object, ...]:
    """Return the values that do not depend on the time of the query."""
    return (
        change.cursor,
        change.agent_id,
        change.owner,
        list(change.records),
        [item.id for item in change.items],
        change.is_deleted,
    )
