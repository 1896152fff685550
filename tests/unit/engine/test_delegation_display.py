"""What a model is told about its peers, and what people see of work that is passed on."""

from collections.abc import AsyncIterator

from retinue.events import DeltaEvent, Event, RequestEvent, StepEvent, ToolEvent
from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Reply, ScriptedModel
from tests.unit.engine import asking
from tests.unit.engine.conftest import Start
from tests.unit.engine.delegating import TEAM, Play, asks, definition, the_session
from tests.unit.engine.support import Gate, last_said


async def test_the_prompt_ends_with_whom_one_can_ask_and_how(start: Start) -> None:
    model = ScriptedModel(Play(), name="main")
    team = {
        "general.toml": definition("general", agentDenylist='["notes"]'),
        "todo.toml": definition("todo"),
        "notes.toml": definition("notes"),
        "secret.toml": definition("secret", uiVisible="false"),
        "mute.toml": definition("mute", toolDenylist='["agents_message"]'),
    }
    kit = await start(model, definitions=team, collaborates=True)
    await kit.ask(await kit.agent("general"), "hi")
    section = model.requests[-1].system.partition("Available agents:\n")[2]
    lines = section.splitlines()
    assert lines[:2] == ["- mute: The mute - Does mute.", "- todo: The todo - Does todo."]
    assert "agents_message" in lines[-1]
    await kit.ask(await kit.agent("mute"), "hi")
    assert "Available agents" not in model.requests[-1].system


async def test_the_prompt_follows_the_definitions(start: Start) -> None:
    model = ScriptedModel(Play(), name="main")
    team = {"general.toml": definition("general")}
    kit = await start(model, definitions=team, collaborates=True)
    agent = await kit.agent("general")
    await kit.ask(agent, "hi")
    assert "Available agents" not in model.requests[-1].system
    (kit.stage.directory / "agents" / "todo.toml").write_text(definition("todo"), encoding="utf-8")

    while "- todo: " not in model.requests[-1].system:
        await kit.ask(agent, "again")


async def deltas(events: AsyncIterator[Event], text: str) -> list[DeltaEvent]:
    seen: list[DeltaEvent] = []
    async for event in events:
        if isinstance(event, DeltaEvent):
            seen.append(event)
            if text in event.text:
                return seen
    raise AssertionError("the stream ended")


async def test_who_watches_one_agent_sees_the_live_work_of_those_it_waits_for(
    start: Start,
) -> None:
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        match last_said(request):
            case "go":
                return asks("todo", "pass on")
            case "pass on":
                return asks("journal", "deep")
            case "deep":
                return Reply(text="deep work", midway=gate)
            case _:
                return "done"

    kit = await start(script, definitions=TEAM, collaborates=True)
    caller, stranger = await kit.agent("general"), await kit.agent("notes")
    early = kit.engine.subscribe(LOCAL_OWNER, after=None, agent_id=caller.id)
    await anext(early)
    other = kit.engine.subscribe(LOCAL_OWNER, after=None, agent_id=stranger.id)
    await anext(other)
    receipt = await kit.post(caller, "go")
    await gate.reached.wait()
    worker = await the_session(kit, "journal")
    late = kit.engine.subscribe(LOCAL_OWNER, after=None, agent_id=caller.id)
    for reader in (early, late):
        seen = await deltas(reader, "deep work")
        assert seen[-1].agent_id == worker.id
    gate.opened.set()
    await kit.outcome(receipt)
    await kit.ask(worker, "no longer for the caller")
    await kit.ask(caller, "bye")
    rest = [(await deltas(early, "done"))[-1].agent_id for _ in range(3)]
    assert rest == [(await the_session(kit, "todo")).id, caller.id, caller.id]
    await kit.ask(stranger, "hi")
    seen = await deltas(other, "done")
    assert {event.agent_id for event in seen} == {stranger.id}


async def test_who_watches_one_agent_is_told_what_those_ask_that_it_waits_for(start: Start) -> None:
    play = Play(go=asks("todo"), work=asking.asks("@network"))
    kit = await start(play, definitions=TEAM, collaborates=True)
    caller = await kit.agent("general")
    watched = kit.engine.subscribe(LOCAL_OWNER, after=None, agent_id=caller.id)
    await anext(watched)
    await kit.post(caller, "go")
    request = await asking.pending(kit)
    await asking.decide(kit, request)
    statuses: list[str] = []
    async for event in watched:
        is_own = getattr(event, "agent_id", caller.id) == caller.id
        assert is_own or isinstance(event, RequestEvent | DeltaEvent | StepEvent | ToolEvent)
        if isinstance(event, RequestEvent):
            statuses.append(event.request.status)
        if statuses[-1:] == ["allowed"]:
            break
    assert statuses == ["pending", "allowed"]


async def test_a_message_tells_which_agent_it_waits_for_and_until_when(start: Start) -> None:
    gate = Gate()
    play = Play(go=asks("todo", timeout=60), work=Reply(text="done", before=gate))
    kit = await start(play, definitions=TEAM, collaborates=True)
    receipt = await kit.post(await kit.agent("general"), "go")
    await gate.reached.wait()
    outcome = await kit.engine.outcome(LOCAL_OWNER, receipt.item.id)
    (wait,) = outcome.waits
    worker = await the_session(kit, "todo")
    (working,) = await kit.store.open_items(LOCAL_OWNER, worker.id)
    assert (wait.agent_id, wait.item, wait.reason) == (worker.id, working.id, "child")
    assert wait.until is not None
    assert (wait.until - working.admitted_at).total_seconds() == 60
    gate.opened.set()
    assert (await kit.outcome(receipt)).waits == ()
