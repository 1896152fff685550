"""Conversations that another definition goes on with."""

from pathlib import Path

from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.records import HandoffRecord
from retinue.testing.kit import Kit
from retinue.tools.function_tool import tool
from retinue.tools.port import Tool
from tests.unit.engine.asking import pending
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import Gate, calls, counted_tool, gated
from tests.unit.engine.test_sides import shown

DESK = """
name = "desk"
displayName = "Desk"
description = "Receives people."
[sideA]
prompt = "desk"
{more}
"""
BILLING = """
name = "billing"
displayName = "Billing"
description = "Answers about bills."
exposeAsTool = true
toolDescription = "Hand over questions about bills."
toolApprovals = ["refund"]
[sideA]
prompt = "billing"
"""
SHIPPING = """
name = "shipping"
displayName = "Shipping"
description = "Answers about parcels."
exposeAsTool = true
systemPrompt = "You are shipping."
toolAllowlist = []
"""
DESK_PROMPT = """---
tools:
  - note
  - gated
  - {name: billing, initUserMessageProperty: question, initAttachmentsProperty: files}
  - shipping
---
You are the desk."""
BILLING_PROMPT = """---
tools: [refund]
requiredSchema:
  type: object
  properties: {question: {type: string}, files: {type: array, items: {type: string}}}
  required: [question]
---
You are billing. Asked: {{question}}"""


def handing(**arguments: object) -> Reply:
    return calls("billing", **arguments)


def is_at(request: ModelRequest, who: str) -> bool:
    return f"You are {who}" in request.system


async def begin(
    start: Start, script: object, tools: list[Tool] | None = None, more: str = ""
) -> Kit:
    return await start(
        script,  # pyright: ignore[reportArgumentType]
        tools=[counted_tool([], "note"), counted_tool([], "refund"), *(tools or [])],
        definitions={
            "desk.toml": DESK.format(more=more),
            "billing.toml": BILLING,
            "shipping.toml": SHIPPING,
        },
        prompts={"desk.md": DESK_PROMPT, "billing.md": BILLING_PROMPT},
    )


async def test_a_handoff_keeps_the_history_and_the_new_definition_goes_on_at_once(
    start: Start,
) -> None:
    model = ScriptedModel(
        ["Hello.", handing(question="Why 12 euros?"), "Because of the post."], name="main"
    )
    kit = await begin(start, model)
    agent = await kit.agent("desk")
    await kit.ask(agent, "hi")
    outcome = await kit.ask(agent, "my bill is odd")
    assert (outcome.item.fate, outcome.reply) == ("answered", "Because of the post.")
    assert await kit.kinds(agent) == [
        "start",
        "user hi",
        "assistant Hello.",
        "user my bill is odd",
        "assistant billing()",
        "tool billing ok Billing goes on with the conversation.",
        "handoff desk billing Why 12 euros?",
        "assistant Because of the post.",
    ]
    last = model.requests[-1]
    assert shown(last)[:-1] == [
        "user: hi",
        "assistant: Hello.",
        "user: my bill is odd",
        "assistant: billing()",
        "tool: Billing goes on with the conversation.",
        "user: Why 12 euros?",
    ]
    assert "You are billing. Asked: Why 12 euros?" in last.system
    assert {spec.name for spec in last.tools} == {"refund"}
    assert (await kit.fresh(agent)).definition == "billing"


async def test_the_model_is_offered_the_schema_and_description_of_whom_it_may_hand_over_to(
    start: Start,
) -> None:
    model = ScriptedModel(["Hello."], name="main")
    kit = await begin(start, model)
    agent = await kit.agent("desk")
    await kit.ask(agent, "hi")
    offered = {spec.name: spec for spec in model.requests[0].tools}
    assert offered["billing"].description == "Hand over questions about bills."
    assert offered["billing"].parameters["required"] == ["question"]
    assert offered["shipping"].description == "Answers about parcels."
    assert {tool.name for tool in await kit.engine.tools_of(agent.owner, agent.id)} == set(offered)


async def test_arguments_that_do_not_fit_hand_nothing_over(start: Start) -> None:
    kit = await begin(start, [handing(), "What is it about?"])
    agent = await kit.agent("desk")
    assert (await kit.ask(agent, "hi")).reply == "What is it about?"
    assert "'question': missing" in (await kit.kinds(agent))[3]
    assert (await kit.fresh(agent)).definition == "desk"


