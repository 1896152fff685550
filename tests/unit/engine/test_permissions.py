"""Permissions: asked for, decided once by the owner, and never lost or doubled."""

from pathlib import Path

import pytest

from retinue.agents.descriptor import SubagentDescriptor
from retinue.agents.state import AgentState
from retinue.errors import ConflictError, NotFoundError
from retinue.ids import LOCAL_OWNER, OwnerId, RequestId, new_agent_id
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.records import ToolRecord
from retinue.stores.port import Agent, NewAgent
from retinue.testing.fake_clock import FakeClock
from retinue.testing.kit import Kit
from tests.unit.engine.asking import asks, decide, last_is, pending
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import calls, counted_tool, last_said, until


def script(request: ModelRequest) -> Answer:
    text = last_said(request)
    return asks("@network") if text == "go" else f"heard: {text}"


async def test_a_granted_permission_is_the_result_and_is_held_from_then_on(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    item, _ = await kit.store.item(LOCAL_OWNER, receipt.item.id)
    assert (item.fate, item.reason) == ("waiting", "permission")
    decided = await decide(kit, request, note="be quick")
    assert decided.status == "allowed"
    outcome = await kit.outcome(receipt)
    assert outcome.reply == ("heard: Granted: you now have @network. They said: be quick")
    assert (await kit.fresh(agent)).state.grants == ["@network"]


async def test_a_denied_permission_is_told_and_not_held(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await decide(kit, await pending(kit), "deny")
    assert (await kit.outcome(receipt)).reply == "heard: Denied by the owner: @network."
    assert (await kit.fresh(agent)).state.grants == []


async def test_a_permission_that_is_held_already_asks_nobody(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await decide(kit, await pending(kit))
    await kit.outcome(receipt)
    assert (await kit.ask(agent, "go")).reply == "heard: You already have @network. Continue."
    assert len(await kit.store.requests.list(LOCAL_OWNER)) == 1


async def test_a_request_survives_a_restart_and_a_crash(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    await kit.restart()
    await kit.crash()
    await decide(kit, request)
    assert (await kit.outcome(receipt)).item.fate == "answered"
    kinds = await kit.kinds(agent)
    assert len([k for k in kinds if k.startswith("tool request_permission")]) == 1


async def test_calls_after_a_decided_one_are_not_in_doubt_after_a_restart(start: Start) -> None:
    log: list[str] = []

    def two(request: ModelRequest) -> Answer:
        if last_said(request) == "go":
            return Reply(calls=[*asks("@network").calls, Call(name="work", arguments={})])
        return "done"

    kit = await start(two, collaborates=True, tools=[counted_tool(log, "work")])
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    await kit.crash()
    await decide(kit, request)
    assert (await kit.outcome(receipt)).reply == "done"
    assert log == ["work"]
    assert "tool work ok work done" in await kit.kinds(agent)


async def test_a_person_who_writes_meanwhile_is_answered_and_the_decision_comes_later(
    start: Start,
) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    await kit.post(agent, "go")
    request = await pending(kit)
    assert (await kit.ask(agent, "hello")).reply == "heard: hello"
    record = next(r for r in await kit.records(agent) if isinstance(r, ToolRecord))
    assert record.status == "pending"
    await decide(kit, request)

    async def told() -> bool:
        return any("it was granted" in kind for kind in await kit.kinds(agent))

    await until(told)
    assert (await kit.fresh(agent)).state.grants == ["@network"]


async def test_the_same_is_not_asked_twice_while_it_is_pending(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    await kit.post(agent, "go")
    await pending(kit)
    await kit.ask(agent, "hello")
    outcome = await kit.ask(agent, "go")
    assert "pending, not denied" in outcome.reply
    await pending(kit, count=1)


async def test_a_decision_after_a_reset_changes_nothing_and_says_so(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    await kit.post(agent, "go")
    request = await pending(kit)
    await kit.engine.reset(LOCAL_OWNER, agent.id)
    with pytest.raises(ConflictError, match=r"reset.*nothing was changed"):
        await decide(kit, request)
    assert (await kit.fresh(agent)).state.grants == []
    assert (await kit.kinds(agent))[-1] == "reset"


async def test_a_reset_closes_what_was_put_off_too(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    await kit.post(agent, "go")
    request = await pending(kit)
    await kit.ask(agent, "hello")
    await kit.engine.reset(LOCAL_OWNER, agent.id)
    with pytest.raises(ConflictError):
        await decide(kit, request)


async def test_a_decision_after_the_end_of_the_agent_changes_nothing(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    await kit.post(agent, "go")
    request = await pending(kit)
    await kit.engine.terminate(LOCAL_OWNER, agent.id)
    with pytest.raises(ConflictError, match=r"terminated.*nothing was changed"):
        await decide(kit, request)
    await kit.engine.delete(LOCAL_OWNER, agent.id)
    with pytest.raises(NotFoundError):
        await decide(kit, request)


async def test_stopping_closes_what_the_turn_waits_for(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    assert await kit.engine.interrupt(LOCAL_OWNER, agent.id)
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    with pytest.raises(ConflictError, match="Stopped"):
        await decide(kit, request)


async def test_a_second_decision_says_what_was_decided(start: Start) -> None:
    kit = await start(script, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    await decide(kit, request, "deny")
    with pytest.raises(ConflictError, match="denied"):
        await decide(kit, request)
    await kit.outcome(receipt)
    assert (await kit.fresh(agent)).state.grants == []


async def test_another_owner_can_neither_see_nor_decide_it(start: Start) -> None:
    kit = await start(script, collaborates=True)
    await kit.post(await kit.agent(), "go")
    request = await pending(kit)
    mallory = OwnerId("mallory")
    with pytest.raises(NotFoundError):
        await kit.engine.requests.decide(mallory, request.id, "allow", by="mallory")
    assert await kit.store.requests.list(mallory) == []
    assert (await pending(kit)).status == "pending"


async def test_an_unknown_request_is_not_found(start: Start) -> None:
    kit = await start(script, collaborates=True)
    with pytest.raises(NotFoundError):
        await kit.engine.requests.decide(LOCAL_OWNER, RequestId("q0"), "allow", by="test")


async def test_a_request_that_nobody_decides_expires_and_is_not_called_denied(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(script, collaborates=True, clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    await clock.someone_sleeps(86_000)
    clock.advance(86_400)
    outcome = await kit.outcome(receipt)
    assert "Expired" in outcome.reply
    assert "not denied" in outcome.reply
    with pytest.raises(ConflictError, match="expired"):
        await decide(kit, request)
    assert (await kit.fresh(agent)).state.grants == []


async def test_a_request_expires_also_while_the_process_is_down(
    start: Start, clock: FakeClock
) -> None:
    kit = await start(script, collaborates=True, clock=clock)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await pending(kit)
    await kit.engine.stop()
    await kit.store.close()
    clock.advance(90_000)
    await kit.open()
    assert "Expired" in (await kit.outcome(receipt)).reply
    del agent


async def test_an_old_decision_does_not_settle_a_new_call_of_the_same_id(start: Start) -> None:
    def numbered(request: ModelRequest) -> Answer:
        text = last_said(request)
        tags = {"first": "@network", "second": f"@read:{kit.stage.directory}"}
        if text in tags:
            arguments = {"permission": tags[text], "reason": "why not"}
            return Reply(calls=[Call(name="request_permission", arguments=arguments, id="c0")])
        return f"heard: {text}"

    kit = await start(numbered, collaborates=True)
    agent = await kit.agent()
    await kit.post(agent, "first")
    first = await pending(kit)
    await kit.ask(agent, "hello")
    receipt = await kit.post(agent, "second")
    await pending(kit, count=2)
    await decide(kit, first, "deny")

    async def put_off() -> bool:
        return any("it was denied" in kind for kind in await kit.kinds(agent))

    await until(put_off)
    assert "Denied" not in " ".join(
        r.text for r in await kit.records(agent) if isinstance(r, ToolRecord)
    )
    del receipt


async def child(kit: Kit, parent: Agent) -> Agent:
    now = kit.stage.clock.now()
    agent_id = new_agent_id()
    agent, _ = await kit.store.create(
        NewAgent(
            id=agent_id,
            owner=parent.owner,
            descriptor=SubagentDescriptor(id=agent_id, parent_agent_id=parent.id, name="worker"),
            definition="helper",
            state=AgentState(created_at=now, updated_at=now),
        )
    )
    return agent


async def test_a_background_agent_s_request_is_announced_silently_to_the_last_chat(
    start: Start,
) -> None:
    def background(request: ModelRequest) -> Answer:
        text = last_said(request)
        if "work" in text and "system_message" in text:
            return asks("@network", tool="request_permission_via_parent")
        return f"heard: {text}"

    kit = await start(background, collaborates=True)
    chat = await kit.agent()
    await kit.ask(chat, "hi")
    worker = await child(kit, chat)
    await kit.post_system(worker, "work")
    request = await pending(kit)
    assert (request.agent_id, request.asked.requester) == (worker.id, "worker")
    assert request.asked.is_background

    async def noticed() -> bool:
        return (await kit.kinds(chat))[-1].startswith("system")

    await until(noticed)
    assert worker.id in (await kit.kinds(chat))[-1]
    await decide(kit, request, note="only today")

    async def told() -> list[str]:
        words = f"allowed what the background agent 'worker' ({worker.id}) asked"
        return [kind for kind in await kit.kinds(chat) if words in kind]

    await until(told)
    assert "They said: only today" in (await told())[0]
    await last_is(
        kit,
        worker,
        "assistant heard: Granted: you now have @network. They said: only today",
    )
    assert (await kit.fresh(worker)).state.grants == ["@network"]
    assert (await kit.fresh(chat)).state.grants == []


async def test_no_more_than_so_many_requests_wait_for_one_agent(
    start: Start, tmp_path: Path
) -> None:
    def flood(request: ModelRequest) -> Answer:
        text = last_said(request)
        return asks(f"@read:{tmp_path}/{text}") if text.isdigit() else f"heard: {text}"

    kit = await start(flood, collaborates=True, limits={"pending_requests": 2})
    for number in range(3):
        (tmp_path / str(number)).mkdir()
    agent = await kit.agent()
    for number in range(2):
        await kit.post(agent, str(number))
        await pending(kit, count=number + 1)
        await kit.ask(agent, "go on")
    assert "which is the limit" in (await kit.ask(agent, "2")).reply
    await pending(kit, count=2)


@pytest.mark.parametrize(
    ("tag", "truth"),
    [
        ("@web", "is not one of"),
        ("network", "is not one of"),
        ("@read:notes", "relative path"),
        ("@read:", "relative path"),
        ("@read", "is not one of"),
        ("@write:/tmp/../etc", "contains '..'"),
        ("@read:/tmp/a\x1b[2J", "control or invisible"),
        ("@read:/tmp/\u202egnp", "control or invisible"),
        ("@read:/" + "a" * 5000, "longer than 4096"),
        ("@read:/", "cannot be granted"),
        ("@write:/proc/self", "cannot be granted"),
        ("@read:/no/such/place", "does not exist"),
        ("@tool:missing", "do not have the tool"),
        ("@tool:request_permission", "call it directly"),
    ],
)
async def test_a_malformed_permission_is_refused_with_the_truth_and_nothing_is_created(
    start: Start, tag: str, truth: str
) -> None:
    def malformed(request: ModelRequest) -> Answer:
        text = last_said(request)
        return asks(tag) if text == "go" else f"heard: {text}"

    kit = await start(malformed, collaborates=True)
    assert truth in (await kit.ask(await kit.agent(), "go")).reply
    assert await kit.store.requests.list(LOCAL_OWNER) == []


async def test_a_path_through_a_symbolic_link_or_to_our_own_data_is_refused(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / ".retinue" / "agents").mkdir(parents=True)
    (tmp_path / "link").symlink_to("/etc")

    def tricky(request: ModelRequest) -> Answer:
        text = last_said(request)
        places = ("link/ssl", ".retinue/agents")
        return asks(f"@read:{tmp_path}/{text}") if text in places else f"heard: {text}"

    kit = await start(tricky, collaborates=True)
    agent = await kit.agent()
    assert "symbolic link to /etc/ssl" in (await kit.ask(agent, "link/ssl")).reply
    assert "own data" in (await kit.ask(agent, ".retinue/agents")).reply
    assert await kit.store.requests.list(LOCAL_OWNER) == []


async def test_no_tool_decides_requests(start: Start) -> None:
    kit = await start([calls("request_permission"), "done"], collaborates=True)
    agent = await kit.agent()
    names = {tool.name for tool in await kit.engine.tools_of(LOCAL_OWNER, agent.id)}
    assert not {name for name in names if "allow" in name or "decide" in name or "approve" in name}
