"""One definition in every form that a file can have."""

import json
from dataclasses import replace

import pytest

from retinue.definitions.definition import Definition
from tests.unit.definitions.project import Project

FIELDS = {
    "type": "dual_ai",
    "description": "Draws and reviews.",
    "maxSessionTurns": 40,
    "exposeAsTool": True,
    "toolDescription": "Make assets.",
    "env": {"CITY_name": "Rome"},
    "hooks": ["one"],
    "packageName": "assets",
    "sideA": {
        "label": "Worker",
        "prompt": "worker",
        "maxSteps": 3,
        "stopTool": "done",
        "stopToolResponseProperty": "text",
        "sessionFail": "fail_asset",
    },
    "sideB": {
        "prompt": "reviewer",
        "stopOnResponse": False,
        "sessionStop": {"name": "approve", "messageProperty": "summary"},
    },
}
TOML = """
type = "dual_ai"
description = "Draws and reviews."
maxSessionTurns = 40
exposeAsTool = true
toolDescription = "Make assets."
hooks = ["one"]
packageName = "assets"
[env]
CITY_name = "Rome"
[sideA]
label = "Worker"
prompt = "worker"
maxSteps = 3
stopTool = "done"
stopToolResponseProperty = "text"
sessionFail = "fail_asset"
[sideB]
prompt = "reviewer"
stopOnResponse = false
[sideB.sessionStop]
name = "approve"
messageProperty = "summary"
"""
SNAKE = """
type = "dual_ai"
description = "Draws and reviews."
max_session_turns = 40
expose_as_tool = true
tool_description = "Make assets."
hooks = ["one"]
package_name = "assets"
env = {CITY_name = "Rome"}
[side_a]
label = "Worker"
prompt = "worker"
max_steps = 3
stop_tool = "done"
stop_tool_response_property = "text"
session_fail = {name = "fail_asset"}
[side_b]
prompt = "reviewer"
stop_on_response = false
session_stop = {name = "approve", message_property = "summary"}
"""
PYTHON = f"""
from retinue import define_agent

define_agent(name="asset", **{FIELDS!r})
"""
PROMPTS = {
    "prompts/worker.md": "---\ntools: [done, fail_asset]\n---\nYou draw.",
    "prompts/reviewer.md": "---\ntools: [approve]\n---\nYou review.",
    "hooks/one.py": (
        "from retinue import define_hook\n"
        "define_hook(hook='filter_messages', id='one', execute=print)"
    ),
}


def loaded(project: Project, file: str, text: str) -> Definition:
    for name, content in PROMPTS.items():
        project.write(name, content)
    project.write(file, text)
    return replace(project.definition("asset"), file="")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("agents/asset.json", json.dumps(FIELDS)),
        ("agents/all.json", json.dumps({"agents": [{"agentId": "asset", **FIELDS}]})),
        ("agents/asset.py", PYTHON),
        ("agents/asset.toml", SNAKE),
    ],
)
def test_every_form_of_a_definition_gives_the_same(project: Project, file: str, text: str) -> None:
    first = loaded(project, "agents/asset.toml", TOML)
    project.delete("agents/asset.toml")

    assert loaded(project, file, text) == first
    assert first.side_b is not None
    assert first.side_b.session_stop is not None
    assert first.side_b.session_stop.message_property == "summary"


def test_a_prompt_in_markdown_and_in_python_gives_the_same(project: Project) -> None:
    project.write(
        "prompts/p.md",
        "---\nmodel: m\ntools: [draw, {name: q, includeErrors: false}]\n"
        "requiredSchema: {type: object, properties: {task: {type: string}}}\n---\nDo {{task}}.",
    )
    project.write("prompts/q.md", "Q.")
    written = project.catalog().prompt("p")
    project.delete("prompts/p.md")
    project.write(
        "prompts/p.py",
        "from retinue import define_prompt\n"
        "define_prompt(name='p', prompt='Do {{task}}.', model='m',\n"
        "  tools=['draw', {'name': 'q', 'include_errors': False}],\n"
        "  required_schema={'type': 'object', 'properties': {'task': {'type': 'string'}}})",
    )

    assert replace(project.catalog().prompt("p"), file="") == replace(written, file="")
