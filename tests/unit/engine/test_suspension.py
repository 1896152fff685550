"""Calls whose results come later, told with tools as plain as can be."""

import json
from datetime import timedelta
from typing import cast

import pytest
from msgspec import structs

from retinue.agents.descriptor import SubagentDescriptor
from retinue.agents.inbox import Answer as ItemAnswer
from retinue.agents.inbox import ItemBody, ReplyTo, Sender
from retinue.agents.state import AgentState
from retinue.engine.calls.tool_call import CallContext
from retinue.errors import ConflictError, ModelError, TerminatedError
from retinue.ids import (
    LOCAL_OWNER,
    AgentId,
    CallId,
    RequestId,
    new_agent_id,
    new_item_id,
)
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.stores.port import Agent, Commit, Effects, NewAgent, NewItem, Post, Receipt
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import Pending, ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, last_said, until


@tool(effect="keyed")
async def delegate(ctx: ToolContext, to: str, text: str, seconds: float = 0) -> Pending:
    """Ask another agent and wait for its answer."""
    call = cast("CallContext", ctx)
    now = call.clock.now()
    item = NewItem(
        id=new_item_id(),
        kind="message",
        body=ItemBody(
            text=text,
            sender=Sender(type="agent", id=ctx.agent_id),
            reply_to=ReplyTo(agent_id=ctx.agent_id, call=ctx.call_id, mode="sync"),
        ),
        admitted_at=now,
    )
    call.emit(Effects(posts=(Post(to=AgentId(to), item=item, owner=ctx.owner),)))
    return Pending(
        reason="child",
        until=now + timedelta(seconds=seconds) if seconds else None,
        at_timeout='{"status":"timeout"}',
        agent_id=AgentId(to),
        item=item.id,
    )


@tool(effect="keyed")
async def permit() -> Pending:
    """Ask a person."""
    return Pending(reason="permission", request=RequestId("r1"))


async def kinds_until(kit: Kit, agent: Agent, last: str) -> list[str]:
    """Wait until the history ends like this."""
    kinds: list[str] = []

    async def came() -> bool:
        kinds[:] = await kit.kinds(agent)
        return kinds[-1] == last

    await until(came)
    return kinds


async def is_waiting(kit: Kit, receipt: Receipt) -> bool:
    item, _ = await kit.store.item(LOCAL_OWNER, receipt.item.id)
    return (item.fate, item.reason) == ("waiting", "permission")


async def is_ended(kit: Kit, agent: Agent) -> bool:
    return (await kit.fresh(agent)).lifecycle == "terminated"


async def child_of(
    kit: Kit, parent: Agent, name: str = "worker", definition: str = "helper"
) -> Agent:
    now = kit.stage.clock.now()
    agent_id = new_agent_id()
    agent, _ = await kit.store.create(
        NewAgent(
            id=agent_id,
            owner=parent.owner,
            descriptor=SubagentDescriptor(id=agent_id, parent_agent_id=parent.id, name=name),
            definition=definition,
            state=AgentState(created_at=now, updated_at=now),
        )
    )
    return agent


def asks(*targets: Agent, seconds: float = 0) -> Answer:
    return Reply(
        calls=[
            Call(name="delegate", arguments={"to": t.id, "text": f"task {i}", "seconds": seconds})
            for i, t in enumerate(targets)
        ]
    )


async def test_a_delegated_answer_becomes_the_result_of_the_call(start: Start) -> None:
    peers: list[Agent] = []

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0])
        return f"heard {json.loads(text)['response']}" if text.startswith("{") else f"did {text}"

    kit = await start(script, tools=[delegate])
    parent, peer = await kit.agent(), await kit.agent()
    peers.append(peer)
    outcome = await kit.ask(parent, "go")
    assert outcome.reply == "heard did task 0"
    assert await kit.kinds(peer) == ["start", "user task 0", "assistant did task 0"]
    last = (await kit.fresh(peer)).state.last_user_activity_at
    assert last is None  # an agent's words are no person's


