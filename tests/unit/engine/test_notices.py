"""Every item of a child that does not end well gives its parent exactly one notice."""

from collections.abc import Awaitable, Callable

import pytest

from retinue.agents.inbox import ItemBody, Sender
from retinue.errors import ContextTooLongError, ModelError, StoreError
from retinue.ids import ItemId, new_item_id
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Reply, ScriptedModel
from retinue.stores.port import Agent, Commit, Committed, NewItem, Post
from retinue.testing.kit import HELPER, Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool, eventually, last_said, until
from tests.unit.engine.test_suspension import child_of

Break = Callable[[Kit, Agent, ItemId], Awaitable[None]]


def parents_note(
    worker: Callable[[ModelRequest], Answer] | Answer,
) -> Callable[[ModelRequest], Answer]:
    def script(request: ModelRequest) -> Answer:
        if "system_message" in last_said(request) or last_said(request) == "hello":
            return "noted"
        return worker(request) if callable(worker) else worker

    return script


def works_on(_: ModelRequest) -> Answer:
    return calls("work")


async def notices(kit: Kit, parent: Agent) -> list[str]:
    return [kind for kind in await kit.kinds(parent) if kind.startswith("system")]


async def the_only_notice(kit: Kit, parent: Agent) -> str:
    """The notice, when it is still the only one after a restart and another turn."""

    async def came() -> bool:
        return bool(await notices(kit, parent))

    await until(came)
    await kit.restart()
    await kit.ask(parent, "hello")
    (notice,) = await notices(kit, parent)
    return notice


@pytest.mark.parametrize(
    ("worker", "words", "limits"),
    [
        (ModelError("boom", is_retryable=False), "boom", {}),
        (ModelError("busy", is_retryable=True), "busy", {"retry_attempts": 1}),
        (ContextTooLongError("too long"), "too long", {}),
        (works_on, "limit for one run", {"steps_per_run": 2}),
    ],
    ids=["refused", "tried again in vain", "overflow", "step limit"],
)
async def test_a_turn_that_fails_is_told_once(
    start: Start, worker: Answer, words: str, limits: dict[str, object]
) -> None:
    tools = [counted_tool([], "work")]
    kit = await start(parents_note(worker), tools=tools, limits=limits)
    parent = await kit.agent()
    child = await child_of(kit, parent)
    assert (await kit.ask(child, "work")).item.fate == "failed"
    notice = await the_only_notice(kit, parent)
    assert child.id in notice and "worker" in notice and words in notice


async def test_a_model_that_nobody_knows_is_told_once(start: Start) -> None:
    lost = HELPER.replace("helper", "lost") + 'model = "nowhere"\n'
    kit = await start(
        parents_note("unused"), definitions={"helper.toml": HELPER, "lost.toml": lost}
    )
    parent = await kit.agent()
    child = await child_of(kit, parent, definition="lost")
    await kit.ask(child, "work")
    assert "nowhere" in await the_only_notice(kit, parent)


async def test_a_definition_that_was_deleted_is_told_once(start: Start) -> None:
    clerk = HELPER.replace("helper", "clerk")
    kit = await start(
        parents_note("unused"), definitions={"helper.toml": HELPER, "clerk.toml": clerk}
    )
    parent = await kit.agent()
    child = await child_of(kit, parent, definition="clerk")
    kit.stage.definitions = {"helper.toml": HELPER}
    (kit.stage.directory / "agents" / "clerk.toml").unlink()
    await kit.engine.project.look()
    await kit.restart()
    await kit.ask(child, "work")
    assert "clerk" in await the_only_notice(kit, parent)


async def stop(kit: Kit, child: Agent, _: ItemId) -> None:
    await kit.engine.interrupt(child.owner, child.id)


async def reset(kit: Kit, child: Agent, _: ItemId) -> None:
    await kit.engine.reset(child.owner, child.id)


async def terminate(kit: Kit, child: Agent, _: ItemId) -> None:
    await kit.engine.terminate(child.owner, child.id)


async def delete(kit: Kit, child: Agent, _: ItemId) -> None:
    await kit.engine.delete(child.owner, child.id)


