"""Variables in turns: what models are shown, what tools read, and what nobody sees."""

import logging
from pathlib import Path

import pytest

from retinue.errors import NotFoundError, UsageError
from retinue.events import ToolEvent
from retinue.ids import LOCAL_OWNER
from retinue.models.scripted import ScriptedModel
from retinue.tools.function_tool import tool
from retinue.tools.port import ToolContext
from tests.unit.engine.conftest import Start
from tests.unit.engine.support import tool_then_answer

SECRET = "hunter2-and-more"


def defined(**fields: str) -> dict[str, str]:
    lines = ['name = "helper"', *(f"{name} = {value}" for name, value in fields.items())]
    return {"helper.toml": "\n".join(lines)}


TOWN = defined(
    systemPrompt='"You serve {{TOWN}}."',
    variables='[{name = "TOWN", type = "text", required = true}]',
)


@tool
def show(ctx: ToolContext) -> str:
    """Say a secret."""
    ctx.progress(f"using {ctx.env('TOKEN')}")
    return f"the token is {ctx.env('TOKEN')}, and {ctx.env('NOWHERE', 'nothing')} more"


@tool
def fail(ctx: ToolContext) -> str:
    """Fail with a secret."""
    raise RuntimeError(f"no entry with {ctx.env('TOKEN')}")


@tool(variables=[{"name": "TOKEN", "required": True}])
def guarded(ctx: ToolContext) -> str:
    """Use a secret."""
    return f"{len(ctx.env('TOKEN'))} characters"


def files_with(value: str, folder: Path) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if value.encode() in path.read_bytes()]


async def test_a_prompt_shows_each_agent_its_own_text(start: Start) -> None:
    model = ScriptedModel(lambda _: "hello")
    kit = await start(model, definitions=TOWN)
    ours = await kit.engine.create(LOCAL_OWNER, "helper", env={"TOWN": "Ghent"})
    theirs = await kit.engine.create(LOCAL_OWNER, "helper", env={"TOWN": "Bruges"})
    await kit.ask(ours, "hi")
    await kit.ask(theirs, "hi")
    assert [request.system for request in model.requests] == [
        "You serve Ghent.",
        "You serve Bruges.",
    ]


async def test_a_turn_without_a_required_variable_fails_before_a_model_is_asked(
    start: Start,
) -> None:
    model = ScriptedModel(lambda _: "hello")
    kit = await start(model, definitions=TOWN)
    agent = await kit.agent()
    outcome = await kit.ask(agent, "hi")
    assert outcome.item.fate == "failed"
    assert "needs a value for TOWN" in outcome.item.reason
    assert f"retinue env set TOWN --agent {agent.id}" in outcome.item.reason
    assert not model.requests
    await kit.engine.variables.set_account(LOCAL_OWNER, "TOWN", "Ghent")
    assert (await kit.ask(agent, "again")).item.fate == "answered"


async def test_a_tool_without_its_required_variable_is_not_run(start: Start) -> None:
    kit = await start(tool_then_answer("guarded"), tools=[guarded])
    agent = await kit.agent()
    await kit.ask(agent, "go")
    (result,) = [told for told in await kit.kinds(agent) if told.startswith("tool")]
    assert result.startswith("tool guarded error tool 'guarded' needs a value for TOKEN")
    await kit.engine.variables.set_agent(LOCAL_OWNER, agent.id, {"TOKEN": SECRET})
    await kit.ask(agent, "again")
    assert f"tool guarded ok {len(SECRET)} characters" in await kit.kinds(agent)


async def test_what_a_tool_says_of_a_secret_is_blotted_out(start: Start) -> None:
    kit = await start(tool_then_answer("show"), tools=[show])
    agent = await kit.engine.create(LOCAL_OWNER, "helper", env={"TOKEN": SECRET})
    shown: list[str] = []
    events = kit.engine.subscribe(LOCAL_OWNER, after=None)
    posted = await kit.post(agent, "go")
    async for event in events:
        if isinstance(event, ToolEvent) and event.state == "progress":
            shown.append(event.text)
            break
    await kit.outcome(posted)
    assert shown == ["using [secret TOKEN]"]
    assert "tool show ok the token is [secret TOKEN], and nothing more" in await kit.kinds(agent)