async def test_delegations_of_one_response_run_at_the_same_time(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    async def both() -> None:
        gate.count += 1
        if gate.count == 2:
            gate.opened.set()
        await gate.opened.wait()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(*peers)
        return "all done" if text.startswith("{") else Reply(text="did it", before=both)

    kit = await start(script, tools=[delegate])
    parent = await kit.agent()
    peers += [await kit.agent(), await kit.agent()]
    assert (await kit.ask(parent, "go")).reply == "all done"


async def test_waiting_for_a_child_survives_a_crash(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0])
        return "heard" if text.startswith("{") else Reply(text="did it", before=gate)

    kit = await start(script, tools=[delegate])
    parent = await kit.agent()
    peers.append(await kit.agent())
    receipt = await kit.post(parent, "go")
    await gate.reached.wait()
    item, _ = await kit.store.item(LOCAL_OWNER, receipt.item.id)
    assert (item.fate, item.reason) == ("waiting", "child")
    await kit.crash()
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "heard"
    assert (await kit.kinds(parent)).count("user go") == 1
    assert len([k for k in await kit.kinds(parent) if k.startswith("tool delegate")]) == 1


async def test_a_timeout_cancels_nothing_and_the_late_answer_comes_once(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0], seconds=0.05)
        if text.startswith("{"):
            return "gave up waiting"
        return "got it late" if "system_message" in text else Reply(text="did it", before=gate)

    kit = await start(script, tools=[delegate])
    parent = await kit.agent()
    peers.append(await kit.agent())
    assert (await kit.ask(parent, "go")).reply == "gave up waiting"
    gate.opened.set()
    kinds = await kinds_until(kit, parent, "assistant got it late")
    assert len([k for k in kinds if k.startswith("system ")]) == 1
    assert "did it" in next(k for k in kinds if k.startswith("system "))


