"""Tools by their fields."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from retinue.definitions.catalog_reader import CatalogReader, KnownTools
from retinue.errors import DefinitionError, UsageError
from retinue.tools.declared_tools import declared_tools
from retinue.tools.port import Tool, ToolContext, ToolOutput
from retinue.tools.project_tools import ProjectTools
from retinue.tools.tool_definition import DefinedTool, define_tool
from tests.unit.tools.support import Context

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


async def given(ctx: Context, tool: DefinedTool, **arguments: object) -> ToolOutput:
    made = tool.as_tool()
    output = await made.invoke(ctx, made.validate(arguments))
    assert isinstance(output, ToolOutput)
    return output


async def test_a_schema_gives_the_function_a_context_and_the_arguments(ctx: Context) -> None:
    async def execute(state: ToolContext, args: dict[str, str]) -> dict[str, object]:
        return {"status": "success", "result": f"{args['city']} for {state.definition}"}

    made = define_tool(name="weather", description="Tells it.", args=SCHEMA, execute=execute)
    tool = made.as_tool()

    assert (tool.name, tool.description, tool.parameters) == ("weather", "Tells it.", SCHEMA)
    assert (await given(ctx, made, city="Rome")).text == "Rome for helper"
    with pytest.raises(UsageError, match="'city': missing"):
        tool.validate({})


async def test_a_failure_told_by_its_status_is_an_error(ctx: Context) -> None:
    def execute(args: object) -> dict[str, str]:
        del args
        return {"status": "error", "error": "no weather"}

    made = define_tool(name="fails", args=SCHEMA, execute=execute)
    output = await given(ctx, made, city="Rome")

    assert (output.text, output.is_error) == ("no weather", True)


async def test_a_pydantic_model_gives_the_function_its_instance(ctx: Context) -> None:
    class Place(BaseModel):
        city: str
        days: int = 1

    @define_tool(args=Place, effect="pure", timeoutSeconds=5, output_limit=10)
    async def forecast(ctx: ToolContext, place: Place) -> str:
        """Tell the weather of some days."""
        del ctx
        return place.city * place.days

    tool = forecast.as_tool()
    assert (tool.name, tool.effect, tool.timeout_seconds, tool.output_limit) == (
        "forecast",
        "pure",
        5,
        10,
    )
    assert tool.description == "Tell the weather of some days."
    assert (await given(ctx, forecast, city="Rome", days=2)).text == "RomeRome"


async def test_without_a_schema_it_is_the_decorator(ctx: Context) -> None:
    @define_tool(description="Adds.", variables=["KEY", {"name": "CITY", "type": "text"}])
    def add(a: int, b: int = 1) -> int:
        return a + b

    tool = add.as_tool()
    assert tool.description == "Adds."
    assert tool.parameters["required"] == ["a"]
    assert [(variable.name, variable.type) for variable in tool.variables] == [
        ("KEY", "secret"),
        ("CITY", "text"),
    ]
    assert (await given(ctx, add, a=2)).text == "3"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"arguments": SCHEMA}, "unknown key 'arguments'"),
        ({"timeoutSecond": 3}, "unknown key 'timeoutSecond'; did you mean 'timeoutSeconds'?"),
        ({"timeout_second": 3}, "unknown key 'timeout_second'; did you mean 'timeout_seconds'?"),
        ({"args": {"type": "string"}}, "args: expected a schema of type object"),
        ({"args": 3}, "args: expected a JSON schema or a pydantic model"),
        ({"args": SCHEMA, "effect": "verifiable"}, "check: is needed for the effect"),
        ({"name": "two words"}, "'two words' is not a valid tool name"),
    ],
)
def test_fields_that_do_not_fit_are_refused(fields: dict[str, object], expected: str) -> None:
    def execute(args: object) -> None:
        """Do nothing."""

    with pytest.raises(DefinitionError, match=expected):
        define_tool(**{"execute": execute, "name": "t", **fields}).as_tool()


DEFINED = """
from retinue import define_tool

define_tool(name="weather", description="Tells it.", execute=lambda: "sunny")
"""


async def test_tools_are_defined_in_tools_and_beside_definitions(tmp_path: Path) -> None:
    for folder in ("tools", "agents"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tools" / "weather.py").write_text(DEFINED)
    in_agents = DEFINED.replace("weather", "tides") + "\nfrom retinue import define_agent, "
    in_agents += "define_prompt\ndefine_prompt(name='p', prompt='', tools=['tides'])\n"
    in_agents += "define_agent(name='a', sideA={'prompt': 'p'})\n"
    (tmp_path / "agents" / "a.py").write_text(in_agents)
    catalog = CatalogReader(tmp_path).read(KnownTools(names=frozenset({"weather"})))

    assert [str(problem) for problem in catalog.errors()] == []
    assert set(declared_tools(catalog.tools())[0]) == {"tides"}
    tools = ProjectTools(tmp_path / "tools").read()
    assert isinstance(tools["weather"], Tool)


async def test_hooks_and_agents_among_the_tools_are_refused_by_place(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    text = "from retinue import define_hook\ndefine_hook(hook='filter_messages', execute=print)"
    (tmp_path / "tools" / "t.py").write_text(text)
    reader = ProjectTools(tmp_path / "tools")

    assert reader.read() == {}
    assert [str(problem) for problem in reader.problems()] == [
        "tools/t.py:2: only tools can be defined here; hooks, prompts and agents have their own "
        "folders"
    ]
