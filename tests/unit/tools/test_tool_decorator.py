import asyncio
import subprocess
import sys
import threading
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, Field

from retinue.errors import DefinitionError, UsageError
from retinue.records import FileReference
from retinue.tools.execution import Attachment, run_check
from retinue.tools.function_tool import tool
from retinue.tools.port import Effect, ToolContext, ToolOutput, Verified
from tests.unit.tools.support import Context, run


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Line(BaseModel):
    item: str
    count: int = 1


@dataclass
class Address:
    street: str


class Options(TypedDict, total=False):
    gift: bool


@tool(effect="keyed", capabilities=["shop.write"], timeout_seconds=5, output_limit=100)
async def order(
    ctx: ToolContext,
    lines: list[Line],
    to: Address,
    size: Literal["s", "l"] = "s",
    colour: Colour | None = None,
    options: Options | None = None,
    more: Annotated[list[Options], "why"] | None = None,
) -> str:
    """Order things from the shop.

    They arrive tomorrow.

    Args:
        lines: What to order,
            line by line.
        to (Address): Where to.

    Returns:
        The number of the order.
    """
    return f"{ctx.idempotency_key} {lines!r} {to!r} {size} {colour} {options}"


def test_importing_the_decorator_does_not_import_pydantic() -> None:
    code = (
        "import sys\n"
        "from retinue.tools.function_tool import tool\n"
        "@tool\n"
        "def f(a: int) -> int: return a\n"
        "import retinue.tools.execution, retinue.tools.combined_tools\n"
        "assert 'pydantic' not in sys.modules\n"
        "f.as_tool()\n"
        "assert 'pydantic' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_decorated_function_is_a_tool_with_everything_that_was_said() -> None:
    made = order.as_tool()
    assert (made.name, made.effect, made.capabilities) == ("order", "keyed", ("shop.write",))
    assert (made.timeout_seconds, made.output_limit, made.source) == (5, 100, "project")
    assert made.description == (
        "Order things from the shop.\n\nThey arrive tomorrow.\n\n"
        "Returns:\n    The number of the order."
    )


def test_a_bare_decorator_says_that_a_call_happens_once() -> None:
    @tool
    def ping() -> str:
        return "pong"

    made = ping.as_tool()
    assert (made.name, made.effect, made.description) == ("ping", "once", "ping")
    assert made.parameters == {"type": "object", "properties": {}, "additionalProperties": False}


def test_a_decorated_function_can_still_be_called() -> None:
    @tool
    def double(number: int) -> int:
        return 2 * number

    assert double(4) == 8


def test_the_schema_comes_from_types_and_docstring() -> None:
    schema = order.as_tool().parameters
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["lines", "to"]
    properties = schema["properties"]
    assert "ctx" not in properties
    assert properties["lines"] == {
        "description": "What to order, line by line.",
        "type": "array",
        "items": {"$ref": "#/$defs/Line"},
    }
    assert properties["to"]["description"] == "Where to."
    assert properties["size"] == {"type": "string", "enum": ["s", "l"], "default": "s"}
    assert schema["$defs"]["Colour"] == {"type": "string", "enum": ["red", "blue"]}
    assert schema["$defs"]["Line"]["properties"]["count"] == {"type": "integer", "default": 1}
    assert schema["$defs"]["Options"]["properties"] == {"gift": {"type": "boolean"}}


def test_annotations_describe_parameters_before_the_docstring_does() -> None:
    class Place(TypedDict, total=False):
        """Where it goes."""

        street: Annotated[str, "with the number"]
        floor: NotRequired[Annotated[int, Field(description="0 is the ground")]]

    @tool
    def send(
        item: Annotated[str, Field(description="what to send", min_length=1)],
        place: Annotated[Place, "where to send it"],
        tags: list[Annotated[str, "one word"]],
        count: Annotated[int, "how many"] = 1,
        note: str = "",
    ) -> str:
        """Send it.

        Args:
            count: Never seen.
            note: What to write on it.
        """
        return item

    schema = send.as_tool().parameters
    properties = schema["properties"]
    assert {name: value.get("description") for name, value in properties.items()} == {
        "item": "what to send",
        "place": "where to send it",
        "tags": None,
        "count": "how many",
        "note": "What to write on it.",
    }
    assert properties["tags"]["items"]["description"] == "one word"
    place = schema["$defs"]["Place"]
    assert place["description"] == "Where it goes."
    assert place["properties"]["street"]["description"] == "with the number"
    assert place["properties"]["floor"]["description"] == "0 is the ground"
    assert "required" not in place


def test_numpy_and_sphinx_docstrings_describe_parameters_too() -> None:
    @tool
    def numpy(a: int, b: int) -> None:
        """Add.

        Parameters
        ----------
        a : int
            The first.
        b
            The second.

        Notes
        -----
        Fast.
        """

    @tool
    def sphinx(a: int) -> None:
        """Add.

        :param int a: The first
            of them.
        :rtype: None
        """

    made = numpy.as_tool()
    assert made.parameters["properties"]["a"]["description"] == "The first."
    assert made.parameters["properties"]["b"]["description"] == "The second."
    assert made.description == "Add.\n\nNotes\n-----\nFast."
    assert sphinx.as_tool().parameters["properties"]["a"]["description"] == "The first of them."
    assert sphinx.as_tool().description == "Add."


async def test_arguments_arrive_as_the_types_that_the_function_names(ctx: Context) -> None:
    done = await run(
        order,
        ctx,
        lines=[{"item": "tea"}],
        to={"street": "High St"},
        colour="red",
        options={"gift": True},
        output_limit=1000,
    )
    assert done.output.text == (
        "key-1 [Line(item='tea', count=1)] Address(street='High St') s Colour.RED {'gift': True}"
    )


def test_wrong_arguments_are_all_named_with_what_was_expected() -> None:
    with pytest.raises(UsageError) as caught:
        order.as_tool().validate(
            {"lines": [{"item": "tea", "count": "many"}], "size": "xl", "tip": 3}
        )
    fields: Any = caught.value.details["fields"]
    assert set(fields) == {"lines.0.count", "to", "size", "tip"}
    assert "valid integer" in fields["lines.0.count"]
    assert "'many'" in fields["lines.0.count"]
    assert "missing" in fields["to"]
    assert "'s' or 'l'" in fields["size"]
    assert "unknown parameter" in fields["tip"]
    assert "'lines', 'to'" in fields["tip"]
    assert all(repr(field) in caught.value.message for field in fields)


async def test_a_call_with_wrong_arguments_never_reaches_the_function(ctx: Context) -> None:
    calls: list[int] = []

    @tool
    def note(number: int) -> None:
        calls.append(number)

    done = await run(note, ctx, number="x", extra=1)
    assert done.status == "error"
    assert "'extra'" in done.output.text
    assert calls == []


def test_parameters_may_have_the_names_of_model_attributes() -> None:
    @tool
    def odd(json: str, copy: int, model_config: bool, schema: str = "s", _private: int = 0) -> None:
        pass

    made = odd.as_tool()
    assert list(made.parameters["properties"]) == [
        "json", "copy", "model_config", "schema", "_private",
    ]  # fmt: skip
    given = {"json": "{}", "copy": 1, "model_config": True}
    assert made.validate(given) == given


async def test_a_sync_function_runs_in_a_thread(ctx: Context) -> None:
    @tool
    def where() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert (await run(where, ctx)).output.text == "false"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (None, "Done."),
        ({"a": [1, 2.5, None], "ü": True}, '{"a":[1,2.5,null],"ü":true}'),
        ([1, "a"], '[1,"a"]'),
        (Line(item="tea"), '{"item":"tea","count":1}'),
        ([Address("High St")], '[{"street":"High St"}]'),
        ({"on": date(2026, 1, 2), "colour": Colour.RED}, '{"on":"2026-01-02","colour":"red"}'),
        ("a\ud800b\x00", "a�b"),
        ({"a": "\udfff"}, '{"a":"�"}'),
    ],
)
async def test_results_become_text(ctx: Context, value: object, text: str) -> None:
    @tool
    def give() -> object:
        return value

    assert (await run(give, ctx)).output.text == text