async def die_three_times(kit: Kit, child: Agent, item: ItemId) -> None:
    model = kit.stage.models["main"]
    assert isinstance(model, ScriptedModel)
    for deaths in (1, 2):
        await kit.crash()
        await eventually(lambda calls=1 + deaths: model.count == calls)
    await kit.crash()
    await kit.outcome(item)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (stop, "cancelled"),
        (reset, "reset"),
        (terminate, "terminated"),
        (delete, "terminated"),
        (die_three_times, "the process died 3 times"),
    ],
)
async def test_a_turn_that_is_broken_off_is_told_once(
    start: Start, broken: Break, words: str
) -> None:
    gate = Gate()
    kit = await start(parents_note(Reply(text="never", before=gate)))
    parent = await kit.agent()
    child = await child_of(kit, parent)
    receipt = await kit.post(child, "work")
    await gate.reached.wait()
    await broken(kit, child, receipt.item.id)
    assert words in await the_only_notice(kit, parent)


@pytest.mark.parametrize("broken", [reset, terminate, delete])
async def test_each_item_that_was_still_queued_is_told_once_too(
    start: Start, broken: Break
) -> None:
    gate = Gate()
    kit = await start(parents_note(Reply(text="never", before=gate)))
    parent = await kit.agent()
    child = await child_of(kit, parent)
    receipt = await kit.post(child, "work")
    await gate.reached.wait()
    await kit.post(child, "more work")
    await broken(kit, child, receipt.item.id)

    async def came() -> bool:
        return len(await notices(kit, parent)) == 2

    await until(came)


@pytest.mark.parametrize("ends", ["answered", "failed"])
async def test_a_second_notice_about_the_same_item_is_a_repeat(start: Start, ends: str) -> None:
    """The item's id is the key of its notice, whichever commit posts it."""
    worker = "done" if ends == "answered" else ModelError("boom", is_retryable=False)
    kit = await start(parents_note(worker))
    parent = await kit.agent()
    child = await child_of(kit, parent)
    outcomes = [await kit.ask(child, text) for text in ("work", "more work")]
    assert [outcome.item.fate for outcome in outcomes] == [ends] * 2

    async def came() -> bool:
        return len(await notices(kit, parent)) == 2

    await until(came)
    for outcome in outcomes:
        again = NewItem(
            id=new_item_id(),
            kind="system",
            body=ItemBody(text="once more", sender=Sender(type="agent", id=child.id)),
            admitted_at=kit.stage.clock.now(),
            dedupe_key=f"report/{outcome.item.id}",
        )
        receipt = await kit.store.admit(Post(to=parent.id, item=again, owner=parent.owner))
        assert receipt.is_repeat


@pytest.mark.parametrize("trouble", [RuntimeError("a bug"), StoreError("the disk is odd")])
async def test_a_defect_of_ours_and_trouble_with_the_store_are_told_once(
    start: Start, trouble: Exception
) -> None:
    gate = Gate()
    kit = await start(parents_note(Reply(text="lost", before=gate)))
    parent = await kit.agent()
    child = await child_of(kit, parent)
    receipt = await kit.post(child, "work")
    await gate.reached.wait()
    _break_next_commit(kit, trouble)
    gate.opened.set()
    assert (await kit.outcome(receipt)).item.fate == "failed"
    assert "an internal error" in await the_only_notice(kit, parent)


def _break_next_commit(kit: Kit, trouble: Exception) -> None:
    real = kit.store.commit

    async def commit(commit: Commit) -> Committed:
        kit.store.commit = real
        raise trouble

    kit.store.commit = commit


async def test_what_arrives_while_an_agent_ends_is_told_too(start: Start) -> None:
    gate = Gate()
    kit = await start(parents_note(Reply(text="never", before=gate)))
    parent = await kit.agent()
    child = await child_of(kit, parent)
    await kit.post(child, "work")
    await gate.reached.wait()
    real = kit.store.commit
    late: list[ItemId] = []

    async def commit(commit: Commit) -> Committed:
        if commit.lifecycle == "terminated":
            late.append((await kit.post(child, "late")).item.id)
        return await real(commit)

    kit.store.commit = commit
    await kit.engine.terminate(child.owner, child.id)
    kit.store.commit = real
    assert (await kit.outcome(late[0])).item.fate == "cancelled"

    async def came() -> bool:
        return len(await notices(kit, parent)) == 2

    await until(came)
    assert all("terminated" in notice for notice in await notices(kit, parent))
