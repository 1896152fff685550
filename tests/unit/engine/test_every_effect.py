"""No effect is lost between a tool call and the store: one call asks for one of each."""

from datetime import timedelta
from typing import Any, cast

import pytest
from msgspec import structs

from retinue.agents.children import ChildEntry
from retinue.agents.deferral import Deferral
from retinue.agents.descriptor import PermanentDescriptor, SystemDescriptor
from retinue.agents.inbox import ItemBody, Sender
from retinue.agents.request import Asked, Request
from retinue.agents.state import AgentState, Handoff, TokenStats
from retinue.definitions.subagent_config import SubagentConfig
from retinue.engine.agent.state_effects import with_effects
from retinue.engine.calls.tool_call import CallContext
from retinue.ids import LOCAL_OWNER, AgentId, CallId, RequestId, new_agent_id, new_item_id
from retinue.records import Usage
from retinue.stores.port import (
    Agent,
    AuditLine,
    Commit,
    Committed,
    Departure,
    Effects,
    NewAgent,
    NewDelivery,
    NewItem,
    Post,
    Redescription,
)
from retinue.stores.request_port import Voiding
from retinue.tools.function_tool import tool
from retinue.tools.port import Pending, ToolContext, ToolOutput
from tests.unit.engine.conftest import Start
from tests.unit.engine.live_agents import NOW, turn_of
from tests.unit.engine.support import tool_then_answer, until
from tests.unit.engine.test_suspension import child_of

AFTER_ERROR = {"usages", "audit", "deferred", "requests"}
"""What holds although the call failed."""


def one_of_each(call: CallContext, other: Agent) -> Effects:
    now = call.clock.now()
    later = now + timedelta(days=1)
    state = AgentState(created_at=now, updated_at=now)

    def post(text: str, *, silent: bool = False) -> Post:
        body = ItemBody(text=text, sender=Sender(type="agent", id=call.agent_id))
        new = NewItem(id=new_item_id(), kind="system", body=body, admitted_at=now, silent=silent)
        return Post(to=other.id, item=new, owner=LOCAL_OWNER)

    named = PermanentDescriptor(id=other.id, name="Ida", description="", system_prompt="")
    asked = Request(
        id=RequestId("r1"),
        owner=LOCAL_OWNER,
        agent_id=call.agent_id,
        call=call.call_id,
        kind="question",
        asked=Asked(title="?"),
        digest="d",
        created_at=now,
        expires_at=later,
    )
    waiting = Deferral(
        id=RequestId("r2"),
        call=call.call_id,
        child=AgentId("child"),
        config=SubagentConfig(name="pair"),
        side="side_a",
        message="",
        required=["KEY"],
        asked_at=now,
        expires_at=later,
    )
    made = NewAgent(
        id=new_agent_id(),
        owner=LOCAL_OWNER,
        descriptor=SystemDescriptor(tag="made"),
        definition="helper",
        state=state,
    )
    child = ChildEntry(reference=AgentId("child"), name="pair", created_at=now, title="t")
    return Effects(
        posts=(post("message"),),
        notices=(post("notice", silent=True),),
        creates=(made,),
        redescribed=(Redescription(agent_id=other.id, owner=LOCAL_OWNER, descriptor=named),),
        requests=(asked,),
        voids=(Voiding(reason="no longer needed", requests=[]),),
        deliveries=(NewDelivery(key="d1", connector="chat", channel="1", text="hi"),),
        audit=(AuditLine(action="looked", detail={}),),
        usages=(("other:x", Usage(input=5, output=2)),),
        children=(child,),
        deferred=(waiting,),
        moved=("KEY",),
        spent=("digest",),
        handoff=(Handoff(to="helper"),),
        departure=(Departure(to=other.id, name="Ida"),),
    )


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ("ok", set(Effects._fields)),
        ("pending", set(Effects._fields)),
        ("error", AFTER_ERROR),
    ],
)
async def test_a_call_s_effects_are_in_the_commit_of_its_result(
    start: Start, ends: str, expected: set[str]
) -> None:
    emitted: list[Effects] = []
    others: list[Agent] = []

    @tool(effect="keyed")
    async def work(ctx: ToolContext) -> ToolOutput | Pending:
        """Ask for one of each effect."""
        call = cast("CallContext", ctx)
        emitted.append(one_of_each(call, others[0]))
        call.emit(emitted[0])
        if ends == "pending":
            return Pending(reason="permission", request=RequestId("r1"))
        return ToolOutput(text="", is_error=ends == "error")

    kit = await start(tool_then_answer("work"), tools=[work])
    agent = await kit.agent()
    others.append(await child_of(kit, agent))
    committed: list[Commit] = []
    write = kit.store.commit

    async def commit(commit: Commit) -> Committed:
        if emitted and commit.agent_id == agent.id:
            committed.append(commit)
        return await write(commit)

    kit.store.commit = commit
    await kit.post(agent, "go")

    async def is_committed() -> bool:
        return bool(committed)

    await until(is_committed)
    (effects,) = emitted
    arrived = committed[0].effects
    for name in Effects._fields:
        assert getattr(effects, name), f"no example of {name}"
        has_arrived = set(map(id, getattr(effects, name))) <= set(map(id, getattr(arrived, name)))
        assert has_arrived == (name in expected), name


