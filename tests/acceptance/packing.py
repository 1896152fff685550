"""A project with an agent to pack: two prompts deep, with a pair of sides, tools and a hook."""

import json
from collections.abc import Mapping
from pathlib import Path

FILES = {
    "retinue.toml": 'model = "scripted:other.json"\n[limits]\ncoalesceWindowMs = 0\n',
    "agents/producer.toml": """
name = "producer"
description = "Makes things and has them reviewed."
extends = "house"
packageName = "asset-studio"
version = "1.2.0"
author = "The studio"
license = "MIT"
hooks = ["deepen"]
[sideA]
prompt = "producer"
""",
    "agents/pairs.json": json.dumps(
        {
            "agents": [
                {
                    "agentId": "review_pair",
                    "displayName": "Review pair",
                    "description": "Makes one thing.",
                    "type": "dual_ai",
                    "exposeAsTool": True,
                    "maxSessionTurns": 4,
                    "model": "scripted:scripts/studio.json",
                    "sideA": {"prompt": "worker"},
                    "sideB": {
                        "prompt": "reviewer",
                        "sessionStop": {"name": "approve", "messageProperty": "summary"},
                    },
                },
                {"agentId": "stranger", "displayName": "Stranger"},
            ]
        }
    ),
    "agents/templates/house.toml": 'model = "scripted:scripts/studio.json"\n',
    "agents/templates/unused.toml": 'model = "offline"\n',
    "prompts/producer.md": """---
tools: [stamp, time, {name: review_pair, initUserMessageProperty: task}]
variables: [{name: STUDIO, type: text}]
---
You produce. {{include house_style}}
""",
    "prompts/house_style.md": "Be brief.",
    "prompts/worker.md": """---
tools: []
requiredSchema: {type: object, properties: {task: {type: string}}, required: [task]}
---
You draft.
""",
    "prompts/reviewer.md": "---\ntools: [approve]\n---\nYou review.\n",
    "prompts/unused.md": "Nobody reads this.",
    "tools/stamping.py": '''
import yaml
from retinue import tool

from ._ink import INK


@tool(effect="pure")
def stamp(item: str) -> str:
    """Stamp an item."""
    return f"{item} in {INK}"
''',
    "tools/_ink.py": 'INK = "blue"\n',
    "tools/approving.py": '''
from retinue import tool


@tool(effect="pure")
def approve(summary: str) -> str:
    """Approve the work."""
    return summary
''',
    "tools/deploying.py": '''
from retinue import tool


@tool(effect="pure")
def deploy() -> str:
    """Deploy the project."""
    return "deployed"
''',
    "hooks/deepening.py": """
from retinue import define_hook


@define_hook(hook="before_store_tool_result")
def deepen(ctx, result):
    return result.text.replace("in blue", "in deep_blue")
""",
    "scripts/studio.json": json.dumps(
        [
            {
                "when": "^make (\\w+)",
                "after_tools": 0,
                "reply": {"calls": [{"name": "stamp", "arguments": {"item": "$1"}}]},
            },
            {
                "when": "^make (\\w+)",
                "after_tools": 1,
                "reply": {"calls": [{"name": "review_pair", "arguments": {"task": "task $tool"}}]},
            },
            {"when": "^make", "reply": {"text": "Done: $tool"}},
            {
                "when": "draft of (.*)",
                "reply": {"calls": [{"name": "approve", "arguments": {"summary": "good: $1"}}]},
            },
            {"when": "task (\\w+ in \\w+)", "reply": {"text": "draft of $1"}},
            {"when": "^deploy", "after_tools": 0, "reply": {"calls": [{"name": "deploy"}]}},
            {"when": "^deploy", "reply": {"text": "$tool"}},
        ]
    ),
}
PACKED = [
    "retinue-package.toml",
    "agents/producer.toml",
    "agents/review_pair.json",
    "agents/templates/house.toml",
    "hooks/deepening.py",
    "prompts/house_style.md",
    "prompts/producer.md",
    "prompts/reviewer.md",
    "prompts/worker.md",
    "scripts/studio.json",
    "tools/_ink.py",
    "tools/approving.py",
    "tools/stamping.py",
]
ANSWER = "Done: good: tree in deep_blue"


def studio(folder: Path) -> Path:
    return written(folder, FILES)


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


def empty(folder: Path) -> Path:
    """Write a project with nothing in it but a default model."""
    script = FILES["scripts/studio.json"]
    return written(folder, {"retinue.toml": FILES["retinue.toml"], "other.json": script})
