"""A command line for operations, with options from their schemas.

Uses only the standard library: a copy of this file runs in sandboxes without Retinue.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

Schema = Mapping[str, Any]

_TAKEN = frozenset({"help", "h", "json", "dir", "debug", "as-agent", "idempotency-key"})
_SCALARS: Mapping[str, Callable[[str], Any]] = {"string": str, "integer": int, "number": float}
_TYPING = frozenset({"type", "anyOf", "oneOf", "allOf", "enum", "const"})
_MARK = "argument:"

UNFIT = "invalid_arguments"
"""The error code for invalid arguments."""


class CommandLineError(Exception):
    """The command line is invalid."""


@dataclass(frozen=True)
class Parsed:
    """The operation, its arguments, and the shared options."""

    operation: str
    arguments: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Option(NamedTuple):
    """The documentation of an option."""

    flag: str
    takes: str
    text: str
    is_required: bool
    is_repeated: bool

    @property
    def usage(self) -> str:
        """The syntax in Markdown."""
        if not self.takes:
            return f"`{self.flag}` or `--no-{self.flag.removeprefix('--')}`"
        return f"`{self.flag} {self.takes}`"


class Parser(argparse.ArgumentParser):
    """Accepts values that start with a hyphen, such as `--text -5%` and `--text "- milk"`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._takes_value: dict[str, bool] = {}
        self.commands: dict[str, Parser] = {}  # by name
        super().__init__(*arguments, **options)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        action = super().add_argument(*names, **options)
        self._takes_value |= dict.fromkeys(action.option_strings, action.nargs is None)
        return action

    def error(self, message: str) -> NoReturn:
        raise CommandLineError(message)

    def joined(self, words: Sequence[str]) -> Sequence[str]:
        """Join values that start with a hyphen, but are no option, to their option with `=`."""
        if words and words[0] in self.commands:
            return [words[0], *self.commands[words[0]].joined(words[1:])]
        joined: list[str] = []
        for word in words:
            flag = word.partition("=")[0]
            is_value = word.startswith("-") and not (flag in self._takes_value or is_option(flag))
            if is_value and joined and self._takes_value.get(joined[-1]):
                joined[-1] += f"={word}"
            else:
                joined.append(word)
        return joined


