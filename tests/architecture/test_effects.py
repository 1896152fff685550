"""An effect cannot be forgotten: every place that has to decide about each of them does."""

import ast
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import msgspec
import pytest

from retinue.stores.port import NO_EFFECTS, Commit, Effects

SOURCE = Path(__file__).parents[2] / "src" / "retinue"
UNPACKED = ("engine/agent/state_effects.py", "stores/sqlite/effects.py")
OF_THE_STATE = {"children", "deferred", "moved", "spent", "handoff", "departure"}
"""Effects that a store gets within the agent's state; contract tests of stores show all others."""


def sample() -> dict[str, Any]:
    return {name: (f"one of {name}",) for name in Effects._fields}


def test_every_field_is_a_tuple_so_that_merge_covers_it() -> None:
    hints = get_type_hints(Effects)
    assert {name: get_origin(hints[name]) for name in Effects._fields} == dict.fromkeys(
        Effects._fields, tuple
    )


@pytest.mark.parametrize("name", Effects._fields)
def test_merge_loses_nothing(name: str) -> None:
    one = NO_EFFECTS._replace(**{name: ("first",)})
    whole = Effects(**sample())
    assert getattr(one.merge(whole), name) == ("first", f"one of {name}")
    assert one.merge(NO_EFFECTS) == NO_EFFECTS.merge(one) == one


@pytest.mark.parametrize("path", UNPACKED)
def test_the_state_and_the_store_unpack_every_effect_by_its_name(path: str) -> None:
    tree = ast.parse((SOURCE / path).read_text(encoding="utf-8"))
    unpacked = [
        [element.id.lstrip("_") if isinstance(element, ast.Name) else "*" for element in to.elts]
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Name)
        and node.value.id == "effects"
        for to in node.targets
        if isinstance(to, ast.Tuple)
    ]
    assert unpacked == [list(Effects._fields)]


def test_a_draft_hands_every_field_of_a_commit_on() -> None:
    path = SOURCE / "engine" / "agent" / "live_agent.py"
    calls = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Commit"
    ]
    handed = [{keyword.arg for keyword in call.keywords} for call in calls]
    assert handed == [{field.name for field in msgspec.structs.fields(Commit)}]


def test_the_stores_contract_shows_every_effect_that_a_store_applies() -> None:
    assert set(Effects._fields) >= OF_THE_STATE
    shown: set[str] = set()
    for path in (SOURCE / "testing").glob("store_*contract.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "Effects"
            ):
                shown |= {keyword.arg or "" for keyword in node.keywords}
    assert shown >= set(Effects._fields) - OF_THE_STATE
