import pytest

from retinue.models.offline.commands import Step, steps
from retinue.models.port import ToolSpec

FIELDS = {"agentId": {"type": "string"}, "content": {"type": "string"}}
MOVES = {"agentId": {"type": "string"}, "message": {"type": "string"}}
TOOLS = {
    name: ToolSpec(
        name=name,
        description="",
        parameters={"type": "object", "properties": fields, "required": ["agentId"]},
    )
    for name, fields in [("agents_message", FIELDS), ("agents_switch", MOVES)]
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
    ],
)
def test_plain_words_reach_other_agents(said: str, tool: str, arguments: dict[str, str]) -> None:
    assert steps(said, TOOLS) == [Step(tool=tool, arguments=arguments)]
