"""Command lines of skills, run for real: an agent's shell, in a sandbox, calls back."""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from pathlib import Path

import httpx2
import pytest

from retinue.assembly import App, Extras, open_app
from retinue.engine.calls.plugin_calls import Caller
from retinue.errors import RetinueError
from retinue.ids import LOCAL_OWNER, AgentId
from retinue.models.port import ModelRequest
from retinue.models.scripted import Answer, Call, Reply, ScriptedModel
from retinue.plugins.operation_function import operation, operations_of
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.skill_client import TOKEN_VARIABLE
from retinue.records import ToolRecord
from retinue.testing.kit import PATIENCE_SECONDS
from retinue.tools.sandbox import Sandbox
from tests.acceptance.http.support import SHELF, last_words
from tests.waiting import eventually, until

needs_sandbox = pytest.mark.skipif(
    (reason := asyncio.run(Sandbox().problem())) is not None,
    reason=f"no sandbox on this machine: {reason}",
)
pytestmark = [pytest.mark.sandbox, needs_sandbox]

AGENTS = {
    "clerk": """
toolExposure = "skills"
toolAllowlist = ["shelf_*", "shell", "skills_read"]
toolDenylist = ["shelf_burn"]
toolApprovals = ["shelf_lend"]
skillDenylist = ["secret-*"]
""",
    "guest": """
toolExposure = "mixed"
toolAllowlist = ["shelf_who", "shell"]
skillAllowlist = ["shelf"]
""",
    "watchman": """
toolExposure = "skills"
toolAllowlist = ["tower_*", "shell"]
""",
    "plain": """
toolAllowlist = ["shelf_*", "shell"]
skillAllowlist = []
""",
}
SKILL = """---
name: {name}
description: How letters are written.
---
Write them by hand. See forms/a.txt.
"""


class Model:
    """Calls the tool that it is told to call, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ModelRequest] = []

    def __call__(self, request: ModelRequest) -> Answer:
        self.asked.append(request)
        return called(last_words(request))


def called(words: str) -> Answer:
    if words == "a tool ran":
        return "Done."
    name, _, rest = words.partition(" ")
    key = "command" if name == "shell" else "path"
    return Reply(calls=[Call(name=name, arguments={key: rest})])


class Tower:
    """A plugin with an operation that ends when it is told to."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    @operation
    async def watch(self) -> None:
        self.begun.set()
        try:
            await asyncio.sleep(50)
        finally:
            self.ended.set()


class House:
    """A project that is open, with its agents."""

    def __init__(self, app: App, project: Path, model: Model, tower: Tower) -> None:
        self.app = app
        self.tower = tower
        self.model = model
        self.project = project
        self.agents: dict[str, AgentId] = {}

    async def open_agent(self, definition: str) -> AgentId:
        if definition not in self.agents:
            agent = await self.app.engine.create(LOCAL_OWNER, definition)
            self.agents[definition] = agent.id
        return self.agents[definition]

    async def use(self, definition: str, words: str) -> ToolRecord:
        """Let an agent's model call a tool, and give its result."""
        engine = self.app.engine
        agent_id = await self.open_agent(definition)
        receipt = await engine.post(LOCAL_OWNER, agent_id, words)
        await engine.outcome(LOCAL_OWNER, receipt.item.id, wait_seconds=50)
        records = await engine.store.history(LOCAL_OWNER, agent_id, after=0, limit=1000)
        return [record for record in records if isinstance(record, ToolRecord)][-1]

    async def sh(self, definition: str, command: str) -> str:
        return (await self.use(definition, f"shell {command}")).text


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    project = tmp_path / "project"
    (project / "agents").mkdir(parents=True)
    for name, fields in AGENTS.items():
        text = f'name = "{name}"\nsystemPrompt = "Work."\nmodel = "scripted"\n{fields}'
        (project / "agents" / f"{name}.toml").write_text(text)
    for name in ("letters", "secret-letters"):
        folder = project / "skills" / name
        (folder / "forms").mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name=name))
        (folder / "forms" / "a.txt").write_text("Dear Sir or Madam\n")
    (project / "skills" / "letters" / "out").symlink_to(project / "retinue.toml")
    os.mkfifo(project / "skills" / "letters" / "pipe")
    (project / "retinue.toml").write_text('model = "scripted"\n[limits]\ncoalesceWindowMs = 0\n')
    model = Model()
    tower = Tower()
    plugins = [SHELF, define_plugin(id="tower", operations=operations_of(tower))]
    extras = Extras(models={"scripted": ScriptedModel(model)}, plugins=plugins)
    app = await open_app(project, {}, extras=extras)
    yield House(app, project, model, tower)
    await app.close()


