"""Agents of packages at work: with their own tools, among their own kind."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from retinue.assembly import App, Extras, open_app
from retinue.errors import NotFoundError
from retinue.ids import LOCAL_OWNER
from retinue.model_messages import ToolMessage
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.stores.port import Agent
from retinue.testing.kit import PATIENCE_SECONDS
from tests.acceptance.packing import written
from tests.unit.engine.support import last_said
from tests.waiting import until

TOOL = 'from retinue import tool\n@tool(effect="pure")\ndef approve() -> str:\n    return "{}"\n'
SETTINGS = 'model = "main"\n[limits]\ncoalesceWindowMs = 0\n'


def manifest(name: str, entry: str) -> str:
    return f'name = "{name}"\nversion = "1.0"\nentryAgents = ["{entry}"]\n'


def obedient(request: ModelRequest) -> Answer:
    """Call the tool that the message names, with its second word as the agent to ask.

    Asked with no arguments, tell the prompt.
    """
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return Reply(text=last.text)
    name, _, target = last_said(request).partition(" ")
    if name == "{}":
        return Reply(text=request.system.partition("\n")[0])
    if not name.isidentifier():
        return Reply(text="heard")
    arguments: dict[str, Any] = {"agentId": target, "content": "Well?"} if target else {}
    return Reply(calls=[Call(name=name, arguments=arguments)])


@asynccontextmanager
async def opened(folder: Path, files: dict[str, str]) -> AsyncGenerator[App]:
    written(folder, {"retinue.toml": SETTINGS, **files})
    model = ScriptedModel(obedient, name="main")
    app = await open_app(folder, {}, extras=Extras(models={"main": model}))
    try:
        yield app
    finally:
        await app.close()


async def asked(app: App, definition: str, text: str) -> str:
    return await said_to(app, await app.engine.create(LOCAL_OWNER, definition), text)


async def said_to(app: App, agent: Agent, text: str) -> str:
    receipt = await app.engine.post(LOCAL_OWNER, agent.id, text)
    outcome = await app.engine.outcome(LOCAL_OWNER, receipt.item.id, wait_seconds=PATIENCE_SECONDS)
    return outcome.reply or ""


async def test_each_package_has_tools_of_its_own(tmp_path: Path) -> None:
    files = {
        "agents/boss.toml": "",
        "tools/approving.py": TOOL.format("of the project"),
        "tools/deploying.py": TOOL.replace("approve", "deploy"),
    }
    for name in ("one", "two"):
        files |= {
            f"packages/{name}/retinue-package.toml": manifest(name, f"agent_{name}"),
            f"packages/{name}/agents/agent_{name}.toml": "",
            f"packages/{name}/tools/approving.py": TOOL.format(f"of {name}"),
        }
    async with opened(tmp_path, files) as app:
        assert [problem.message for problem in app.engine.project.current.problems] == []
        assert await asked(app, "agent_one", "approve") == "of one"
        assert await asked(app, "agent_two", "approve") == "of two"
        assert await asked(app, "boss", "approve") == "of the project"
        assert await asked(app, "agent_one", "deploy") == "There is no tool called 'deploy'."

        written(tmp_path, {"packages/one/tools/approving.py": TOOL.format("of one, now better")})

        async def is_taken_up() -> bool:
            return await asked(app, "agent_one", "approve") == "of one, now better"

        await until(is_taken_up)


async def test_agents_ask_only_those_of_their_package(tmp_path: Path) -> None:
    files = {
        "agents/boss.toml": "",
        "packages/team/retinue-package.toml": manifest("team", "lead"),
        "packages/team/agents/lead.toml": "",
        "packages/team/agents/helper.toml": "",
    }
    async with opened(tmp_path, files) as app:
        assert '"response":"heard"' in (await asked(app, "lead", "agents_message helper"))
        assert '"response":"heard"' in (await asked(app, "lead", "agents_message team/helper"))
        assert "there is no agent 'boss'" in await asked(app, "lead", "agents_message boss")
        assert '"response":"heard"' in (await asked(app, "boss", "agents_message lead"))
        for private in ("helper", "team/helper"):
            told = await asked(app, "boss", f"agents_message {private}")
            assert f"there is no agent {private!r}" in told
            with pytest.raises(NotFoundError):
                await app.engine.create(LOCAL_OWNER, private)


async def test_prompts_and_agents_that_are_called_are_those_of_the_package(tmp_path: Path) -> None:
    listing = '[sideA]\nprompt = "main"'
    prompts = {
        "main.md": "---\ntools: [polish, pass_on]\n---\nMain.",
        "polish.md": "---\ntools: []\n---\nPolish inside.",
        "passed.md": "---\ntools: [polish]\n---\nPassed.",
    }
    files = {
        "agents/boss.toml": "",
        "prompts/polish.md": "Polish outside.",
        "packages/team/retinue-package.toml": manifest("team", "lead"),
        "packages/team/agents/lead.toml": listing,
        "packages/team/agents/pass_on.toml": 'exposeAsTool = true\ndescription = "p"\n'
        '[sideA]\nprompt = "passed"',
        **{f"packages/team/prompts/{name}": text for name, text in prompts.items()},
    }
    async with opened(tmp_path, files) as app:
        assert await asked(app, "lead", "polish") == "Polish inside."
        agent = await app.engine.create(LOCAL_OWNER, "lead")
        await said_to(app, agent, "pass_on")
        assert (await app.store.agent(LOCAL_OWNER, agent.id)).definition == "team/pass_on"
        assert await said_to(app, agent, "polish") == "Polish inside."


async def test_a_broken_tool_file_of_a_package_is_told_by_its_name(tmp_path: Path) -> None:
    files = {
        "packages/one/retinue-package.toml": manifest("one", "agent_one"),
        "packages/one/agents/agent_one.toml": "",
        "packages/one/tools/approving.py": "def\n",
    }
    async with opened(tmp_path, files) as app:
        (problem,) = app.engine.project.current.problems
        assert (problem.file, problem.line) == ("packages/one/tools/approving.py", 1)
