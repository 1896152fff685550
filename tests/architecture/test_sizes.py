"""Modules and functions stay small; the exceptions are listed here and may only shrink."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("src", "tests", "bench")
MODULE_LINES = 600
FUNCTION_LINES = 60

# "path" or "path::function" → its length today. Lower a number when the code shrinks; add none.
LONG_MODULES: dict[str, int] = {}
LONG_FUNCTIONS: dict[str, int] = {}


def modules() -> Iterator[tuple[str, str]]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def function_lengths(source: str) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def excess(found: dict[str, int], allowed: dict[str, int]) -> list[str]:
    """Say what is longer than allowed, and which exceptions are not needed any more."""
    too_long = [
        f"{name}: {lines} lines" for name, lines in found.items() if lines > allowed.get(name, 0)
    ]
    too_generous = [
        f"{name}: lower the exception from {lines} to {found.get(name, 0)}"
        for name, lines in allowed.items()
        if lines > found.get(name, 0)
    ]
    return too_long + too_generous


def test_no_module_is_longer_than_the_limit() -> None:
    found = {path: source.count("\n") for path, source in modules()}
    long = {path: lines for path, lines in found.items() if lines > MODULE_LINES}
    assert excess(long, LONG_MODULES) == []


def test_no_function_is_longer_than_the_limit() -> None:
    long: dict[str, int] = {}
    for path, source in modules():
        for name, lines in function_lengths(source):
            if lines > FUNCTION_LINES:
                long[f"{path}::{name}"] = max(lines, long.get(f"{path}::{name}", 0))
    assert excess(long, LONG_FUNCTIONS) == []
