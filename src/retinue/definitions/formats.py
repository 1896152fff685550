"""Parsers for TOML, JSON and Markdown with front matter; errors include the line."""

import json
import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any, cast

import yaml

from retinue.errors import DefinitionError
from retinue.settings.toml import TomlError, parse_toml

Table = Mapping[str, object]

_FENCE = re.compile(r"^---[ \t]*$", re.MULTILINE)


def read_toml(text: str, file: str) -> Table:
    try:
        return parse_toml(text)
    except TomlError as error:
        message = f"not valid TOML: {error.reason}"
        raise DefinitionError(message, file=file, line=error.line) from error


def read_json(text: str, file: str) -> Table:
    try:
        value = cast("object", json.loads(text, object_pairs_hook=_without_repeats))
    except json.JSONDecodeError as error:
        message = f"not valid JSON: {error.msg}"
        raise DefinitionError(message, file=file, line=error.lineno) from error
    except ValueError as error:
        raise DefinitionError(f"not valid JSON: {error}", file=file) from error
    return _table(value, file, "a JSON object")


def read_markdown(text: str, file: str, *, body_key: str) -> Table:
    """Parse front matter, with the body as an additional key; without front matter, all is body."""
    matter, body = _split(text, file)
    try:
        value = cast("object", yaml.load(matter, _FrontMatterLoader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        # The opening fence is the first line of the file; marks are zero-based.
        line = mark.line + 2 if mark else None
        message = f"front matter is not valid YAML: {error.problem or error.context}"
        raise DefinitionError(message, file=file, line=line) from error
    except yaml.YAMLError as error:
        message = f"front matter is not valid YAML: {error}"
        raise DefinitionError(message, file=file) from error
    table = _table({} if value is None else value, file, "keys and values in the front matter")
    if not body.strip():
        return table
    if body_key in table:
        message = "is set twice: here and as the text below the front matter"
        raise DefinitionError(message, file=file, field=body_key)
    return {**table, body_key: body.strip()}


READERS: Mapping[str, Callable[[str, str], Table]] = {".toml": read_toml, ".json": read_json}


def _split(text: str, file: str) -> tuple[str, str]:
    fences = list(_FENCE.finditer(text))[:2]
    if not fences or fences[0].start() != 0:
        return "", text
    if len(fences) == 1:
        raise DefinitionError("the front matter has no closing ---", file=file, line=1)
    opening, closing = fences
    return text[opening.end() + 1 : closing.start()], text[closing.end() :]


def _table(value: object, file: str, expected: str) -> Table:
    if not isinstance(value, Mapping):
        raise DefinitionError(f"expected {expected}", file=file)
    return cast("Table", value)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse repeated keys: one of two denylists would be dropped silently."""
    table: dict[str, object] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"key {key!r} is set twice")
        table[key] = value
    return table


class _FrontMatterLoader(yaml.SafeLoader):
    """YAML that refuses repeated keys, as for JSON."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    problem = f"key {key.value!r} is set twice"
                    raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
                seen.add(key.value)
        return super().construct_mapping(node, deep)
