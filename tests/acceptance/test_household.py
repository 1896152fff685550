"""The household example, as a newcomer walks through it: real commands, a real server, no key."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.cli import Done, look, retinue, serving

PATIENCE_SECONDS = 40


@pytest.fixture
def household(tmp_path: Path) -> Path:
    folder = tmp_path / "household"
    done = retinue("init", folder, "--example", "household")
    assert done.code == 0, done.err
    assert "created  agents/reading-list.toml" in done.out
    return folder


def said(project: Path, agent: str, text: str) -> str:
    """Say something to an agent, and give its answer."""
    done = retinue("send", agent, text, "--wait", project=project)
    assert done.code == 0, done.err
    return done.out


def eventually(look_again: Callable[[], Done], holds: Callable[[Done], bool]) -> Done:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds(done := look_again()):
        assert time.monotonic() < deadline, done.out + done.err
    return done


def items(project: Path, name: str) -> list[Any]:
    listed = look("lists", "items-list", "--list", name, "--json", project=project)
    assert listed.code == 0, listed.err
    return listed.json()["items"]


def test_a_newcomer_adds_an_item_asks_about_it_and_is_reminded(household: Path) -> None:
    with serving(household) as server:
        assert server.problems == []
        assert "milk" in said(household, "todo", "add milk to groceries")
        assert [item["title"] for item in items(household, "groceries")] == ["milk"]

        answer = said(household, "general", "ask todo what is on groceries")
        assert "`todo` answers:" in answer
        assert "milk" in answer

        assert "Scheduled for" in said(household, "todo", "remind me in 2 seconds to buy milk")
        (schedule,) = look("schedules", "--json", project=household).json()["schedules"]
        assert schedule["title"] == "buy milk"
        eventually(
            lambda: look("history", "todo", project=household),
            lambda done: "Reminder: buy milk" in done.out,
        )


def test_what_was_kept_survives_a_kill_and_is_there_once(household: Path) -> None:
    with serving(household) as server:
        said(household, "todo", "add milk to groceries")
        said(household, "journal", "note that the key is under the mat")
        server.process.kill()
        server.process.wait()
    with serving(household):
        assert [item["title"] for item in items(household, "groceries")] == ["milk"]
        assert "the key is under the mat" in said(household, "journal", "search notes for key")


def test_each_agent_has_what_its_definition_gives_it(household: Path) -> None:
    with serving(household):
        said(household, "todo", "add Dune to reading")
        assert "no tool for it" in said(household, "journal", "what is on reading")
        assert "Dune" in said(household, "reading-list", "what is on reading")
        assert "no tool for it" in said(household, "reading-list", "note that it is long")
        assert "no tool for it" in said(household, "journal", "ask todo to add tea to groceries")


def test_the_example_can_be_written_again_over_what_was_changed(household: Path) -> None:
    (household / "agents" / "todo.toml").write_text('description = "Mine."\n')
    again = look("init", household, "--example", "household", "--json").json()
    assert again["written"] == []
    assert (household / "agents" / "todo.toml").read_text() == 'description = "Mine."\n'
