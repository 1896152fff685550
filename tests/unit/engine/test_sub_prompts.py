"""Prompts that prompts call like tools."""

from typing import Any

from retinue.messages import Usage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.testing.kit import Kit
from retinue.tools.function import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool, gated
from tests.unit.engine.test_sides import shown

HELPER = 'name = "helper"\ndescription = "Helps."\n{more}\n[sideA]\nprompt = "p"\n'
CALLER = "---\ntools: [{name: expert, initUserMessageProperty: question%s}]\n---\nYou ask."
EXPERT = """---
toolDescription: Knows.
tools: [%s]
requiredSchema: {type: object, properties: {question: {type: string}}, required: [question]}
---
You know about {{question}}."""


async def begin(
    start: Start,
    script: Any,
    tools: Any = (),
    *,
    listed: str = "",
    entry: str = "",
    more: str = "",
) -> Kit:
    return await start(
        script,
        tools=tools,
        definitions={"helper.toml": HELPER.format(more=more)},
        prompts={"p.md": CALLER % entry, "expert.md": EXPERT % listed},
    )


def asking(then: Answer) -> Any:
    """A caller that asks the expert, and an expert that answers `then`."""

    def script(request: ModelRequest) -> Answer:
        if "You know" in request.system:
            return then
        return calls("expert", question="tides") if len(request.messages) == 1 else "told"

    return script


async def test_a_sub_prompt_is_one_step_out_of_the_callers_context(start: Start) -> None:
    usage = Usage(input=5, output=2)
    model = ScriptedModel(asking(Reply(text="Twice a day.", usage=usage)), name="main")
    kit = await begin(start, model)
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "told"
    assert model.requests[0].tools[0].description == "Knows."
    assert "You know about tides." in model.requests[1].system
    assert shown(model.requests[1]) == ["user: tides"]
    assert await kit.kinds(agent) == [
        "start",
        "user hi",
        "assistant expert()",
        "tool expert ok Twice a day.",
        "assistant told",
    ]
    assert (await kit.fresh(agent)).state.stats["main"]["main"].output == 2


async def test_its_calls_run_under_keys_of_their_own_and_are_told(start: Start) -> None:
    keys: list[str] = []

    @tool(effect="keyed")
    async def look(ctx: ToolContext) -> str:
        """Look."""
        keys.append(ctx.idempotency_key)
        return "high water"

    @tool
    async def fails() -> str:
        """Fail."""
        raise ValueError("broken")

    step = Reply(text="Looking.", calls=[Call(name="look"), Call(name="look"), Call(name="fails")])
    kit = await begin(start, asking(step), [look, fails], listed="look, fails")
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    result = (await kit.kinds(agent))[3]
    assert result.startswith(
        "tool expert ok Looking.\n\nTool calls:\n- look: high water\n- look: high water\n\n"
        "Failed calls:\n- fails: fails failed with ValueError: broken"
    )
    assert len(set(keys)) == 2


async def test_parts_of_the_result_can_be_left_out(start: Start) -> None:
    step = Reply(text="Looking.", calls=[Call(name="look"), Call(name="nothing")])
    entry = ", includeTextResponse: false, includeErrors: false"
    kit = await begin(start, asking(step), [counted_tool([], "look")], listed="look", entry=entry)
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert (await kit.kinds(agent))[3] == "tool expert ok Tool calls:\n- look: look done"


async def test_the_scope_and_the_approvals_of_the_caller_hold_inside(start: Start) -> None:
    log: list[str] = []
    step = Reply(calls=[Call(name="denied"), Call(name="asked")])
    more = 'toolDenylist = ["denied"]\ntoolApprovals = ["asked"]'
    tools = [counted_tool(log, "denied"), counted_tool(log, "asked")]
    kit = await begin(start, asking(step), tools, listed="denied, asked", more=more)
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert log == []
    assert (await kit.kinds(agent))[3].startswith("tool expert error Failed calls:")


async def test_a_sub_prompt_with_tools_is_not_run_twice_after_a_crash(start: Start) -> None:
    gate = Gate()
    kit = await begin(start, asking(calls("gated")), [gated(gate)], listed="gated")
    agent = await kit.agent()
    receipt = await kit.post(agent, "hi")
    await gate.reached.wait()
    await kit.crash()
    assert (await kit.outcome(receipt)).reply == "told"
    assert gate.count == 1
    assert (await kit.kinds(agent))[3].startswith("tool expert unknown")