async def test_a_missing_attachment_hands_nothing_over(start: Start) -> None:
    kit = await begin(start, [handing(question="?", files=["/attachments/no.pdf"]), "Sorry."])
    agent = await kit.agent("desk")
    await kit.ask(agent, "hi")
    assert (await kit.kinds(agent))[3] == (
        "tool billing error there is no file '/attachments/no.pdf'"
    )
    assert (await kit.fresh(agent)).definition == "desk"


async def test_attachments_come_along(start: Start) -> None:
    kit = await begin(start, [handing(question="?", files=["/bill.txt"]), "Seen."])
    agent = await kit.agent("desk")
    await kit.stage.trees.tree(agent.id).write("/bill.txt", b"12")
    await kit.ask(agent, "hi")
    record = next(r for r in await kit.records(agent) if isinstance(r, HandoffRecord))
    assert [file.path for file in record.files] == ["/bill.txt"]


async def test_the_last_handoff_of_a_step_counts_and_other_calls_of_the_step_run(
    start: Start,
) -> None:
    log: list[str] = []

    def script(request: ModelRequest) -> Answer:
        if is_at(request, "shipping"):
            assert request.tools == []
            return "On its way."
        names = [Call(name="billing", arguments={"question": "?"}), Call(name="shipping")]
        return Reply(calls=[*names, Call(name="note")])

    kit = await begin(start, script, [counted_tool(log, "gated")])
    agent = await kit.agent("desk")
    assert (await kit.ask(agent, "hi")).reply == "On its way."
    assert "tool note ok note done" in await kit.kinds(agent)
    assert (await kit.kinds(agent))[-2] == "handoff desk shipping"


async def test_a_stop_in_the_same_step_is_cleared(start: Start) -> None:
    def script(request: ModelRequest) -> Answer:
        if is_at(request, "billing"):
            return "I go on."
        return Reply(
            text="done",
            calls=[Call(name="billing", arguments={"question": "?"}), Call(name="note")],
        )

    for more in ('stopTool = "note"', 'sessionStop = "note"'):
        kit = await begin(start, script, more=more)
        agent = await kit.agent("desk")
        assert (await kit.ask(agent, "hi")).reply == "I go on."
        await kit.close()


async def test_the_approvals_of_the_new_definition_hold_at_once(start: Start) -> None:
    kit = await begin(start, [handing(question="?"), calls("refund")])
    agent = await kit.agent("desk")
    await kit.post(agent, "hi")
    assert (await pending(kit)).asked.tool == "refund"


async def test_a_handoff_survives_the_death_of_the_process_before_the_step_ends(
    start: Start, tmp_path: Path
) -> None:
    gate = Gate()

    def script(request: ModelRequest) -> Answer:
        if is_at(request, "billing"):
            return "I go on."
        asked = [Call(name="billing", arguments={"question": "?"}), Call(name="gated")]
        return Reply(calls=asked)

    kit = await begin(start, script, [gated(gate, effect="keyed")])
    agent = await kit.agent("desk")
    receipt = await kit.post(agent, "hi")
    await gate.reached.wait()
    await kit.crash()
    gate.opened.set()
    assert (await kit.outcome(receipt)).reply == "I go on."
    assert sum(kind.startswith("handoff") for kind in await kit.kinds(agent)) == 1
    await kit.restart()
    assert (await kit.fresh(agent)).definition == "billing"


async def test_a_target_whose_file_is_gone_leaves_the_conversation_where_it_is(
    start: Start,
) -> None:
    kit: Kit

    def script(request: ModelRequest) -> Answer:
        if "nothing was handed over" in shown(request)[-1]:
            return "I am still here."
        asked = [Call(name="billing", arguments={"question": "?"}), Call(name="gated")]
        return Reply(calls=asked)

    async def remove() -> str:
        """Remove it."""
        (kit.stage.directory / "agents" / "billing.toml").unlink()
        await kit.engine.project.look()
        return "removed"

    kit = await begin(start, script, [tool(name="gated")(remove).as_tool()])
    agent = await kit.agent("desk")
    assert (await kit.ask(agent, "hi")).reply == "I am still here."
    assert (await kit.fresh(agent)).definition == "desk"
