"""Approvals: a person decides about one call with exactly its arguments."""

import json
from typing import Any

import pytest

from retinue.errors import ConflictError
from retinue.ids import LOCAL_OWNER
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply
from retinue.testing.kit import HELPER
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool
from tests.unit.engine.asking import asks, decide, last_is, pending
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import last_said, until

GUARDED = {"helper.toml": HELPER + 'toolApprovals = ["pay*"]\n'}


def payer(log: list[str]) -> Tool:
    async def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        log.append(f"{to}:{amount}")
        return f"paid {amount} to {to}"

    return tool(name="pay", effect="once")(pay).as_tool()


def pays(**arguments: Any) -> Reply:
    return Reply(calls=[Call(name="pay", arguments=arguments)])


def script(request: ModelRequest) -> Answer:
    text = last_said(request)
    if text.startswith("pay "):
        to, amount = text.removeprefix("pay ").split()
        return pays(to=to, amount=int(amount))
    return f"heard: {text}"


async def test_an_approved_call_runs_once_with_exactly_its_arguments(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    receipt = await kit.post(agent, "pay ada 5")
    request = await pending(kit)
    assert (request.kind, request.asked.tool) == ("approval", "pay")
    assert request.asked.arguments == {"to": "ada", "amount": 5}
    assert log == []
    await decide(kit, request)
    assert (await kit.outcome(receipt)).reply == "heard: paid 5 to ada"
    assert log == ["ada:5"]
    assert (await kit.fresh(agent)).state.approvals == []


async def test_a_denied_call_does_not_run_and_the_model_is_told_why(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    receipt = await kit.post(await kit.agent(), "pay ada 5")
    await decide(kit, await pending(kit), "deny", "too much")
    reply = (await kit.outcome(receipt)).reply
    assert reply == "heard: Denied by the owner: pay was not run. They said: too much"
    assert log == []


async def test_each_call_is_asked_about_anew(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    for count in range(2):
        receipt = await kit.post(agent, "pay ada 5")
        await decide(kit, await pending(kit))
        await kit.outcome(receipt)
        assert len(log) == count + 1


async def test_an_approval_survives_a_crash_between_the_decision_and_the_run(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    receipt = await kit.post(agent, "pay ada 5")
    request = await pending(kit)
    await kit.crash()
    await decide(kit, request)
    assert (await kit.outcome(receipt)).reply == "heard: paid 5 to ada"
    assert log == ["ada:5"]


async def test_a_late_approval_lets_exactly_this_call_run_once(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    await kit.post(agent, "pay ada 5")
    request = await pending(kit)
    await kit.ask(agent, "hello")
    await decide(kit, request)

    async def approved() -> bool:
        return bool((await kit.fresh(agent)).state.approvals)

    await until(approved)
    assert log == []
    await kit.restart()
    other = await kit.post(agent, "pay bob 5")
    await decide(kit, await pending(kit), "deny")
    await kit.outcome(other)
    assert (await kit.ask(agent, "pay ada 5")).reply == "heard: paid 5 to ada"
    assert log == ["ada:5"]
    await kit.post(agent, "pay ada 5")
    await pending(kit)
    assert log == ["ada:5"]


async def test_a_reset_takes_late_approvals_back(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    await kit.post(agent, "pay ada 5")
    request = await pending(kit)
    await kit.ask(agent, "hello")
    await decide(kit, request)

    async def approved() -> bool:
        return bool((await kit.fresh(agent)).state.approvals)

    await until(approved)
    await kit.engine.reset(LOCAL_OWNER, agent.id)
    await kit.post(agent, "pay ada 5")
    await pending(kit)
    assert log == []


async def test_calls_after_one_that_waits_wait_too_and_then_run_in_order(start: Start) -> None:
    log: list[str] = []

    def two(request: ModelRequest) -> Answer:
        if last_said(request) == "go":
            names = ("ada", "bob")
            made = [Call(name="pay", arguments={"to": name, "amount": 1}) for name in names]
            return Reply(calls=made)
        return "done"

    kit = await start(two, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    receipt = await kit.post(await kit.agent(), "go")
    await decide(kit, await pending(kit), "deny")
    second = await pending(kit)
    assert second.asked.arguments["to"] == "bob"
    await decide(kit, second)
    assert (await kit.outcome(receipt)).reply == "done"
    assert log == ["bob:1"]


async def test_arguments_that_cannot_be_used_bother_nobody(start: Start) -> None:
    log: list[str] = []
    kit = await start(
        [pays(to="ada", amount="lots"), "done"],
        collaborates=True,
        tools=[payer(log)],
        definitions=GUARDED,
    )
    assert (await kit.ask(await kit.agent(), "go")).reply == "done"
    assert await kit.store.requests.list(LOCAL_OWNER) == []


async def test_a_standing_approval_of_a_tool_asks_no_more(start: Start) -> None:
    log: list[str] = []

    def standing(request: ModelRequest) -> Answer:
        return asks("@tool:pay") if last_said(request) == "go" else script(request)

    kit = await start(standing, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    await decide(kit, await pending(kit))
    await kit.outcome(receipt)
    assert (await kit.ask(agent, "pay ada 5")).reply == "heard: paid 5 to ada"


async def test_a_stopped_call_does_not_run_when_it_is_approved_afterwards(start: Start) -> None:
    log: list[str] = []
    kit = await start(script, collaborates=True, tools=[payer(log)], definitions=GUARDED)
    agent = await kit.agent()
    await kit.post(agent, "pay ada 5")
    request = await pending(kit)
    await kit.engine.interrupt(LOCAL_OWNER, agent.id)
    with pytest.raises(ConflictError):
        await decide(kit, request)
    assert (await kit.ask(agent, "hello")).reply == "heard: hello"
    assert log == []


async def test_the_values_of_a_form_are_the_result(start: Start) -> None:
    schema = {
        "properties": {"size": {"type": "string", "enum": ["S", "M"]}, "n": {"type": "integer"}},
        "required": ["size"],
    }

    def form(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            arguments = {"schema": schema, "title": "Your shirt"}
            return Reply(calls=[Call(name="ask_user", arguments=arguments)])
        return f"heard: {text}"

    kit = await start(form, collaborates=True)
    agent = await kit.agent()
    receipt = await kit.post(agent, "go")
    request = await pending(kit)
    assert (request.kind, request.asked.title) == ("question", "Your shirt")
    wrong = {"size": "L", "n": 1.5, "x": 1}
    with pytest.raises(Exception, match=r"x: unknown field; size: .*; n: .*"):
        await kit.engine.requests.decide(LOCAL_OWNER, request.id, "allow", by="test", values=wrong)
    assert (await pending(kit)).id == request.id
    await kit.engine.requests.decide(
        LOCAL_OWNER, request.id, "allow", by="test", values={"size": "M", "n": 2}
    )
    reply = (await kit.outcome(receipt)).reply
    assert json.loads(reply.removeprefix("heard: ")) == {"size": "M", "n": 2}


async def test_a_form_that_cannot_be_shown_is_refused_and_nothing_is_asked(start: Start) -> None:
    schema = {"properties": {"a": {"type": "object"}}}

    def form(request: ModelRequest) -> Answer:
        text = last_said(request)
        if text == "go":
            return Reply(calls=[Call(name="ask_user", arguments={"schema": schema})])
        return f"heard: {text}"

    kit = await start(form, collaborates=True)
    agent = await kit.agent()
    assert "schema.properties.a.type" in (await kit.ask(agent, "go")).reply
    assert await kit.store.requests.list(LOCAL_OWNER) == []
    await last_is(kit, agent, (await kit.kinds(agent))[-1])
