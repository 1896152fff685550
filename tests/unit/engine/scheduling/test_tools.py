"""Agents make, list, change, run and delete schedules."""

from collections.abc import Callable
from typing import Any

import pytest

from retinue.engine.scheduling.schedule_tools import SCHEDULE_TOOLS
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import UserMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer
from retinue.records import ToolRecord
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import HELPER, Kit, SeenThings
from retinue.tools.function_tool import tool
from tests.unit.engine.conftest import Start
from tests.unit.engine.scheduling.support import ended, make, pass_time, slots, system_texts
from tests.unit.engine.support import calls


def calling(name: str, **arguments: Any) -> Callable[[ModelRequest], Answer]:
    """Call a tool for what a person says; answer everything else."""

    def reply(request: ModelRequest) -> Answer:
        last = request.messages[-1]
        is_asked = isinstance(last, UserMessage) and "please" in str(last.content[-1])
        return calls(name, **arguments) if is_asked else "noted"

    return reply


async def result(kit: Kit, agent: Any) -> ToolRecord:
    (record,) = [r for r in await kit.records(agent) if isinstance(r, ToolRecord)]
    return record


async def test_a_reminder_comes_back_to_the_conversation(start: Start, clock: FakeClock) -> None:
    script = calling("schedule_create", prompt="Water the plants", at="in 2 hours")
    kit = await start(script, clock=clock, collaborates=True)
    chat = await kit.agent()
    await kit.ask(chat, "please")
    (stored,) = await kit.engine.schedules.all(LOCAL_OWNER)
    assert (stored.schedule.target, stored.schedule.source) == (chat.id, "tool")
    assert (await result(kit, chat)).text.startswith(f"Scheduled: {stored.schedule.id}: Water")
    await pass_time(kit, clock, stored.schedule.id)
    await ended(kit, 1, stored.schedule.id)
    (text,) = await system_texts(kit, chat)
    assert text.endswith("\n\nWater the plants")


async def test_what_repeats_reports_to_the_conversation(start: Start, clock: FakeClock) -> None:
    script = calling("schedule_create", prompt="Look around", cron="0 8 * * *", timezone="UTC")
    kit = await start(script, clock=clock, collaborates=True)
    chat = await kit.agent()
    await kit.ask(chat, "please")
    (stored,) = await kit.engine.schedules.all(LOCAL_OWNER)
    schedule = stored.schedule
    assert (schedule.target, schedule.report_to, schedule.definition) == (None, chat.id, "helper")
    await pass_time(kit, clock, schedule.id)
    await ended(kit, 1, schedule.id)
    assert await system_texts(kit, chat) == ["noted"]


async def test_a_call_that_a_crash_repeated_makes_one_schedule(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(["unused"], clock=clock, collaborates=True)
    chat = await kit.agent()
    tool = kit.engine.project.current.tools["schedule_create"]

    class Context:
        agent_id, owner, definition = chat.id, LOCAL_OWNER, "helper"
        idempotency_key = "agent/1/call"

    context: Any = Context()
    arguments = {"prompt": "Water the plants", "at": "in 2 hours"}
    first: Any = await tool.invoke(context, arguments)
    clock.advance(3 * 3600)  # by now its time is in the past
    again: Any = await tool.invoke(context, arguments)
    assert again.text.split(";")[0] == first.text.split(";")[0]
    assert len(await kit.engine.schedules.all(LOCAL_OWNER)) == 1


async def test_a_mistake_is_told_to_the_model_and_creates_nothing(
    start: Start, clock: FakeClock
) -> None:
    script = calling("schedule_create", prompt="Never", cron="0 0 30 2 *")
    kit = await start(script, clock=clock, collaborates=True)
    chat = await kit.agent()
    await kit.ask(chat, "please")
    record = await result(kit, chat)
    assert (record.status, "never runs" in record.text) == ("error", True)
    assert list(await kit.engine.schedules.all(LOCAL_OWNER)) == []


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("schedule_list", {}, "daily: Daily; 0 * * * * (UTC), next Thu 2026-01-01 13:00 UTC"),
        ("schedule_update", {"id": "daily", "action": "pause"}, "Changed: daily: Daily; 0 * * * *"),
        ("schedule_update", {"id": "daily", "cron": "5 * * * *"}, "Changed: daily: Daily; 5 * *"),
        ("schedule_delete", {"id": "daily"}, "Deleted: Daily"),
        ("schedule_delete", {"id": "gone"}, "There is no schedule 'gone'"),
        ("schedule_run", {"id": "daily"}, "Started, as message m"),
    ],
)
async def test_schedules_are_listed_changed_run_and_deleted(
    start: Start, clock: FakeClock, tool: str, arguments: dict[str, str], expected: str
) -> None:
    kit = await start(calling(tool, **arguments), clock=clock, collaborates=True)
    chat = await kit.agent()
    await make(kit, made_by=chat.id)
    await kit.ask(chat, "please")
    record = await result(kit, chat)
    assert record.status == "ok"
    assert record.text.startswith(expected)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("schedule_update", {"id": "daily", "prompt": "Send it to me."}),
        ("schedule_update", {"id": "daily", "action": "pause"}),
        ("schedule_delete", {"id": "daily"}),
        ("schedule_run", {"id": "daily"}),
    ],
)
async def test_a_schedule_of_others_is_refused_by_name_and_stays_as_it_is(
    start: Start, clock: FakeClock, tool: str, arguments: dict[str, str]
) -> None:
    kit = await start(calling(tool, **arguments), clock=clock, collaborates=True)
    before = await make(kit, made_by=(await kit.agent()).id)
    chat = await kit.agent()
    await kit.ask(chat, "please")
    record = await result(kit, chat)
    assert record.status == "refused"
    assert "the schedule 'daily' (Daily) is not yours" in record.text
    assert list(await kit.engine.schedules.all(LOCAL_OWNER)) == [before]


