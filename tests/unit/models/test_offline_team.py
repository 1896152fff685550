"""The built-in model with a team: plain words for each tool that reaches other agents."""

from collections.abc import Sequence

import pytest

from retinue.models.offline.answers import help_text
from retinue.models.offline.commands import Step, rule_for, steps
from retinue.models.offline.offline_model import answer
from retinue.models.port import ModelRequest, ToolSpec
from retinue.models.scripted import Call, Reply
from tests.unit.engine.conftest import Start
from tests.unit.engine.conftest import start as start
from tests.unit.engine.test_suspension import kinds_until


def _tool(name: str, *fields: str, required: Sequence[str] = ()) -> ToolSpec:
    properties = {field: {"type": "string"} for field in fields}
    return ToolSpec(
        name=name,
        description="",
        parameters={"type": "object", "properties": properties, "required": list(required)},
    )


TOOLS = {
    tool.name: tool
    for tool in (
        _tool("agents_message", "agentId", "content", required=["agentId"]),
        _tool("agents_switch", "agentId", "message", required=["agentId"]),
        _tool("agents_list"),
        _tool("send_agent_message", "text", "agentId", required=["text"]),
        _tool("start_background_agent", "prompt", "name", "definition", required=["prompt"]),
        _tool(
            "create_permanent_agent",
            *("name", "description", "systemPrompt", "agentId", "definition"),
            required=["name", "description", "systemPrompt"],
        ),
        _tool("list_permanent_agents"),
        _tool("delete_permanent_agent", "agentId", required=["agentId"]),
        _tool("shell", "command", required=["command"]),
    )
}


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ("ask todo to plan it", "agents_message", {"agentId": "todo", "content": "plan it"}),
        ("switch to journal", "agents_switch", {"agentId": "journal"}),
        (
            "Switch to the journal agent and write a poem.",
            "agents_switch",
            {"agentId": "journal", "message": "write a poem"},
        ),
        ("go back to general", "agents_switch", {"agentId": "general"}),
        ("list agents", "agents_list", {}),
        (
            "Start a background agent to count to 20.",
            "start_background_agent",
            {"prompt": "count to 20"},
        ),
        (
            "start a background agent called digger to write hello to notes.txt",
            "start_background_agent",
            {"name": "digger", "prompt": "write hello to notes.txt"},
        ),
        (
            "create a permanent agent called Ada that keeps my notes",
            "create_permanent_agent",
            {
                "name": "Ada",
                "description": "keeps my notes",
                "systemPrompt": "You are Ada, an agent that keeps my notes.",
            },
        ),
        ("list my permanent agents", "list_permanent_agents", {}),
        ("delete the permanent agent Ada", "delete_permanent_agent", {"agentId": "Ada"}),
        (
            "write to agent system:architect: what time is it",
            "send_agent_message",
            {"agentId": "system:architect", "text": "what time is it"},
        ),
    ],
)
def test_plain_words_reach_other_agents(said: str, tool: str, arguments: dict[str, str]) -> None:
    assert steps(said, TOOLS) == [Step(tool=tool, arguments=arguments)]


def test_what_the_help_says_is_understood() -> None:
    text = help_text(TOOLS)
    for name in TOOLS:
        rule = rule_for(name)
        assert rule is not None
        assert rule.example in text
        found = steps(rule.example, TOOLS)
        assert isinstance(found, list)
        assert [step.tool for step in found] == [name]


async def test_without_a_key_a_background_agent_s_result_is_told(start: Start) -> None:
    def offline(request: ModelRequest) -> Reply:
        said = answer(request)
        calls = (
            [Call(name=said.step.tool, arguments=dict(said.step.arguments))] if said.step else []
        )
        return Reply(text=said.text, calls=calls)

    kit = await start(offline, collaborates=True)
    parent = await kit.agent()
    await kit.ask(parent, "start a background agent called counter to count to 3")
    (child,) = await kit.store.children(parent.owner, parent.id)
    await kinds_until(kit, parent, f"assistant Message from the agent `{child.id}`:\n\n> 1, 2, 3.")