async def test_the_model_is_told_of_skills_in_place_of_tools(house: House) -> None:
    await house.sh("clerk", "true")
    asked = house.model.asked[-1]
    assert {tool.name for tool in asked.tools} == {"shelf_lend", "shell", "skills_read"}
    assert "Available CLI skills:" in asked.system
    assert "  SKILL.md: /skills/shelf/SKILL.md\n  CLI: /skills/shelf/shelf-cli" in asked.system
    assert "- letters: How letters are written." in asked.system
    assert "secret-letters" not in asked.system
    await house.sh("plain", "true")
    asked = house.model.asked[-1]
    assert {"shelf_find", "shelf_burn", "shell"} < {tool.name for tool in asked.tools}
    assert "skills" not in asked.system


async def test_an_allowed_command_works_and_a_denied_one_is_refused(house: House) -> None:
    found = await house.sh("clerk", "/skills/shelf/shelf-cli find --title Emma --most 2 --json")
    agent = house.agents["clerk"]
    assert json.loads(found) == {"title": "Emma", "most": 2, "owner": "local", "agent": agent}
    burnt = await house.sh("clerk", "/skills/shelf/shelf-cli burn --title Emma")
    assert burnt == (
        "The tool 'shelf_burn' is not allowed for this agent. (refused)\n[exit code 4]"
    )
    with closing(sqlite3.connect(house.project / ".retinue" / "retinue.db")) as database:
        lines = database.execute("SELECT agent, action, detail ->> 'tool' FROM audit").fetchall()
    assert lines == [(agent, "tool_refused", "shelf_burn")]
    lent = await house.sh("clerk", "/skills/shelf/shelf-cli lend --title Emma")
    assert "asked before each call" in lent


async def test_the_command_line_documents_itself_and_tells_usage_errors(house: House) -> None:
    told = await house.sh(
        "clerk",
        "head -3 /skills/shelf/SKILL.md; /skills/shelf/shelf-cli find --help;"
        " /skills/shelf/shelf-cli find; echo $?",
    )
    assert told.startswith('---\nname: shelf\ndescription: "Books."\n')
    assert "--title TEXT" in told
    assert told.endswith("the following arguments are required: --title; see --help\n2")


async def test_each_pass_is_worth_the_rights_of_its_own_agent_and_no_more(house: House) -> None:
    who = await house.sh("guest", "/skills/shelf/shelf-cli who")
    assert who == house.agents["guest"]
    refused = await house.sh("guest", "/skills/shelf/shelf-cli find --title Emma")
    assert "'shelf_find' is not allowed for this agent" in refused


async def test_without_a_pass_or_with_an_old_one_nothing_is_done(house: House) -> None:
    cli = "/skills/shelf/shelf-cli"
    assert "[exit code 3]" in await house.sh("clerk", f"env -u RETINUE_SKILL_TOKEN {cli} who")
    forged = await house.sh("clerk", f"RETINUE_SKILL_TOKEN=x {cli} who")
    assert "(unauthorized)\n[exit code 4]" in forged
    old = await house.sh("clerk", "echo $RETINUE_SKILL_TOKEN")
    assert len(old) > 40
    for definition in ("clerk", "guest"):
        again = await house.sh(definition, f"RETINUE_SKILL_TOKEN={old} {cli} who")
        assert "(unauthorized)" in again


async def test_the_folder_of_a_killed_process_goes_when_the_door_opens_again(house: House) -> None:
    left = (await house.app.skill_door.open()).parent
    await house.app.skill_door.close()
    (left / "door").mkdir(parents=True)
    (left / "door" / "skills.sock").touch()
    again = (await house.app.skill_door.open()).parent
    assert [one for one in (left, again) if one.exists()] == [again]


