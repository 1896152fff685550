"""Commands as items: what a crash, a stop of the server and a second try make of them."""

import asyncio
import sqlite3
from collections.abc import Awaitable

import pytest

from retinue.agents.command import (
    AgentPatch,
    PatchCommand,
    ProvideCommand,
    ResetCommand,
    StopCommand,
    TerminateCommand,
)
from retinue.agents.inbox import Item, Sender
from retinue.errors import (
    BusyError,
    ConflictError,
    FencedError,
    NotFoundError,
    TerminatedError,
)
from retinue.ids import AgentId, OwnerId, RequestId
from retinue.models.scripted import Reply
from retinue.stores.port import Agent, Commit, Committed, Post, command_item
from retinue.testing.kit import PATIENCE_SECONDS, Kit
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, eventually, said
from tests.waiting import until


async def dead(commit: Commit) -> Committed:
    raise FencedError(f"the process that ran {commit.agent_id!r} is dead")


async def killed_before_it_applied(kit: Kit, agent: Agent, order: Awaitable[object]) -> Item:
    """Store a command, and let the process die before anything came of it."""
    kit.store.commit = dead
    given = asyncio.ensure_future(order)
    stored: list[Item] = []

    async def is_stored() -> bool:
        items = await kit.store.open_items(agent.owner, agent.id)
        stored[:] = [item for item in items if item.kind == "command"]
        return bool(stored)

    await until(is_stored)
    await kit.crash()
    with pytest.raises((FencedError, BusyError)):
        await asyncio.wait_for(given, PATIENCE_SECONDS)
    return stored[0]


async def test_a_reset_that_was_stored_before_a_crash_is_applied_once(start: Start) -> None:
    kit = await start(lambda request: f"{len(said(request))} lines")
    agent = await kit.agent()
    await kit.ask(agent, "old")
    reset = kit.engine.reset(agent.owner, agent.id, reason="enough", key="k")
    stored = await killed_before_it_applied(kit, agent, reset)
    assert (await kit.outcome(stored.id)).item.fate == "answered"
    await kit.engine.reset(agent.owner, agent.id, reason="enough", key="k")
    assert (await kit.ask(agent, "new")).reply == "1 lines"
    await kit.engine.reset(agent.owner, agent.id, reason="enough", key="k")
    assert (await kit.kinds(agent)).count("reset") == 1


async def test_a_rename_that_was_stored_before_a_crash_is_applied(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    rename = kit.engine.update(agent.owner, agent.id, AgentPatch(name="Trip", pinned=True))
    stored = await killed_before_it_applied(kit, agent, rename)
    assert (await kit.outcome(stored.id)).item.fate == "answered"
    state = (await kit.fresh(agent)).state
    assert state.name == "Trip"
    assert state.pinned_at is not None
    assert await kit.kinds(agent) == ["start"]


async def test_a_deletion_that_was_stored_before_a_crash_is_finished(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()

    async def dies(owner: OwnerId, agent_id: AgentId) -> None:
        raise FencedError("the process is dead")

    kit.store.delete = dies
    await killed_before_it_applied(kit, agent, kit.engine.delete(agent.owner, agent.id))

    async def is_gone() -> bool:
        try:
            await kit.fresh(agent)
        except NotFoundError:
            return True
        return False

    await until(is_gone)


async def test_an_end_that_was_stored_before_a_crash_ends_the_agent(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    end = kit.engine.terminate(agent.owner, agent.id, reason="enough")
    stored = await killed_before_it_applied(kit, agent, end)
    assert (await kit.outcome(stored.id)).item.fate == "answered"
    assert (await kit.fresh(agent)).lifecycle == "terminated"
    assert (await kit.kinds(agent)).count("note terminated") == 1


async def test_a_stop_that_was_stored_before_a_crash_stops_that_turn(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="never", midway=gate), "never either", "later"])
    agent = await kit.agent()
    receipt = await kit.post(agent, "one")
    await gate.reached.wait()
    stop = kit.engine.interrupt(agent.owner, agent.id)
    await killed_before_it_applied(kit, agent, stop)
    outcome = await kit.outcome(receipt)
    assert (outcome.item.fate, outcome.item.reason) == ("cancelled", "stopped")
    assert (await kit.kinds(agent))[-1] == "note stopped"


async def test_a_stop_that_found_nothing_stops_no_later_turn(start: Start) -> None:
    kit = await start(["answered"])
    agent = await kit.agent()
    await kit.engine.stop()
    sender = Sender(type="user", id=agent.owner)
    stop = command_item(StopCommand(), sender, kit.stage.clock.now())
    await kit.store.admit(Post(to=agent.id, item=stop, owner=agent.owner))
    receipt = await kit.post(agent, "a later message")
    assert receipt.position == 0
    await kit.restart()
    assert (await kit.outcome(receipt)).reply == "answered"
    stopped = (await kit.outcome(stop.id)).item
    assert (stopped.fate, stopped.code) == ("answered", "unchanged")


async def test_a_stop_for_an_ended_turn_keeps_what_is_queued(start: Start) -> None:
    """A stop that was meant for a running turn finds it over: the next message is not stopped."""
    kit = await start(["answered"])
    agent = await kit.agent()
    await kit.engine.stop()
    receipt = await kit.post(agent, "queued behind the turn")
    sender = Sender(type="user", id=agent.owner)
    stop = command_item(StopCommand(up_to=0), sender, kit.stage.clock.now())
    await kit.store.admit(Post(to=agent.id, item=stop, owner=agent.owner))
    await kit.restart()
    assert (await kit.outcome(receipt)).reply == "answered"
    assert "note stopped" not in await kit.kinds(agent)


async def test_a_key_gives_the_first_command_again(start: Start) -> None:
    kit = await start(["one", "two", "a summary", "three", "four"])
    agent = await kit.agent()
    compact = kit.engine.compact
    assert not await compact(agent.owner, agent.id, key="early")
    for text in ("first", "second"):
        await kit.ask(agent, text)
    assert not await compact(agent.owner, agent.id, key="early")
    assert await compact(agent.owner, agent.id, key="late")
    assert await compact(agent.owner, agent.id, key="late")
    assert (await kit.kinds(agent)).count("summary command") == 1
    with pytest.raises(ConflictError):
        await kit.engine.reset(agent.owner, agent.id, key="late")


async def test_commands_take_no_place_in_the_queue(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="done", midway=gate), "a summary", "next"])
    agent = await kit.agent()
    await kit.post(agent, "go")
    await gate.reached.wait()
    compacting = asyncio.ensure_future(kit.engine.compact(agent.owner, agent.id))
    await eventually(lambda: kit.engine._live[agent.id].has_commands)  # pyright: ignore[reportPrivateUsage]
    assert (await kit.fresh(agent)).queued == 0
    behind = await kit.post(agent, "behind it")
    assert behind.position == 1
    assert (await kit.store.item(agent.owner, behind.item.id))[1] == 1
    gate.opened.set()
    assert await compacting
    assert (await kit.outcome(behind)).reply == "next"