async def test_bytes_and_attachments_become_files_of_the_agent(ctx: Context) -> None:
    @tool
    def draw() -> list[object]:
        return ["Two pictures.", b"\x89PNG\r\n\x1a\n...", Attachment("../../b.txt", b"text")]

    output = (await run(draw, ctx)).output
    assert [file.path for file in output.files] == [
        "/attachments/be2974546978-draw.png",
        "/attachments/be2974546978-b.txt",
    ]
    assert output.text.startswith(
        "Two pictures.\nFile: /attachments/be2974546978-draw.png (image/png"
    )
    assert await ctx.files.read("/attachments/be2974546978-b.txt") == b"text"


async def test_a_file_reference_and_a_whole_output_pass_unchanged(ctx: Context) -> None:
    file = FileReference(id="1", name="a.txt", mime_type="text/plain", size=1, path="/a.txt")

    @tool
    def refer() -> FileReference:
        return file

    @tool
    def whole() -> ToolOutput:
        return ToolOutput(text="no", is_error=True)

    assert (await run(refer, ctx)).output.files == (file,)
    done = await run(whole, ctx)
    assert (done.status, done.output) == ("error", ToolOutput(text="no", is_error=True))


async def test_a_result_that_is_not_json_is_an_error_that_names_its_type(ctx: Context) -> None:
    @tool
    def lock() -> object:
        return threading.Lock()

    done = await run(lock, ctx)
    assert done.status == "error"
    assert "neither text nor JSON" in done.output.text


