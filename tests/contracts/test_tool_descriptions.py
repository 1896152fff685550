"""What people write about a tool's parameters is in the bytes that a provider gets."""

import json
import sys
from pathlib import Path

import pytest

from retinue.assembly import ENGINE_TOOLS
from retinue.testing.model_server import Act, ReceivedRequest, ScriptedAnswer
from retinue.testing.model_wire import ToolUse
from tests.contracts.model_bench import NAMES
from tests.contracts.wire import descriptions, sent_tools, wire_project
from tests.waiting import eventually

MCP_SERVER = Path(__file__).parents[1] / "support" / "mcp" / "plain_server.py"

TOOLS = '''
    from typing import Annotated, TypedDict
    from pydantic import BaseModel, Field
    from retinue import define_tool, tool

    @tool
    def google(one: str, two: Annotated[int, "ignored: the annotation is nearer"] = 2) -> str:
        """Do it.

        Args:
            one: google one
            two: google two
        """
        return one

    @tool
    def numpy(one: str) -> str:
        """Do it.

        Parameters
        ----------
        one : str
            numpy one
        """
        return one

    @tool
    def sphinx(one: str) -> str:
        """Do it.

        :param one: sphinx one
        """
        return one

    class Inner(TypedDict, total=False):
        deep: Annotated[str, "plain deep"]

    @tool
    def annotated(
        field: Annotated[str, Field(description="field one", min_length=1)],
        plain: Annotated[str | None, "plain one"] = None,
        inner: Annotated[Inner | None, "plain inner"] = None,
    ) -> str:
        """Do it."""
        return field

    class Arguments(BaseModel):
        one: Annotated[str, Field(description="model one")]
        two: int = 2

    def execute(ctx, arguments):
        """Do it.

        Args:
            two: docstring two
        """

    define_tool(name="by_model", args=Arguments, execute=execute)
    define_tool(
        name="by_schema",
        args={"type": "object", "properties": {"one": {"description": "schema one"}}},
        execute=execute,
    )

    @define_tool(name="by_function")
    def by_function(one: Annotated[str, "function one"]) -> str:
        """Do it."""
        return one
'''
PLUGIN = '''
    from typing import Annotated
    from retinue import define_plugin, operation

    @operation
    def look(one: str, two: Annotated[int, "operation two"] = 2) -> str:
        """Look.

        Args:
            one: operation one
        """
        return one

    plugin = define_plugin(id="extra", description="More.", operations=[look])
'''
FILES = {
    "tools/all.py": TOOLS,
    "plugins/extra.py": PLUGIN,
    "agents/boss.toml": """
        name = "boss"
        description = "Orders things."
        [sideA]
        prompt = "boss"
    """,
    "agents/helper.toml": 'name = "helper"\ndescription = "Helps."\nexposeAsTool = true\n',
    "agents/pair.toml": """
        name = "pair"
        description = "Makes and checks."
        type = "dual_ai"
        maxSessionTurns = 2
        exposeAsTool = true
        [sideA]
        prompt = "worker"
        [sideB]
        prompt = "worker"
    """,
    "prompts/expert.md": """\
        ---
        requiredSchema:
          type: object
          properties: {question: {type: string, description: what to answer}}
        tools: []
        ---
        You know.
        """,
    "prompts/worker.md": """\
        ---
        model: local:small
        tools: [notify_parent, set_status]
        ---
        You work.
        """,
}
EXPECTED = {
    "google": {"one": "google one", "two": "ignored: the annotation is nearer"},
    "numpy": {"one": "numpy one"},
    "sphinx": {"one": "sphinx one"},
    "annotated": {
        "field": "field one",
        "plain": "plain one",
        "inner": "plain inner",
        "inner.deep": "plain deep",
    },
    "by_model": {"one": "model one", "two": "docstring two"},
    "by_schema": {"one": "schema one"},
    "by_function": {"one": "function one"},
    "extra_look": {"one": "operation one", "two": "operation two"},
    "mcp_plain_echo": {"text": "what to say"},
    "expert": {"question": "what to answer"},
    "helper": {"words": "what it is told first"},
}
CALLED = ("expert", "helper")  # entries of the prompt that are not names of plain tools


def project(model: str) -> dict[str, str]:
    plain = ", ".join(name for name in EXPECTED if name not in CALLED)
    boss = f"""\
        ---
        model: {model}
        tools:
          - {{name: expert}}
          - {{name: helper, initUserMessageProperty: words}}
          - {{name: pair, resumable: {{maxInstances: 2}}}}
          - {plain.replace(", ", f"{NEXT}- ")}
        ---
        You are the boss.
        """
    return {**FILES, "prompts/boss.md": boss}


NEXT = "\n          "


def mcp_server(folder: Path) -> str:
    """A table of settings for a server with one tool."""
    schema = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "what to say"}},
    }
    listed = folder / "mcp.json"
    listed.write_text(json.dumps([{"name": "echo", "inputSchema": schema}]))
    command = json.dumps(sys.executable)
    arguments = json.dumps([str(MCP_SERVER), str(listed)])
    return f"[mcp.plain]\ncommand = {command}\nargs = {arguments}\n"


@pytest.mark.parametrize("kind", NAMES)
async def test_descriptions_of_every_kind_of_tool_reach_the_provider(
    kind: str, tmp_path: Path
) -> None:
    files = {**project(NAMES[kind]), "retinue.toml": mcp_server(tmp_path)}
    async with wire_project(tmp_path, files) as wire:
        await eventually(lambda: wire.app.mcp.servers()[0].state == "connected")
        assert (await wire.ask("boss")).reply == "Fine."
        sent = sent_tools(wire.bodies[0])
        assert {name: descriptions(sent[name]) for name in EXPECTED} == EXPECTED


async def test_every_parameter_of_every_builtin_tool_is_described(tmp_path: Path) -> None:
    """Taken from an engine that runs, and from what a model of its agents is sent."""
    files = {
        **project(NAMES["local"]),
        "agents/plain.toml": f'description = "Has all."\nmodel = "{NAMES["local"]}"\n',
        "skills/letters/SKILL.md": "---\nname: letters\ndescription: Letters.\n---\nWrite.",
        "retinue.toml": mcp_server(tmp_path),
    }
    async with wire_project(tmp_path, files, _creates_a_child) as wire:
        await wire.ask("plain")
        await wire.ask("boss")
        await wire.ask("boss", "create")
        sent = {name: one for body in wire.bodies for name, one in sent_tools(body).items()}
        own = wire.app.engine.project.current.tools
        sent |= {tool.name: tool.parameters for tool in own.values()}
    assert set(sent) >= {*ENGINE_TOOLS, "subagent_create", "subagent_message", "shell"}
    missing = [
        f"{name}: {parameter}"
        for name, schema in sent.items()
        for parameter, text in descriptions(schema).items()
        if not text
    ]
    assert missing == []


def _creates_a_child(asked: ReceivedRequest) -> Act:
    if "create" in str(asked.body["messages"][-1]):
        arguments = json.dumps({"agent": "pair", "name": "Two", "message": "work"})
        return ScriptedAnswer(calls=[ToolUse(name="subagent_create", arguments=arguments)])
    return ScriptedAnswer(text="Fine.")
