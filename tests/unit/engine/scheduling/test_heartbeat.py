"""Heartbeat tasks: one batch, each from its own last run on, and nobody woken for nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from retinue.agents.descriptor import HeartbeatDescriptor
from retinue.engine.scheduling.schedule_service import ScheduleChanges
from retinue.errors import NotFoundError
from retinue.ids import LOCAL_OWNER, ScheduleId
from retinue.models.scripted import Reply
from retinue.records import Usage
from retinue.stores.port import Agent
from retinue.stores.schedule_port import HEARTBEAT, Slot
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit, SeenThings
from tests.unit.engine.conftest import Start
from tests.unit.engine.scheduling.support import HOUR, Silent, ended, make, system_texts, until
from tests.unit.engine.support import Gate


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "heartbeat"
    folder.mkdir()
    return folder


def write(folder: Path, name: str, text: str, **matter: str) -> None:
    lines = "".join(f"{key}: {value}\n" for key, value in matter.items())
    (folder / f"{name}.md").write_text(f"---\n{lines}---\n{text}\n", encoding="utf-8")


async def batches(kit: Kit, count: int) -> Sequence[Slot]:
    return await ended(kit, count, HEARTBEAT)


async def heartbeat_agent(kit: Kit) -> Agent:
    agent = await kit.store.find(LOCAL_OWNER, HeartbeatDescriptor())
    assert agent is not None
    return agent


async def pass_minutes(clock: FakeClock, minutes: float) -> None:
    await clock.someone_sleeps(2)
    clock.advance(minutes * 60)


async def test_tasks_that_are_due_make_one_message_in_the_order_of_their_titles(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "b", "Look at the mail.", title="Mail")
    write(folder, "a", "# Zoo\nFeed the animals.")
    kit = await start(Silent().model, clock=clock)
    (slot,) = await batches(kit, 1)
    assert slot.reason == "b, a"
    assert await system_texts(kit, await heartbeat_agent(kit)) == [
        "# Heartbeat run\n\n2 tasks are due. Do each of them, and group your report "
        "by task.\n\n## 1. Mail\nid: b\n\nLook at the mail.\n\n"
        "## 2. Zoo\nid: a\n\n# Zoo\nFeed the animals."
    ]


async def test_one_task_is_told_as_it_is(start: Start, clock: FakeClock, folder: Path) -> None:
    write(folder, "mail", "Look at the mail.")
    kit = await start(Silent().model, clock=clock)
    await batches(kit, 1)
    assert await system_texts(kit, await heartbeat_agent(kit)) == ["Look at the mail."]


async def test_the_interval_counts_from_each_tasks_last_run_and_not_from_the_start(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "often", "Often.", every="10m")
    write(folder, "rare", "Rare.", every="1h")
    silent = Silent()
    kit = await start(silent.model, clock=clock)
    await batches(kit, 1)
    clock.jump(9 * 60)
    await kit.restart()
    assert await clock.someone_sleeps(2) == 60
    clock.jump(60)
    await kit.restart()
    found = await batches(kit, 2)
    assert [slot.reason for slot in found] == ["often", "often, rare"]
    assert len(silent.requests) == 2


async def test_a_start_does_not_wait_for_the_batch(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "slow", "Take your time.")
    gate = Gate()
    kit = await start([Reply(text="done", midway=gate)], clock=clock)
    await gate.reached.wait()  # the engine is started, and the model still at it
    gate.opened.set()
    await batches(kit, 1)


async def test_no_batch_is_begun_while_one_is_running(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "slow", "Take your time.", every="1m")
    gate = Gate()
    kit = await start([Reply(text="late", midway=gate), "quick"], clock=clock)
    await gate.reached.wait()
    for _ in range(3):
        await pass_minutes(clock, 1)
    assert await kit.engine.heartbeat.run_now() is None
    gate.opened.set()
    await batches(kit, 1)
    clock.advance(await clock.someone_sleeps())
    await pass_minutes(clock, 1)
    assert len(await batches(kit, 2)) == 2


async def test_a_new_file_is_taken_up_and_a_broken_one_stops_no_other(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "good", "Do good.", every="1h")
    kit = await start(Silent().model, clock=clock)
    await batches(kit, 1)
    write(folder, "bad", "Do bad.", every="sometimes")
    write(folder, "new", "Do new.")
    (folder / "empty.md").write_text("---\ntitle: Empty\n---\n", encoding="utf-8")
    clock.advance(1)
    await batches(kit, 2)
    states = await kit.engine.heartbeat.states()
    assert [state.task.id for state in states] == ["good", "new"]
    told = {problem.file: problem.message for problem in kit.engine.heartbeat.problems}
    assert "every: 'sometimes' is not a duration" in told["heartbeat/bad.md"]
    assert "has no text" in told["heartbeat/empty.md"]


async def test_a_file_that_breaks_keeps_its_last_good_version(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "task", "Do it.", every="1h")
    kit = await start(Silent().model, clock=clock)
    await batches(kit, 1)
    write(folder, "task", "Do it otherwise.", evry="2h")
    await kit.engine.project.look()
    (state,) = await kit.engine.heartbeat.states()
    assert state.task.prompt == "Do it."
    (problem,) = kit.engine.heartbeat.problems
    assert problem.is_using_last_good
    assert "did you mean 'every'" in problem.message


async def test_a_watched_task_wakes_only_with_a_difference(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "watcher", "Tell me.", every="30m", watch="{url: 'https://example.org'}")
    probe, silent = SeenThings(), Silent()
    probe.seen["url https://example.org"] = "price 10"
    kit = await start(silent.model, clock=clock, probe=probe)
    await pass_minutes(clock, 30)
    await pass_minutes(clock, 30)
    assert silent.requests == []
    probe.seen["url https://example.org"] = "price 9"
    await pass_minutes(clock, 30)
    await batches(kit, 1)
    (text,) = await system_texts(kit, await heartbeat_agent(kit))
    assert text.startswith("Tell me.\n\nWhat changed in url https://example.org:")
    assert "-price 10\n+price 9" in text


async def test_a_watch_that_fails_is_told_once(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "watcher", "Tell me.", every="30m", watch="{file: gone.md}")
    kit = await start(Silent().model, clock=clock)
    chat = await kit.agent()
    await kit.ask(chat, "hello")

    async def told() -> list[str]:
        return [text for text in await system_texts(kit, chat) if "gone.md" in text]

    await pass_minutes(clock, 30)
    await pass_minutes(clock, 30)
    await clock.someone_sleeps(2)
    marks = await kit.engine.schedules.store.marks(LOCAL_OWNER)
    assert marks["heartbeat/watcher"].problem == "there is no file gone.md"
    assert len(await until(kit, told)) <= 1


async def test_the_agent_begins_anew_when_its_context_has_grown_beyond_the_limit(
    start: Start, clock: FakeClock, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "retinue.toml").write_text("[heartbeat]\ncontextLimit = 1000\n", encoding="utf-8")
    write(folder, "task", "Do it.", every="1h")
    sizes = iter([500, 1500, 100])
    kit = await start(
        lambda request: Reply(text="ok", usage=Usage(input=next(sizes), output=1)), clock=clock
    )
    for count in (1, 2, 3):
        await batches(kit, count)
        await clock.someone_sleeps(HOUR / 2)
        clock.advance(HOUR)
    kinds = await kit.kinds(await heartbeat_agent(kit))
    assert kinds[:8] == [
        "start",
        "system Do it.",
        "assistant ok",
        "system Do it.",
        "assistant ok",
        "reset",
        "system Do it.",
        "assistant ok",
    ]


async def test_running_now_takes_the_tasks_that_are_named(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "a", "Do a.", every="1h")
    write(folder, "b", "Do b.", every="1h")
    kit = await start(Silent().model, clock=clock)
    await batches(kit, 1)
    with pytest.raises(NotFoundError, match="'c'"):
        await kit.engine.heartbeat.run_now(["c"])
    clock.advance(60)
    receipt = await kit.engine.heartbeat.run_now(["b"])
    assert receipt is not None
    assert receipt.item.body.text == "Do b."


async def test_a_day_in_which_nothing_happens_calls_no_model(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "page", "Tell me.", every="30m", watch="{url: 'https://example.org'}")
    write(folder, "file", "Tell me.", every="1h", watch="{file: notes.md}")
    probe, silent = SeenThings(), Silent()
    probe.seen |= {"url https://example.org": "same", "file notes.md": "same"}
    kit = await start(silent.model, clock=clock, probe=probe)
    await make(kit, "Paused")
    paused = ScheduleChanges(is_paused=True)
    await kit.engine.schedules.change(LOCAL_OWNER, ScheduleId("paused"), paused)
    end = clock.monotonic() + 24 * HOUR

    async def is_settled() -> bool:
        times = [state.due_at for state in await kit.engine.heartbeat.states()]
        return all(time is not None and time > clock.now() for time in times)

    while clock.monotonic() < end:
        await until(kit, is_settled)
        clock.advance(await clock.someone_sleeps(2))
    assert probe.looks >= 23 + 47  # the last ones may be due at the very end
    assert silent.requests == []
    assert (await kit.store.facts()).items_open == 0
    assert await kit.store.find(LOCAL_OWNER, HeartbeatDescriptor()) is None


async def test_the_heartbeat_goes_on_with_a_new_agent_after_its_own_was_terminated(
    start: Start, clock: FakeClock, folder: Path
) -> None:
    write(folder, "mail", "Look at the mail.", every="30m")
    kit = await start(Silent().model, clock=clock)
    await batches(kit, 1)
    first = await heartbeat_agent(kit)
    await kit.engine.terminate(LOCAL_OWNER, first.id)
    await pass_minutes(clock, 30)
    await batches(kit, 2)
    assert (await heartbeat_agent(kit)).id != first.id
