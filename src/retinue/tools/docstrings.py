"""Parses docstrings into a description and parameter descriptions."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_GOOGLE = re.compile(r"(Args|Arguments|Parameters|Params):\s*")
_GOOGLE_ENTRY = re.compile(r"(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")
_NUMPY = re.compile(r"(Other )?Parameters\s*")
_NUMPY_ENTRY = re.compile(r"(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?")
_SPHINX = re.compile(r":(?:param|parameter|arg|argument)\s+(?:[^:]*\s)?(\w+)\s*:\s*(.*)")
_SPHINX_TYPE = re.compile(r":(?:type|rtype|raises?)\b[^:]*:")
_UNDERLINE = re.compile(r"-{3,}\s*")


@dataclass(frozen=True, slots=True)
class Docstring:
    """The tool's description, and the descriptions of its parameters."""

    description: str
    parameters: Mapping[str, str]


def docstring_of(function: Callable[..., Any]) -> Docstring:
    """Parse Google, NumPy and Sphinx style; all other text is the description."""
    lines = (inspect.getdoc(function) or "").splitlines()
    kept: list[str] = []
    found: dict[str, str] = {}
    position = 0
    while position < len(lines):
        line = lines[position]
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if _GOOGLE.fullmatch(line):
            position = _collect(found, _google(lines, position + 1))
        elif _NUMPY.fullmatch(line) and _UNDERLINE.fullmatch(following):
            position = _collect(found, _numpy(lines, position + 2))
        elif (match := _SPHINX.match(line)) is not None:
            position, text = _indented(lines, position + 1, 0)
            found[match[1]] = _joined([match[2], *text])
        elif _SPHINX_TYPE.match(line):
            position, _ = _indented(lines, position + 1, 0)
        else:
            kept.append(line)
            position += 1
    return Docstring(re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(), found)


def _collect(found: dict[str, str], entries: Iterator[tuple[int, str, str]]) -> int:
    position = 0
    for position, name, text in entries:  # noqa: B007  (the last position is where the section ends)
        if name:
            found[name] = text
    return position


def _google(lines: list[str], position: int) -> Iterator[tuple[int, str, str]]:
    while position < len(lines) and (not lines[position].strip() or _indent(lines[position])):
        line = lines[position]
        match = _GOOGLE_ENTRY.fullmatch(line.strip())
        position, text = _indented(lines, position + 1, _indent(line))
        if match is not None:
            yield position, match[1], _joined([match[2], *text])
    yield position, "", ""


def _numpy(lines: list[str], position: int) -> Iterator[tuple[int, str, str]]:
    while position < len(lines):
        line = lines[position]
        following = lines[position + 1] if position + 1 < len(lines) else ""
        match = _NUMPY_ENTRY.fullmatch(line)
        if line.strip() and (match is None or _UNDERLINE.fullmatch(following)):
            break
        position, text = _indented(lines, position + 1, 0)
        for name in re.findall(r"\w+", match[1]) if match else []:
            yield position, name, _joined(text)
    yield position, "", ""


def _indented(lines: list[str], position: int, above: int) -> tuple[int, list[str]]:
    """Collect the lines of an entry: those indented deeper than it."""
    text: list[str] = []
    while position < len(lines) and lines[position].strip() and _indent(lines[position]) > above:
        text.append(lines[position])
        position += 1
    return position, text


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