def parser_of(
    program: str,
    description: str,
    operations: Sequence[Mapping[str, Any]],
    *,
    shared: Callable[[argparse.ArgumentParser], None],
) -> Parser:
    """Build a parser; operations have `id`, `summary`, `description` and `parameters`."""
    parser = Parser(prog=program, description=_described(description), allow_abbrev=False)
    commands = parser.add_subparsers(dest="operation", metavar="OPERATION", required=True)
    for operation in operations:
        command = commands.add_parser(
            operation["id"],
            help=_escaped(operation["summary"]),
            description=_described(operation["description"]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.commands[operation["id"]] = command
        shared(command)
        schema: Schema = operation["parameters"]
        required = schema.get("required", ())
        for name, described in schema.get("properties", {}).items():
            _add(command, name, described, schema.get("$defs", {}), is_required=name in required)
    return parser


def parse(parser: Parser, arguments: Sequence[str]) -> Parsed:
    """Parse a command line. Raises `CommandLineError`, and `SystemExit` after printing help."""
    found = vars(parser.parse_args(parser.joined(arguments)))
    return Parsed(
        operation=found.pop("operation"),
        arguments={
            name.removeprefix(_MARK): value
            for name, value in found.items()
            if name.startswith(_MARK)
        },
        options={name: value for name, value in found.items() if not name.startswith(_MARK)},
    )


def options_of(operation: Mapping[str, Any]) -> Sequence[Option]:
    """List the options of an operation for documentation."""
    schema: Schema = operation["parameters"]
    required, definitions = schema.get("required", ()), schema.get("$defs", {})
    options: list[Option] = []
    for name, described in schema.get("properties", {}).items():
        plain = _resolved(described, definitions)
        text = str(described.get("description") or plain.get("description") or "")
        options.append(
            Option(
                flag=flag_of(name),
                takes=_takes(plain, definitions),
                text=" ".join(text.split()),
                is_required=name in required,
                is_repeated=_item(plain, definitions) is not None,
            )
        )
    return options


def is_option(text: str) -> bool:
    return re.fullmatch(r"--([A-Za-z][A-Za-z0-9-]*)?", text) is not None


def flag_of(name: str) -> str:
    """Return the option of a parameter; names of shared options get a prefix."""
    written = name.replace("_", "-")
    return f"--arg-{written}" if written in _TAKEN else f"--{written}"


def written(value: Any, *, is_json: bool) -> str:
    """Format a result: text unchanged, everything else as JSON."""
    if not is_json and (value is None or isinstance(value, str)):
        return "Done." if value is None else value
    return json.dumps(value, ensure_ascii=False, indent=None if is_json else 2)


def _add(
    command: argparse.ArgumentParser,
    name: str,
    described: Schema,
    definitions: Schema,
    *,
    is_required: bool,
) -> None:
    schema = _resolved(described, definitions)
    text = str(described.get("description") or schema.get("description") or "")
    default = described.get("default")
    if default is not False and default not in (None, "", []):
        text = f"{text} [default: {json.dumps(default, ensure_ascii=False)}]"
    common: dict[str, Any] = {
        "dest": f"{_MARK}{name}",
        "default": argparse.SUPPRESS,
        "required": is_required,
        "help": _escaped(text.strip()),
    }
    kind: str = schema.get("type", "")
    if kind == "boolean":
        command.add_argument(flag_of(name), action=argparse.BooleanOptionalAction, **common)
        return
    common["metavar"] = _takes(schema, definitions)
    item = _item(schema, definitions)
    if item is not None:
        common["action"] = "append"
        schema, kind = item, item["type"]
    choices = _choices(schema)
    if choices:
        command.add_argument(flag_of(name), choices=choices, **common)
    elif kind in _SCALARS:
        command.add_argument(flag_of(name), type=_SCALARS[kind], **common)
    else:
        is_text = _may_be_text(schema, definitions)
        command.add_argument(flag_of(name), type=_json_or_text if is_text else _json, **common)


def _takes(schema: Schema, definitions: Schema) -> str:
    schema = _item(schema, definitions) or schema
    kind: str = schema.get("type", "")
    choices = _choices(schema)
    if choices:
        return "{" + ",".join(choices) + "}"
    if kind == "boolean":
        return ""
    if kind in _SCALARS:
        return {"string": "TEXT", "integer": "NUMBER", "number": "NUMBER"}[kind]
    return "TEXT|JSON" if _may_be_text(schema, definitions) else "JSON"


def _choices(schema: Schema) -> Sequence[str] | None:
    choices = schema.get("enum")
    return choices if choices and all(isinstance(one, str) for one in choices) else None


def _item(schema: Schema, definitions: Schema) -> Schema | None:
    """Return the schema of a list's entries, if each can be a separate option."""
    if schema.get("type") != "array":
        return None
    item = _resolved(schema.get("items", {}), definitions)
    return item if item.get("type") in _SCALARS else None


def _may_be_text(schema: Schema, definitions: Schema) -> bool:
    """Whether the schema accepts text: as one of several types, or because it has no type."""
    several = [_resolved(one, definitions) for one in schema.get("anyOf", ())]
    return any(one.get("type") == "string" for one in several) or not _TYPING & schema.keys()


def _resolved(schema: Schema, definitions: Schema) -> Schema:
    """Resolve references and optional types."""
    for _ in range(8):
        if "$ref" in schema:
            schema = definitions.get(schema["$ref"].rpartition("/")[2], {})
            continue
        several = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
        if len(several) != 1:
            break
        schema = several[0]
    return schema


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from error


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _described(text: str) -> str:
    """Escape percent signs only if argparse formats the text, which it does for `%(prog)`."""
    return _escaped(text) if "%(prog)" in text else text