async def test_every_rename_applies_while_the_model_is_working(start: Start) -> None:
    gate = Gate()
    kit = await start([Reply(text="done", midway=gate)])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await gate.reached.wait()
    patches = [AgentPatch(attributes={f"{n}": n}) for n in range(4)]
    update = kit.engine.update
    renamed = [update(agent.owner, agent.id, patch) for patch in patches]
    await asyncio.wait_for(asyncio.gather(*renamed), PATIENCE_SECONDS)
    assert (await kit.fresh(agent)).state.attributes == {f"{n}": n for n in range(4)}
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "done"


async def test_a_command_that_is_under_way_at_shutdown_is_applied_after_the_next_start(
    start: Start,
) -> None:
    gate = Gate()
    kit = await start(["one", "two", Reply(text="never", midway=gate), "a summary", "three"])
    agent = await kit.agent()
    for text in ("first", "second"):
        await kit.ask(agent, text)
    third = await kit.post(agent, "third")
    await gate.reached.wait()
    compacting = asyncio.ensure_future(kit.engine.compact(agent.owner, agent.id))
    await eventually(lambda: kit.engine._live[agent.id].has_commands)  # pyright: ignore[reportPrivateUsage]
    await kit.restart()
    with pytest.raises(BusyError, match="stored"):
        await asyncio.wait_for(compacting, PATIENCE_SECONDS)
    assert (await kit.outcome(third)).reply == "three"
    assert (await kit.kinds(agent)).count("summary command") == 1


async def test_a_command_that_cannot_be_applied_has_a_fate_and_a_typed_error(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    sender = Sender(type="user", id=agent.owner)
    command = ProvideCommand(request_id=RequestId("nothing"), env={"KEY": "sealed"}, by="me")
    item = command_item(command, sender, kit.stage.clock.now())
    await kit.store.admit(Post(to=agent.id, item=item, owner=agent.owner))
    refused = (await kit.outcome(item.id)).item
    assert (refused.fate, refused.code) == ("refused", "not_found")
    assert "no open request" in refused.reason
    with pytest.raises(NotFoundError, match="no open request"):
        await kit.engine._command(agent.owner, agent.id, command)  # pyright: ignore[reportPrivateUsage]


async def test_an_agent_that_ended_obeys_only_renames_and_deletion(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    await kit.engine.terminate(agent.owner, agent.id)
    for command in (kit.engine.reset, kit.engine.compact, kit.engine.interrupt):
        with pytest.raises(TerminatedError):
            await command(agent.owner, agent.id)
    renamed = await kit.engine.update(agent.owner, agent.id, AgentPatch(name="Old trip"))
    assert renamed.state.name == "Old trip"
    await kit.engine.delete(agent.owner, agent.id)
    with pytest.raises(NotFoundError):
        await kit.fresh(agent)


async def test_commands_behind_the_end_of_an_agent_are_refused(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    await kit.engine.stop()
    sender = Sender(type="user", id=agent.owner)
    commands = [TerminateCommand(reason="enough"), ResetCommand(), PatchCommand(patch=AgentPatch())]
    items = [command_item(one, sender, kit.stage.clock.now()) for one in commands]
    for item in items:
        await kit.store.admit(Post(to=agent.id, item=item, owner=agent.owner))
    await kit.restart()
    ended = [(await kit.outcome(item.id)).item for item in items]
    assert [(item.fate, item.code) for item in ended] == [
        ("answered", ""),
        ("refused", "terminated"),
        ("answered", ""),
    ]


async def test_values_leave_the_inbox_with_the_command_that_brought_them(start: Start) -> None:
    kit = await start([])
    agent = await kit.agent()
    patch = AgentPatch(env={"KEY": "sealed-value"}, name="Named")
    await kit.engine.update(agent.owner, agent.id, patch)
    await kit.engine.update(agent.owner, agent.id, AgentPatch(env={"KEY": None}))
    await kit.close()
    database = sqlite3.connect(kit.stage.directory / ".retinue" / "retinue.db")
    bodies = [row[0] for row in database.execute("SELECT body FROM items WHERE kind = 'command'")]
    database.close()
    await kit.open()
    assert len(bodies) == 2
    assert not any(b"sealed-value" in body for body in bodies)
    assert any(b"Named" in body for body in bodies)