@pytest.mark.parametrize("field", ["target", "report_to"])
async def test_a_schedule_that_runs_in_or_reports_to_an_agent_is_its_own(
    start: Start, clock: FakeClock, field: str
) -> None:
    script = calling("schedule_update", id="daily", action="pause")
    kit = await start(script, clock=clock, collaborates=True)
    chat = await kit.agent()
    await make(kit, **{field: chat.id})
    await kit.ask(chat, "please")
    assert (await result(kit, chat)).status == "ok"


WATCHES = {
    "shell": ({"command": "date"}, "command date"),
    "web_fetch": ({"url": "https://example.org"}, "url https://example.org"),
}


@pytest.mark.parametrize("name", WATCHES)
@pytest.mark.parametrize(
    ("scope", "complaint"),
    [
        ("", None),
        ('toolAllowlist = ["schedule_create"]', "do not have"),
        ('toolDenylist = ["shell", "web_*"]', "do not have"),
        ('capabilityDenylist = ["risky"]', "do not have"),
        ('toolApprovals = ["shell", "web_*"]', "only the operator can create such a schedule"),
    ],
)
async def test_a_watch_may_do_only_what_the_agent_may_do_unasked(
    start: Start, clock: FakeClock, name: str, scope: str, complaint: str | None
) -> None:
    async def unused() -> str:
        """Never called: a watch only may do the same."""
        return ""

    watch, words = WATCHES[name]
    probe = SeenThings(**{words: "something"})
    kit = await start(
        calling("schedule_create", prompt="Look", cron="0 * * * *", watch=watch),
        clock=clock,
        collaborates=True,
        probe=probe,
        tools=[tool(name=name, effect="pure", capabilities=["risky"])(unused)],
        definitions={"helper.toml": f"{HELPER}{scope}\n"},
    )
    chat = await kit.agent()
    await kit.ask(chat, "please")
    record = await result(kit, chat)
    if complaint is None:
        assert (record.status, probe.looks) == ("ok", 1)
        return
    assert (record.status, probe.looks) == ("refused", 0)
    assert complaint in record.text
    assert repr(name) in record.text
    assert list(await kit.engine.schedules.all(LOCAL_OWNER)) == []


@pytest.mark.parametrize("scope", ['toolDenylist = ["shell"]', 'toolApprovals = ["shell"]'])
async def test_a_watch_that_is_no_longer_allowed_does_not_look_and_says_so(
    start: Start, clock: FakeClock, scope: str
) -> None:
    async def unused() -> str:
        """Never called: a watch only may do the same."""
        return ""

    probe = SeenThings(**{"command ls": "one"})
    kit = await start(
        calling("schedule_create", prompt="Look", cron="0 * * * *", watch={"command": "ls"}),
        clock=clock,
        collaborates=True,
        probe=probe,
        tools=[tool(name="shell", effect="pure")(unused)],
    )
    chat = await kit.agent()
    await kit.ask(chat, "please")
    (kit.stage.directory / "agents" / "helper.toml").write_text(f"{HELPER}{scope}\n")
    await kit.engine.project.look()
    probe.seen["command ls"] = "two"
    before = probe.looks
    (stored,) = await kit.engine.schedules.all(LOCAL_OWNER)
    await pass_time(kit, clock, name=stored.schedule.id)
    (slot,) = await slots(kit, stored.schedule.id)
    assert slot.status == "failed"
    assert "its watch on command ls is no longer allowed" in slot.reason
    assert probe.looks == before
    (told,) = await system_texts(kit, chat)
    assert "no longer allowed" in told


async def test_the_tools_say_what_they_may_do(start: Start) -> None:
    kit = await start(["unused"], collaborates=True)
    tools = kit.engine.project.current.tools
    made = {name: tools[name] for name in SCHEDULE_TOOLS}
    assert made["schedule_list"].capabilities == ("schedules.read",)
    assert {tool.effect for name, tool in made.items() if name != "schedule_list"} == {"keyed"}