async def test_stopping_the_caller_stops_the_child_that_it_waits_for(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        return asks(peers[0]) if last_said(request) == "go" else Reply(text="did", before=gate)

    kit = await start(script, tools=[delegate])
    parent = await kit.agent()
    peers.append(await kit.agent())
    receipt = await kit.post(parent, "go")
    await gate.reached.wait()
    assert await kit.engine.interrupt(parent.owner, parent.id)
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    await kinds_until(kit, peers[0], "note withdrawn")
    assert not [k for k in await kit.kinds(parent) if k.startswith("system")]


async def test_what_people_write_is_answered_while_nobody_has_decided(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        return calls("permit") if text == "go" else f"re {text}"

    kit = await start(script, tools=[permit])
    agent = await kit.agent()
    first = await kit.post(agent, "go")
    await until(lambda: is_waiting(kit, first))
    outcome = await kit.ask(agent, "what else?")
    assert outcome.reply == "re what else?"
    told = next(k for k in await kit.kinds(agent) if k.startswith("tool permit"))
    assert told.startswith("tool permit pending") and "not denied" in told


async def test_a_failed_child_gives_its_parent_one_notice(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        if "system_message" in last_said(request):
            return "sorry"
        return Reply(error=ModelError("boom", is_retryable=False))

    kit = await start(script, limits={"retry_attempts": 1})
    parent = await kit.agent()
    child = await child_of(kit, parent)
    outcome = await kit.ask(child, "work")
    assert outcome.item.fate == "failed"
    kinds = await kinds_until(kit, parent, "assistant sorry")
    notices = [k for k in kinds if k.startswith("system")]
    assert len(notices) == 1
    assert child.id in notices[0] and "worker" in notices[0] and "boom" in notices[0]


async def test_a_child_that_did_not_write_to_its_parent_has_its_answer_delivered(
    start: Start,
) -> None:
    def script(request: ModelRequest) -> Answer:
        return "noted" if "system_message" in last_said(request) else "the result"

    kit = await start(script)
    parent = await kit.agent()
    child = await child_of(kit, parent)
    await kit.ask(child, "work")
    kinds = await kinds_until(kit, parent, "assistant noted")
    assert [k for k in kinds if k.startswith("system")] == ["system the result"]


async def test_terminating_an_agent_ends_its_children_and_tells_who_waits(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0])
        return f"heard {text}" if text.startswith("{") else Reply(text="did", before=gate)

    kit = await start(script, tools=[delegate])
    caller, target = await kit.agent(), await kit.agent()
    peers.append(target)
    child = await child_of(kit, target)
    receipt = await kit.post(caller, "go")
    await gate.reached.wait()
    await kit.engine.terminate(target.owner, target.id)
    assert '"status":"cancelled"' in (await kit.outcome(receipt)).reply
    with pytest.raises(TerminatedError):
        await kit.post(target, "more")
    await until(lambda: is_ended(kit, child))


async def test_a_delegated_message_and_a_persons_words_do_not_share_an_answer(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0])
        if text.startswith("{"):
            return f"heard {json.loads(text)['response']}"
        return Reply(text=f"re {text}", before=gate if text == "mine" else None)

    kit = await start(script, tools=[delegate])
    caller, target = await kit.agent(), await kit.agent()
    peers.append(target)
    mine = await kit.post(target, "mine")
    await gate.reached.wait()
    asked = await kit.post(caller, "go")
    await until(lambda: has_queued(kit, target))
    more = await kit.post(target, "mine too")
    gate.opened.set()
    assert (await kit.outcome(mine)).reply == "re mine"
    assert (await kit.outcome(asked)).reply == "heard re task 0"
    assert (await kit.outcome(more)).reply == "re mine too"


async def test_a_person_is_answered_while_a_delegated_turn_waits_for_a_decision(
    start: Start,
) -> None:
    peers: list[Agent] = []

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0])
        return calls("permit") if text == "task 0" else f"re {text}"

    kit = await start(script, tools=[delegate, permit])
    caller, target = await kit.agent(), await kit.agent()
    peers.append(target)
    asked = await kit.post(caller, "go")
    await until(lambda: waits_for_decision(kit, target))
    assert (await kit.ask(target, "and me?")).reply == "re and me?"
    assert "not denied" in (await kit.outcome(asked)).reply


async def test_a_notice_does_not_become_part_of_an_answer_to_another_agent(start: Start) -> None:
    peers: list[Agent] = []
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return asks(peers[0])
        if text.startswith("{"):
            return f"heard {json.loads(text)['response']}"
        return Reply(text=f"re {text}", before=gate if text == "task 0" else None)

    kit = await start(script, tools=[delegate])
    caller, target = await kit.agent(), await kit.agent()
    peers.append(target)
    asked = await kit.post(caller, "go")
    await gate.reached.wait()
    await kit.post_system(target, "news for your chat")
    gate.opened.set()
    assert (await kit.outcome(asked)).reply == "heard re task 0"
    await kinds_until(
        kit,
        target,
        'assistant re <system_message origin="peer">news for your chat</system_message>',
    )