@pytest.mark.parametrize("name", ["", "with space", "naïve", "new\nline", "x" * 65, "a/b"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(DefinitionError, match="not a valid tool name"):
        tool(name=name)(lambda: None)


def test_the_engines_prefix_is_refused() -> None:
    with pytest.raises(DefinitionError, match="reserved"):
        tool(name="system_stop")(lambda: None)


def test_an_unknown_effect_is_refused() -> None:
    effect: Any = "sometimes"
    with pytest.raises(DefinitionError, match="pure, keyed, verifiable, once"):
        tool(name="odd", effect=effect)(lambda: None)


def test_parameters_that_a_model_cannot_name_are_refused() -> None:
    def listed(*many: int) -> None: ...

    def mapped(**many: int) -> None: ...

    def late(a: int, ctx: ToolContext) -> None: ...

    cases: Any = ((listed, r"\*many"), (mapped, r"\*\*many"), (late, "first"))
    for function, reason in cases:
        with pytest.raises(DefinitionError, match=reason):
            tool(function).as_tool()


def test_a_type_without_a_schema_is_refused_with_file_and_line() -> None:
    @tool
    def locked(lock: threading.Thread) -> None:
        pass

    with pytest.raises(DefinitionError, match=r"test_tool_decorator\.py:\d+: tool locked"):
        locked.as_tool()


def test_verifiable_needs_a_check() -> None:
    @tool(effect="verifiable")
    def pay(amount: int) -> None:
        pass

    with pytest.raises(DefinitionError, match=r"@pay\.check"):
        pay.as_tool()


@pytest.mark.parametrize("effect", ["verifiable", "once"])
async def test_a_check_takes_some_of_the_parameters(ctx: Context, effect: Effect) -> None:
    @tool(effect=effect)
    def pay(amount: int, to: str = "shop") -> None:
        pass

    @pay.check
    async def paid(ctx: ToolContext, amount: int) -> Verified | bool:
        return Verified(happened=amount == 3, output=ToolOutput(text=ctx.idempotency_key))

    found = await run_check(pay.as_tool(), ctx, {"amount": "3", "to": "me"}, timeout_seconds=5)
    assert found == Verified(happened=True, output=ToolOutput(text="key-1"))


def test_a_check_with_a_parameter_of_its_own_is_refused() -> None:
    def paid(other: int) -> bool:
        return bool(other)

    @tool(effect="verifiable", check=paid)
    def pay(amount: int) -> None:
        pass

    with pytest.raises(
        DefinitionError, match="its check has parameters that the tool does not: other"
    ):
        pay.as_tool()


async def test_a_check_that_fails_or_hangs_or_mumbles_gives_no_answer(ctx: Context) -> None:
    def fails() -> bool:
        raise SystemExit(1)

    def mumbles() -> Any:
        return "yes"

    async def hangs() -> bool:
        await asyncio.sleep(60)
        return True

    for check in (fails, mumbles, hangs):
        pay = tool(name="pay", effect="verifiable", check=check)(lambda: None)
        assert await run_check(pay.as_tool(), ctx, {}, timeout_seconds=0.1) is None


def test_a_function_that_belongs_to_no_module_can_be_a_tool() -> None:
    def weigh(thing: str) -> str:
        """Weigh it."""
        return thing

    setattr(weigh, "__module__", None)  # noqa: B010  its type says that this cannot be
    assert "thing" in tool(name="weigh")(weigh).as_tool().parameters["properties"]
