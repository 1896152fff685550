"""Options from schemas: what is typed becomes the arguments that the operation takes."""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import pytest

from retinue.plugins.command_line import CommandLineError, options_of, parse, parser_of, written
from retinue.plugins.operation_function import operation
from retinue.plugins.plugin_definition import define_plugin
from retinue.plugins.skill_folders import described


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Place:
    street: str
    number: int


@operation
def paint(
    text: str,
    count: int = 1,
    share: float | None = None,
    is_dry: bool = False,
    colour: Colour = Colour.RED,
    mode: Literal["fast", "slow"] | None = None,
    tags: list[str] | None = None,
    sizes: list[int] = [],  # noqa: B006  never changed
    place: Place | None = None,
    rows: list[dict[str, int]] | None = None,
    json: str = "",
    shades: list[Colour] | None = None,
    number: int | str = 0,
    anything: Any = None,
) -> None:
    """Paint something, 100 % of it.

    Args:
        text: What is painted.
        colour: Which one.
    """


PLUGIN = described(define_plugin(id="paint", description="Paint: 5 %.", operations=[paint]))


def typed(*words: str) -> dict[str, Any]:
    def share(command: argparse.ArgumentParser) -> None:
        command.add_argument("--json", action="store_true")

    parser = parser_of("paint-cli", PLUGIN["description"], PLUGIN["operations"], shared=share)
    return dict(parse(parser, ["paint", "--text", "t", *words]).arguments)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ([], {}),
        (["--count", "3"], {"count": 3}),
        (["--count=-3"], {"count": -3}),
        (["--share", "0.5"], {"share": 0.5}),
        (["--is-dry"], {"is_dry": True}),
        (["--no-is-dry"], {"is_dry": False}),
        (["--colour", "blue"], {"colour": "blue"}),
        (["--mode", "slow"], {"mode": "slow"}),
        (["--tags", "a", "--tags", "b,c"], {"tags": ["a", "b,c"]}),
        (["--sizes", "1", "--sizes", "2"], {"sizes": [1, 2]}),
        (["--place", '{"street": "S", "number": 1}'], {"place": {"street": "S", "number": 1}}),
        (["--rows", '[{"a": 1}]'], {"rows": [{"a": 1}]}),
        (["--json", "--arg-json", "x"], {"json": "x"}),
        (["--shades", "red", "--shades", "blue"], {"shades": ["red", "blue"]}),
        (["--number", "5"], {"number": 5}),
        (["--number", "five"], {"number": "five"}),
        (["--count", "-3"], {"count": -3}),
        (["--anything", "a word"], {"anything": "a word"}),
        (["--anything", "[1]"], {"anything": [1]}),
        (
            ["--tags", "-5%", "--tags", "- a list", "--tags=--x"],
            {"tags": ["-5%", "- a list", "--x"]},
        ),
        (
            ["--tags", "-hot", "--tags", "---", "--is-dry"],
            {"tags": ["-hot", "---"], "is_dry": True},
        ),
    ],
)
def test_options_become_arguments_that_fit(words: Sequence[str], given: dict[str, Any]) -> None:
    arguments = typed(*words)
    assert arguments == {"text": "t", **given}
    paint.as_operation("paint").validate(arguments)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--count", "many"], "argument --count: invalid int value: 'many'"),
        (["--colour", "green"], "argument --colour: invalid choice: 'green'"),
        (["--place", "{"], "argument --place: not JSON"),
        (["--tex", "t"], "unrecognized arguments: --tex t"),
        (["more"], "unrecognized arguments: more"),
        (["--tags", "--is-dry"], "argument --tags: expected one argument"),
        (["--tags", "--tag=x"], "argument --tags: expected one argument"),
        (["--tags", "--Tag"], "argument --tags: expected one argument"),
        (["--tags"], "argument --tags: expected one argument"),
        (["--shades", "green"], "argument --shades: invalid choice: 'green'"),
    ],
)
def test_what_does_not_fit_is_told_by_option(words: Sequence[str], said: str) -> None:
    with pytest.raises(CommandLineError, match=said.replace("(", r"\(")):
        typed(*words)


def test_help_tells_types_defaults_and_texts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        typed("--help")
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "Paint something, 100 % of it." in shown
    assert "--colour {red,blue}" in shown
    assert 'Which one. [default: "red"]' in " ".join(shown.split())


def test_documentation_says_the_same() -> None:
    told = {option.flag: option for option in options_of(PLUGIN["operations"][0])}
    assert told["--text"] == ("--text", "TEXT", "What is painted.", True, False)
    assert told["--sizes"] == ("--sizes", "NUMBER", "", False, True)
    assert told["--mode"].takes == "{fast,slow}"
    assert told["--place"].takes == "JSON"
    assert told["--text"].usage == "`--text TEXT`"
    assert told["--is-dry"].usage == "`--is-dry` or `--no-is-dry`"


def test_results_are_printed_as_text_or_as_json() -> None:
    assert written("Ä", is_json=False) == "Ä"
    assert written("Ä", is_json=True) == '"Ä"'
    assert (written(None, is_json=False), written(None, is_json=True)) == ("Done.", "null")
    assert written({"a": [1]}, is_json=True) == '{"a": [1]}'
    assert written({"a": [1]}, is_json=False) == '{\n  "a": [\n    1\n  ]\n}'
