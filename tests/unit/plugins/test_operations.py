"""Operations: declared once, from functions or methods, with a face as tools."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.errors import DefinitionError, NotFoundError
from retinue.plugins.operation_function import operation, operations_of
from retinue.plugins.operation_tools import plugin_tools
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.plugin_registry import combined_plugins
from retinue.plugins.port import OperationContext, Plugin
from retinue.testing.fake_clock import FakeClock
from retinue.tools.port import Tool
from tests.unit.tools.support import Context, run


@dataclass
class Book:
    title: str
    pages: int


@operation(effect="pure", capabilities=["shelf.read"])
def find(title: str, most: int = 3) -> Book:
    """Find a book.

    By its whole title.

    Args:
        title: What is on its back.
        most: How many.
    """
    if title == "none":
        raise NotFoundError("there is no such book")
    return Book(title, most)


@operation(effect="keyed")
async def put_back(ctx: OperationContext, title: str) -> str:
    return f"{ctx.owner} {ctx.agent_id} {ctx.idempotency_key} {title}"


SHELF = define_plugin(id="book-shelf", description="Books.", operations=[find, put_back])


def tools_of(*plugins: Plugin) -> Mapping[str, Tool]:
    return plugin_tools({plugin.id: plugin for plugin in plugins}, FakeClock())


async def test_an_operation_is_a_tool_with_its_schema_effect_and_capabilities() -> None:
    tools = tools_of(SHELF)
    assert list(tools) == ["book_shelf_find", "book_shelf_put_back"]
    tool = tools["book_shelf_find"]
    assert tool.source == "plugin:book-shelf"
    assert (tool.effect, tuple(tool.capabilities)) == ("pure", ("shelf.read",))
    assert tool.description == "Find a book.\n\nBy its whole title."
    assert tool.parameters["properties"]["title"]["description"] == "What is on its back."
    assert SHELF.operations[0].summary == "Find a book."


async def test_a_tool_gives_json_or_the_operations_own_text(tmp_path: Path) -> None:
    tools = tools_of(SHELF)
    found = await run(tools["book_shelf_find"], Context(tmp_path), title="Emma")
    assert found.output.text == '{"title":"Emma","pages":3}'
    told = await run(tools["book_shelf_put_back"], Context(tmp_path), title="Emma")
    assert told.output.text == f"local {'a' * 24} key-1 Emma"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"titel": "Emma"}, "'title': missing"),
        ({"title": "Emma", "most": "many"}, "'most'"),
        ({"title": "none"}, "there is no such book"),
    ],
)
async def test_what_is_wrong_with_a_call_is_a_result(
    tmp_path: Path, arguments: dict[str, Any], said: str
) -> None:
    tools = tools_of(SHELF)
    finished = await run(tools["book_shelf_find"], Context(tmp_path), **arguments)
    assert finished.output.is_error
    assert said in finished.output.text


class Counter:
    """An object whose methods are operations."""

    def __init__(self) -> None:
        self.count = 0

    @operation(effect="once")
    def add(self, number: int) -> int:
        self.count += number
        return self.count

    @operation(id="read-out", effect="pure")
    async def value(self, ctx: OperationContext) -> int:
        return self.count


async def test_methods_are_operations_of_their_own_object(tmp_path: Path) -> None:
    one, other = Counter(), Counter()
    tools = tools_of(
        define_plugin(id="one", operations=operations_of(one)),
        define_plugin(id="other", operations=operations_of(other)),
    )
    assert list(tools) == ["one_add", "one_read_out", "other_add", "other_read_out"]
    await run(tools["one_add"], Context(tmp_path), number=2)
    assert (await run(tools["one_read_out"], Context(tmp_path))).output.text == "2"
    assert other.count == 0
    assert one.add(1) == 3


def test_a_wrong_declaration_is_told_by_file_and_line() -> None:
    for plugin_id, operations, said in (
        ("Shelf", [find], "invalid plugin id 'Shelf'"),
        ("s" * 61, [find], "too long"),
        ("shelf", [find, find], "'find' is defined twice"),
        ("system", [find], "'system_find' is reserved"),
        ("shelf", cast("Any", [find.function]), "'find' is not an operation: add @operation"),
    ):
        with pytest.raises(DefinitionError, match=said) as raised:
            define_plugin(id=plugin_id, operations=operations)
        assert raised.value.file == __file__
        assert raised.value.line
    with pytest.raises(DefinitionError, match="no JSON schema") as raised:

        @operation
        def strange(thing: Context) -> None: ...

        define_plugin(id="odd", operations=[strange])
    assert raised.value.field == "operation strange"
    with pytest.raises(DefinitionError, match="unknown effect 'twice'"):
        operation(effect="twice")(find.function)  # pyright: ignore[reportArgumentType]


async def test_of_two_plugins_with_one_id_the_first_stands_and_the_second_is_told() -> None:
    first = define_plugin(id="shelf", operations=[find])
    second = define_plugin(id="shelf", operations=[put_back])
    plugins, problems = combined_plugins([{"shelf": first}, {"shelf": second}])
    assert plugins["shelf"] is first
    assert "the plugin 'shelf' already exists" in str(problems[0])


async def test_of_two_plugins_whose_tools_have_one_name_the_first_stands() -> None:
    find_in_shelf = operation(id="shelf-find")(find.function)
    first = define_plugin(id="book", operations=[find_in_shelf])
    plugins, problems = combined_plugins([{"book": first}, {"book-shelf": SHELF}])
    assert plugins == {"book": first}
    assert "the tool 'book_shelf_find' already exists in the plugin 'book'" in str(problems[0])