def entry(reference: str) -> ChildEntry:
    return ChildEntry(reference=AgentId(reference), name="pair", created_at=NOW, title="t")


def deferral(name: str, *, expires_in: float) -> Deferral:
    return Deferral(
        id=RequestId(name),
        call=CallId("c1"),
        child=AgentId("child"),
        config=SubagentConfig(name="pair"),
        side="side_a",
        message="",
        required=["KEY"],
        asked_at=NOW,
        expires_at=NOW + timedelta(seconds=expires_in),
    )


def to(agent: str | NewAgent, *, silent: bool = False) -> Post:
    body = ItemBody(text="hi", sender=Sender(type="agent"))
    new = NewItem(id=new_item_id(), kind="system", body=body, admitted_at=NOW, silent=silent)
    return Post(to=AgentId(agent) if isinstance(agent, str) else agent, item=new, owner=LOCAL_OWNER)


EXPIRED, OPEN = deferral("expired", expires_in=0), deferral("open", expires_in=1)
STATE = AgentState(
    created_at=NOW,
    updated_at=NOW,
    env={"KEY": "a", "OTHER": "b"},
    approvals=["one", "two"],
    children=[entry("first")],
    deferred=[EXPIRED, OPEN],
    stats={"main": {"x": TokenStats(output=1)}},
    turn=turn_of(messaged=[AgentId("before")]),
)
MADE = NewAgent(
    id=AgentId("made"),
    owner=LOCAL_OWNER,
    descriptor=SystemDescriptor(tag="made"),
    definition="helper",
    state=STATE,
)


@pytest.mark.parametrize(
    ("effects", "changes"),
    [
        (Effects(), {}),
        (
            Effects(usages=(("main:x", Usage(output=2)), ("main:x", Usage(output=3)))),
            {"stats": {"main": {"x": TokenStats(calls=2, output=6)}}},
        ),
        (
            Effects(children=(entry("second"),)),
            {"children": [entry("first"), entry("second")]},
        ),
        (
            Effects(deferred=(deferral("new", expires_in=9),)),
            {"deferred": [OPEN, deferral("new", expires_in=9)]},
        ),
        (Effects(moved=("KEY", "UNKNOWN")), {"env": {"OTHER": "b"}}),
        (Effects(spent=("two", "unknown")), {"approvals": ["one"]}),
        (
            Effects(handoff=(Handoff(to="a"), Handoff(to="b"))),
            {"turn": turn_of(messaged=[AgentId("before")], handoff=Handoff(to="b"))},
        ),
        (
            Effects(posts=(to("peer"), to("before"), to(MADE), to("unheard", silent=True))),
            {"turn": turn_of(messaged=[AgentId(name) for name in ("before", "peer", "made")])},
        ),
        (Effects(notices=(to("peer"),), audit=(AuditLine(action="looked", detail={}),)), {}),
    ],
    ids=lambda value: (
        "+".join(n for n, given in value._asdict().items() if given)
        if isinstance(value, Effects)
        else ""
    ),
)
def test_an_effect_on_the_agent_itself_changes_its_state(
    effects: Effects, changes: dict[str, Any]
) -> None:
    assert with_effects(STATE, effects, NOW) == structs.replace(STATE, **changes)


def test_an_agent_at_rest_has_no_turn_that_counts_messages() -> None:
    state = structs.replace(STATE, turn=None)
    effects = Effects(posts=(to("peer"),), handoff=(Handoff(to="a"),))
    assert with_effects(state, effects, NOW) == state
