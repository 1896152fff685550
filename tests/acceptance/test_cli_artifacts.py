"""Lists, notes and views at the command line, and in plain words with the offline model."""

from pathlib import Path

import pytest

from tests.recovery.test_artifacts import retinue, told


@pytest.fixture
def project(tmp_path: Path) -> Path:
    assert retinue(tmp_path, "init").returncode == 0
    return tmp_path


def test_plain_words_reach_lists_and_notes(project: Path) -> None:
    for words in ("add oat milk to groceries", "add eggs to groceries", "mark eggs done"):
        said = retinue(project, "send", "assistant", words, "--wait")
        assert said.returncode == 0 and "failed:" not in said.stdout, said.stdout
    shown = retinue(project, "send", "assistant", "what is on groceries", "--wait").stdout
    assert shown.index("oat milk") < shown.index("eggs")
    noted = retinue(project, "send", "assistant", "note: the key is under the mat", "--wait")
    assert "failed:" not in noted.stdout
    found = retinue(project, "send", "assistant", "find key", "--wait").stdout
    assert "under the mat" in found
    (note,) = told(project, "notes", "list")["notes"]
    assert note["title"] == "the key is under the mat"
    items = told(project, "lists", "items-list", "--list", "groceries")["items"]
    assert [(item["title"], item["completed"]) for item in items] == [
        ("oat milk", False),
        ("eggs", True),
    ]


def test_where_nobody_has_a_window_open_nothing_is_shown_and_that_is_said(project: Path) -> None:
    assert retinue(project, "lists", "create", "--name", "Groceries").returncode == 0
    shown = retinue(project, "lists", "show", "--list", "groceries")
    assert shown.returncode == 1
    assert "No client is connected" in shown.stderr
    said = retinue(project, "send", "assistant", "open the groceries list", "--wait").stdout
    assert "No client is connected" in said