@pytest.mark.parametrize(
    ("other", "told"), [("text", "it is Ghent-on-Lys"), ("secret", "it is [secret TOWN]")]
)
async def test_what_only_tools_declare_is_shown_if_all_of_them_call_it_text(
    start: Start, other: str, told: str
) -> None:
    @tool(variables=[{"name": "TOWN", "type": "text"}])
    def where(ctx: ToolContext) -> str:
        """Tell the town."""
        return f"it is {ctx.env('TOWN')}"

    @tool(variables=[{"name": "TOWN", "type": other}])
    def elsewhere() -> str:
        """Tell nothing."""
        return ""

    kit = await start(tool_then_answer("where"), tools=[where, elsewhere])
    agent = await kit.engine.create(LOCAL_OWNER, "helper", env={"TOWN": "Ghent-on-Lys"})
    await kit.ask(agent, "go")
    assert f"tool where ok {told}" in await kit.kinds(agent)


async def test_an_error_with_a_secret_is_blotted_out_of_history_and_log(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    kit = await start(tool_then_answer("fail"), tools=[fail])
    agent = await kit.engine.create(LOCAL_OWNER, "helper", env={"TOKEN": SECRET})
    await kit.ask(agent, "go")
    (result,) = [told for told in await kit.kinds(agent) if told.startswith("tool")]
    assert "no entry with [secret TOKEN]" in result
    assert any("tool failed" in record.message for record in caplog.records)
    assert all(SECRET not in str(vars(record)) for record in caplog.records)


async def test_values_survive_a_restart_and_stand_nowhere_in_clear(
    start: Start, tmp_path: Path
) -> None:
    kit = await start(tool_then_answer("guarded"), tools=[guarded])
    agent = await kit.engine.create(LOCAL_OWNER, "helper", env={"TOKEN": SECRET})
    await kit.restart()
    await kit.ask(agent, "go")
    assert f"tool guarded ok {len(SECRET)} characters" in await kit.kinds(agent)
    assert files_with(SECRET, tmp_path) == []


async def test_values_of_agents_are_unset_and_missing_ones_are_told(start: Start) -> None:
    kit = await start([])
    agent = await kit.engine.create(LOCAL_OWNER, "helper", env={"A": "one", "B": "two"})
    office = kit.engine.variables
    await office.set_agent(LOCAL_OWNER, agent.id, {"A": None})
    assert [one.name for one in await office.of_agent(LOCAL_OWNER, agent.id)] == ["B"]
    with pytest.raises(NotFoundError, match="no variable 'A'"):
        await office.set_agent(LOCAL_OWNER, agent.id, {"A": None})
    with pytest.raises(UsageError, match="not a valid variable name"):
        await office.set_agent(LOCAL_OWNER, agent.id, {"not a name": "x"})


async def test_declared_variables_are_listed_with_where_they_are_set(start: Start) -> None:
    kit = await start(
        [],
        tools=[guarded],
        definitions=defined(
            systemPrompt='"{{TOWN}}"',
            variables='[{name = "TOWN", type = "text"}, {name = "FREE", description = "Why."}]',
            env='{TOWN = "Ghent"}',
        ),
    )
    agent = await kit.engine.create(LOCAL_OWNER, "helper", env={"EXTRA": "x"})
    await kit.engine.variables.set_account(LOCAL_OWNER, "TOKEN", SECRET)
    found = await kit.engine.variables.of_agent(LOCAL_OWNER, agent.id)
    assert [(one.name, one.type, one.is_required, one.scope) for one in found] == [
        ("EXTRA", "secret", False, "thread"),
        ("FREE", "secret", False, None),
        ("TOKEN", "secret", True, "account"),
        ("TOWN", "text", False, "agent"),
    ]