async def test_an_answer_that_crosses_its_withdrawal_wakes_nobody(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        return "woken" if "system_message" in last_said(request) else "hello"

    kit = await start(script)
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    state = (await kit.fresh(agent)).state
    asked = new_item_id()
    snapshot = await kit.store.claim(agent.id)
    await kit.store.commit(
        Commit(
            agent_id=agent.id,
            epoch=snapshot.epoch,
            at=kit.stage.clock.now(),
            state=structs.replace(state, unwanted=[asked]),
        )
    )
    await kit.restart()
    late = NewItem(
        id=new_item_id(),
        kind="answer",
        body=ItemBody(
            text="too late",
            sender=Sender(type="agent", id="peer"),
            answer=ItemAnswer(call=CallId("c1"), text="too late"),
            about=asked,
        ),
        admitted_at=kit.stage.clock.now(),
    )
    receipt = await kit.store.admit(Post(to=agent.id, item=late, owner=agent.owner))
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    assert (await kit.kinds(agent))[-1] == "assistant hello"


async def test_only_the_last_64_withdrawn_items_are_remembered(start: Start) -> None:
    """The late answer to a withdrawn item is discarded, and the state stays small."""
    gate = Gate()
    targets: list[Agent] = []

    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        return asks(targets[0]) if text == "go" else Reply(text="never", before=gate)

    kit = await start(script, tools=[delegate])
    agent = await kit.agent()
    targets.append(await child_of(kit, agent))
    older = [new_item_id() for _ in range(64)]
    snapshot = await kit.store.claim(agent.id)
    await kit.store.commit(
        Commit(
            agent_id=agent.id,
            epoch=snapshot.epoch,
            at=kit.stage.clock.now(),
            state=structs.replace(snapshot.agent.state, unwanted=older),
        )
    )
    await kit.restart()
    await kit.post(agent, "go")
    await gate.reached.wait()
    (asked,) = await kit.store.open_items(LOCAL_OWNER, targets[0].id)
    await kit.engine.interrupt(LOCAL_OWNER, agent.id)
    assert (await kit.fresh(agent)).state.unwanted == [*older[1:], asked.id]
    crossed = NewItem(
        id=new_item_id(),
        kind="answer",
        body=ItemBody(
            text="too late",
            sender=Sender(type="agent", id=targets[0].id),
            answer=ItemAnswer(call=CallId("c1"), text="too late"),
            about=asked.id,
        ),
        admitted_at=kit.stage.clock.now(),
    )
    receipt = await kit.store.admit(Post(to=agent.id, item=crossed, owner=agent.owner))
    assert (await kit.outcome(receipt)).item.fate == "cancelled"
    assert (await kit.kinds(agent))[-1] == "note stopped"


async def test_a_child_that_said_nothing_or_only_whispered_is_still_reported(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "work":
            return Reply(
                calls=[Call(name="send_agent_message", arguments={"text": "hm", "silent": True})]
            )
        return "noted" if "system_message" in text else "the result"

    kit = await start(script, collaborates=True)
    parent = await kit.agent()
    child = await child_of(kit, parent)
    await kit.ask(child, "work")
    kinds = await kinds_until(kit, parent, "assistant noted")
    assert [k for k in kinds if k.startswith("system")] == ["system hm", "system the result"]


async def test_a_failure_whose_reason_is_a_single_word_is_reported(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        if "system_message" in last_said(request):
            return "sorry"
        return Reply(error=ModelError("withdrawn", is_retryable=False))

    kit = await start(script, limits={"retry_attempts": 1})
    parent = await kit.agent()
    await kit.ask(await child_of(kit, parent), "work")
    await kinds_until(kit, parent, "assistant sorry")


async def test_an_agent_that_others_wait_for_is_ended_before_it_is_deleted(start: Start) -> None:
    kit = await start(["unused"])
    agent = await kit.agent()
    body = ItemBody(
        text="task",
        sender=Sender(type="agent", id="peer"),
        reply_to=ReplyTo(agent_id=AgentId("peer"), call=CallId("c"), mode="async"),
    )
    item = NewItem(id=new_item_id(), kind="message", body=body, admitted_at=kit.stage.clock.now())
    await kit.engine.stop()
    await kit.store.admit(Post(to=agent.id, item=item, owner=agent.owner))
    with pytest.raises(ConflictError):
        await kit.store.delete(agent.owner, agent.id)


async def waits_for_decision(kit: Kit, agent: Agent) -> bool:
    turn = (await kit.fresh(agent)).state.turn
    return turn is not None and any(s.holds for s in turn.suspended)


async def has_queued(kit: Kit, agent: Agent) -> bool:
    return (await kit.fresh(agent)).queued > 0
