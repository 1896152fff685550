"""An item that an agent adds is added once, wherever the process dies in between."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MAIN = "from retinue.cli.main import main; main()"


def retinue(project: Path, *words: str, failpoints: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *words],
        cwd=project,
        env=os.environ | ({"RETINUE_FAILPOINTS": failpoints} if failpoints else {}),
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def told(project: Path, *words: str) -> Any:
    done = retinue(project, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.crash
@pytest.mark.parametrize("point", ["before", "written", "after"])
def test_an_item_is_added_once_when_the_process_dies_between_call_and_result(
    tmp_path: Path, point: str
) -> None:
    assert retinue(tmp_path, "init").returncode == 0
    # The first change makes the list, so that the second one is what the agent does.
    told(tmp_path, "lists", "create", "--name", "Groceries")
    died = retinue(
        tmp_path, "send", "assistant", "add milk to groceries", "--wait",
        failpoints=f"artifact:{point}:1",
    )  # fmt: skip
    assert died.returncode == -signal.SIGKILL, died.stdout + died.stderr
    (agent,) = told(tmp_path, "agents")["agents"]
    asked = retinue(tmp_path, "send", agent["id"], "what is on groceries", "--wait")
    assert asked.returncode == 0 and "milk" in asked.stdout, asked.stdout + asked.stderr
    items = told(tmp_path, "lists", "items-list", "--list", "groceries")
    assert [item["title"] for item in items["items"]] == ["milk"]
    changes = told(tmp_path, "lists", "history")["changes"]
    assert [(one["action"], one["by"]) for one in changes] == [
        ("lists_item_add", agent["id"]),
        ("lists_create", "you"),
    ]