async def test_a_pass_ends_with_its_agent_and_opens_nothing_else(house: House) -> None:
    await house.sh("clerk", "true")
    agent, desk = house.agents["clerk"], house.app.skills
    caller = Caller(owner=LOCAL_OWNER, agent_id=agent, is_skill=True)
    token = desk.passes.issue(caller, 60)
    place = await house.app.skill_door.open()
    transport = httpx2.AsyncHTTPTransport(uds=str(place / "skills.sock"))
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost", headers=headers
    ) as client:
        who = "/api/plugins/shelf/operations/who"
        assert (await client.post(who, json={})).json() == {"result": agent}
        other = await client.post(who, json={"agentId": house.agents["clerk"]})
        assert other.status_code == 400
        for path in ("/api/agents", "/api/plugins", "/", f"/api/agents/{agent}/files"):
            assert (await client.get(path)).status_code == 404
        await house.app.engine.terminate(LOCAL_OWNER, agent)
        assert (await client.post(who, json={})).status_code == 410
    with pytest.raises(RetinueError):
        await house.app.engine.operations.call(caller, "shelf", "who", {})


async def test_what_a_definition_denies_is_denied_to_a_pass_that_lives(house: House) -> None:
    agent_id = await house.open_agent("clerk")
    files = house.project / ".retinue" / "agents" / agent_id / "files"
    who = "/skills/shelf/shelf-cli who"
    words = f"{who}; touch runs; until [ -e denied ]; do sleep 0.05; done; {who}"
    running = asyncio.create_task(house.sh("clerk", words))
    await eventually(lambda: (files / "runs").exists())
    file = house.project / "agents" / "clerk.toml"
    file.write_text(file.read_text().replace('"shelf_burn"', '"shelf_*"'))

    async def is_read() -> bool:
        catalog = (await house.app.engine.project.look()).catalog
        return "shelf_*" in (catalog.definition("clerk").tool_denylist or ())

    await until(is_read)
    (files / "denied").touch()
    told = await running
    assert told.startswith(f"{agent_id}\nThe tool 'shelf_who' is not allowed for this agent.")


async def test_what_a_command_asked_for_ends_with_it(house: House) -> None:
    agent_id = await house.open_agent("watchman")
    files = house.project / ".retinue" / "agents" / agent_id / "files"
    words = "/skills/tower/tower-cli watch & until [ -e seen ]; do sleep 0.05; done"
    running = asyncio.create_task(house.sh("watchman", words))
    async with asyncio.timeout(PATIENCE_SECONDS):
        await house.tower.begun.wait()
        (files / "seen").touch()
        await running
        await house.tower.ended.wait()


async def test_who_is_offered_no_skill_gets_no_way_back(house: House) -> None:
    told = await house.sh("plain", "ls /skills /run/retinue 2>&1 | wc -l; env | grep -c RETINUE")
    assert told.split("\n")[:2] == ["2", "0"]


async def test_skills_of_the_project_are_read_within_the_lists(house: House) -> None:
    read = await house.use("clerk", "skills_read /skills/letters/SKILL.md")
    assert read.text.endswith("Write them by hand. See forms/a.txt.\n")
    listed = await house.use("clerk", "skills_read /skills/letters")
    assert listed.text.split("\n") == ["SKILL.md", "forms/", "out", "pipe"]
    for path, status in (
        ("/skills/secret-letters/SKILL.md", "refused"),
        ("/skills/nothing/SKILL.md", "refused"),
        ("/skills/letters/../secret-letters/SKILL.md", "error"),
        ("/skills/letters/out", "error"),
        ("/skills/letters/pipe", "error"),
        ("/etc/passwd", "error"),
    ):
        assert (await house.use("clerk", f"skills_read {path}")).status == status
    shown = await house.sh("clerk", "cat /skills/letters/forms/a.txt; ls /skills; touch /skills/x")
    assert "Dear Sir or Madam\nletters\nshelf\n" in shown
    assert "Read-only file system" in shown
    assert "secret" not in shown


async def test_a_pass_stands_in_no_list_of_processes(house: House) -> None:
    agent_id = await house.open_agent("clerk")
    files = house.project / ".retinue" / "agents" / agent_id / "files"
    words = f"touch runs; until [ -e seen ]; do sleep 0.05; done; echo ${{{TOKEN_VARIABLE}:+held}}"
    running = asyncio.create_task(house.sh("clerk", words))
    await eventually(lambda: (files / "runs").exists())
    listed = _command_lines()
    (files / "seen").touch()
    assert (await running).strip() == "held"
    assert any("bwrap" in line for line in listed)
    assert not any(f"{TOKEN_VARIABLE}\0" in line for line in listed)  # set by an argument


def _command_lines() -> list[str]:
    lines: list[str] = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            lines.append((process / "cmdline").read_bytes().decode(errors="replace"))
    return lines
