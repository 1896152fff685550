"""Prompts that prompts call like tools."""

from typing import Any

from retinue.engine.subagents.sub_prompts import DEEPEST
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import SystemRecord, Usage
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.subagents.support import (
    PAIR,
    REVIEWER,
    WORKER,
    Play,
    pair_tools,
    record_until,
    says,
    tool_result,
)
from tests.unit.engine.support import Gate, calls, counted_tool, gated, said
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


CHIEF = 'name = "chief"\ndescription = "Leads."\nexposeAsTool = true\nsystemPrompt = "You lead."\n'


async def nest(start: Start, script: Any, listed: str, **more: Any) -> Kit:
    """A caller, an expert that lists these entries, and everybody whom those may name."""
    return await start(
        script,
        tools=[*pair_tools(), *more.pop("tools", ())],
        definitions={
            "helper.toml": HELPER.format(more=more.pop("more", "")),
            "chief.toml": CHIEF,
            "pair.toml": PAIR,
            **more.pop("definitions", {}),
        },
        prompts={
            "p.md": CALLER % "",
            "expert.md": EXPERT % listed,
            "deep.md": "---\ntools: [deep]\n---\nYou are deep.",
            "worker.md": WORKER.format(schema=""),
            "reviewer.md": REVIEWER,
        },
        collaborates=True,
    )


async def test_a_sub_prompt_can_hand_the_conversation_over(start: Start) -> None:
    inner = asking(calls("chief"))

    def script(request: ModelRequest) -> Answer:
        return "I lead now." if "You lead" in request.system else inner(request)

    kit = await nest(start, script, "chief")
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "I lead now."
    assert (await kit.fresh(agent)).definition == "chief"


async def test_a_subagent_that_a_sub_prompt_begins_reports_to_the_agent(start: Start) -> None:
    """The step does not wait, even for a blocking one: the result is a message."""
    play = Play(says("unused"))
    inner = asking(calls("pair", message="draw"))

    def script(request: ModelRequest) -> Answer:
        return play(request) if "You are the" in request.system else inner(request)

    kit = await nest(start, script, "pair")
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "told"
    result = await tool_result(kit, agent)
    assert "Its result will arrive as a message." in result.text
    records = await record_until(kit, agent, lambda record: isinstance(record, SystemRecord))
    assert "has returned the following result" in str(records)


async def test_sub_prompts_call_each_other_only_so_deep(start: Start) -> None:
    asked: list[str] = []

    def script(request: ModelRequest) -> Answer:
        asked.append(request.system)
        if "You are deep" in request.system:
            return calls("deep")
        return asking(calls("deep"))(request)

    kit = await nest(start, script, "deep")
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "told"
    assert sum("You are deep" in system for system in asked) == DEEPEST - 1
    assert f"{DEEPEST} deep" in (await tool_result(kit, agent)).text


async def test_hooks_see_what_happens_within_a_sub_prompt(start: Start) -> None:
    code = """
from retinue import define_hook

@define_hook(hook="after_system_message")
def softly(ctx, text):
    return text + " Softly."

@define_hook(hook="after_tool_call_success")
def hushed(ctx, call, result):
    return None if call.name == "dig" else result
"""
    model = ScriptedModel(
        asking(Reply(text="Look.", calls=[Call(name="dig"), Call(name="rest")])), name="main"
    )
    kit = await nest(
        start,
        model,
        "dig, rest",
        more='hooks = ["softly", "hushed"]',
        tools=[counted_tool([], "dig"), counted_tool([], "rest")],
        definitions={"hooks.py": code},
    )
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    assert next(r for r in model.requests if "You know" in r.system).system.endswith("Softly.")
    text = (await tool_result(kit, agent)).text
    assert "rest:" in text
    assert "dig:" not in text


async def test_words_and_results_within_a_sub_prompt_pass_the_hooks_for_messages(
    start: Start,
) -> None:
    code = """
from msgspec import structs
from retinue import define_hook
from retinue.records import AssistantRecord, SystemRecord, TextPart

@define_hook(hook="before_create_message")
def hidden(ctx, message):
    if not isinstance(message, AssistantRecord):
        return message.text.replace("tides", "****")

@define_hook(hook="filter_messages")
def briefed(ctx, records):
    return [SystemRecord(text="Be brief.", origin="hook"), *records]

@define_hook(hook="before_update_message")
def signed(ctx, message):
    return structs.replace(message, parts=[*message.parts, TextPart(text=" Yours, E.")])

@define_hook(hook="before_store_tool_result")
def stamped(ctx, result):
    return result.text + " (stored)"

@define_hook(hook="after_create_message")
def unheard(ctx, message):
    raise AssertionError("nothing of it is on disk")
"""
    expert = EXPERT.replace("---\n", "---\nhooks: [hidden, briefed, signed, stamped, unheard]\n", 1)
    model = ScriptedModel(asking(Reply(text="Look.", calls=[Call(name="dig")])), name="main")
    kit = await start(
        model,
        tools=[counted_tool([], "dig")],
        definitions={"helper.toml": HELPER.format(more=""), "hooks.py": code},
        prompts={"p.md": CALLER % "", "expert.md": expert % "dig"},
    )
    agent = await kit.agent()
    await kit.ask(agent, "hi")
    request = next(r for r in model.requests if "You know" in r.system)
    told = "\n".join(said(request))
    assert "Be brief." in told
    assert "****" in told
    assert "tides" not in told
    text = (await tool_result(kit, agent)).text
    assert "Look. Yours, E." in text
    assert text.endswith("(stored)")


async def test_a_block_within_a_sub_prompt_fails_the_call_and_no_more(start: Start) -> None:
    code = """
from retinue import HookBlocked, define_hook

@define_hook(hook="prefilter_llm_history")
def closed(ctx, messages):
    if len(messages) == 1 and "tides" in str(messages):
        raise HookBlocked("The expert is out.")
"""
    kit = await nest(
        start, asking("unused"), "", more='hooks = ["closed"]', definitions={"hooks.py": code}
    )
    agent = await kit.agent()
    assert (await kit.ask(agent, "hi")).reply == "told"
    result = await tool_result(kit, agent)
    assert (result.status, result.text) == ("refused", "The expert is out.")
