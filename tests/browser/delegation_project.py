"""A project with delegation: a desk agent, two dual-model teams and a billing agent."""

import json
from pathlib import Path
from typing import Any

DESK = """---
model: scripted:desk.json
tools:
  - {name: team, blocking: true, initUserMessageProperty: order}
  - {name: night_team, blocking: false, resumable: {maxInstances: 3}}
  - {name: billing, initUserMessageProperty: question}
  - {name: namer, optional: WITH_NAMES}
  - weigh
---
You take orders.
"""
WORKER = """---
model: scripted:worker.json
tools: [draw, give_up]
requiredSchema:
  type: object
  properties: {order: {type: string}}
  required: [order]
---
You draw.
"""
REVIEWER = """---
model: scripted:reviewer.json
tools: [send_back, report, hold, approve]
---
You check what is drawn.
"""
TEAM = """name = "{name}"
displayName = "{title}"
description = "Draws, and checks what it drew."
type = "dual_ai"
exposeAsTool = true
maxSessionTurns = 12
uiVisible = {visible}

[sideA]
label = "Worker"
prompt = "worker"
[sideA.sessionFail]
name = "give_up"
messageProperty = "reason"

[sideB]
label = "Reviewer"
prompt = "reviewer"
stopOnResponse = false
stopTool = "send_back"
stopToolResponseProperty = "text"
maxSteps = 8
[sideB.sessionStop]
name = "approve"
messageProperty = "summary"
attachmentsProperty = "files"
[sideB.sessionStatus]
name = "report"
messageProperty = "status"
"""
TOOLS = '''
from retinue import ToolContext, tool


@tool(effect="keyed")
async def draw(ctx: ToolContext, name: str) -> str:
    """Draw something into a file."""
    file = await ctx.files.write(f"/drawings/{name}.svg", b"<svg/>")
    return file.path


@tool(effect="pure")
def give_up(reason: str) -> str:
    """Say that it cannot be drawn."""
    return "given up"


@tool(effect="pure")
def send_back(text: str) -> str:
    """Ask for another draft."""
    return "sent back"


@tool(effect="pure")
def report(status: str) -> str:
    """Tell how it goes."""
    return "told"


@tool(effect="pure")
def approve(summary: str, files: list[str]) -> str:
    """Hand the drawing over."""
    return "approved"
'''


def _calls(name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"calls": [{"name": name, "arguments": arguments}]}


def _rule(when: str, reply: dict[str, Any], after: int | None = None) -> dict[str, Any]:
    tools = {} if after is None else {"after_tools": after}
    return {"when": when, **tools, "reply": reply}


_SCRIPTS = {
    "desk": [
        _rule(r"^draw (\w+)", _calls("team", order="Draw $1"), 0),
        _rule(r"^draw (\w+)", {"text": "The team says: $tool"}, 1),
        _rule(
            r"^tonight (\w+)",
            _calls(
                "subagent_create",
                agent="night_team",
                name="Night $1",
                message="Draw $1",
                arguments={"order": "$1"},
            ),
            0,
        ),
        _rule("has returned the following result", {"text": "It is there."}),
        _rule(r"^tonight", {"text": "They are at it."}, 1),
        _rule(r"^pay", _calls("billing", question="What is owed?"), 0),
    ],
    "billing": [{"reply": {"text": "Nothing is owed."}}],
    "worker": [
        _rule("Draw ghost", _calls("give_up", reason="Nobody has seen one."), 0),
        _rule(r"Draw (\w+)", _calls("draw", name="$1"), 0),
        _rule("Draw ", {"text": "A first draft: $tool"}, 1),
        _rule("shadow", {"text": "A second draft, with a shadow."}),
    ],
    "reviewer": [
        _rule("first draft", _calls("report", status="looking at the first draft"), 0),
        _rule("first draft", _calls("hold", gate="review"), 1),
        _rule("first draft", {"text": "It looks flat."}, 2),
        _rule("Go on", _calls("send_back", text="It needs a **shadow**.")),
        _rule(
            "second draft",
            _calls("approve", summary="The drawing is ready.", files=["/drawings/tree.svg"]),
            0,
        ),
    ],
}


def make_delegation_project(folder: Path, tools: str) -> Path:
    """Create the project in an empty folder; `tools` is the source of additional tools."""
    for name in ("agents", "prompts", "tools", "gates"):
        (folder / name).mkdir(parents=True)
    (folder / "retinue.toml").write_text('model = "offline"\n[limits]\ncoalesceWindowMs = 0\n')
    (folder / "tools" / "tools.py").write_text(tools)
    (folder / "tools" / "drawing.py").write_text(TOOLS)
    for name, rules in _SCRIPTS.items():
        (folder / f"{name}.json").write_text(json.dumps(rules))
    prompts = {
        "desk": DESK,
        "worker": WORKER,
        "reviewer": REVIEWER,
        "billing": "---\nmodel: scripted:billing.json\ntools: []\n---\nYou answer about bills.",
        "namer": "---\ntoolDescription: Finds a name.\ntools: []\n---\nYou find names.",
    }
    for name, text in prompts.items():
        (folder / "prompts" / f"{name}.md").write_text(text)
    agents = {
        "desk": 'name = "desk"\ndisplayName = "Desk"\ndescription = "Takes orders."\n'
        '[sideA]\nprompt = "desk"\n',
        "billing": 'name = "billing"\ndisplayName = "Billing"\ndescription = "Knows the bills."\n'
        'exposeAsTool = true\n[sideA]\nprompt = "billing"\n',
        "team": TEAM.format(name="team", title="Drawing team", visible="true"),
        "night_team": TEAM.format(name="night_team", title="Night team", visible="false"),
    }
    for name, text in agents.items():
        (folder / "agents" / f"{name}.toml").write_text(text)
    return folder
