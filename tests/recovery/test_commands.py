"""A command that was stored is applied once, wherever the process is killed in between."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

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


def kinds(project: Path, agent: str) -> list[str]:
    return [record["kind"] for record in told(project, "history", agent)["records"]]


@pytest.mark.parametrize("point", ["admit:after:1", "reset:before:1", "reset:after:1"])
def test_a_reset_is_applied_once_though_its_process_was_killed(tmp_path: Path, point: str) -> None:
    assert retinue(tmp_path, "init").returncode == 0
    agent = told(tmp_path, "send", "assistant", "hello", "--wait")["agentId"]
    died = retinue(tmp_path, "reset", agent, failpoints=point)
    assert died.returncode == -signal.SIGKILL, died.stderr
    told(tmp_path, "send", agent, "again", "--wait")
    assert kinds(tmp_path, agent) == ["start", "user", "assistant", "reset", "user", "assistant"]


@pytest.mark.parametrize("point", ["admit:after:1", "end:before:1", "end:after:1"])
def test_an_agent_ends_though_the_process_was_killed(tmp_path: Path, point: str) -> None:
    assert retinue(tmp_path, "init").returncode == 0
    agent = told(tmp_path, "send", "assistant", "hello", "--wait")["agentId"]
    died = retinue(tmp_path, "terminate", agent, failpoints=point)
    assert died.returncode == -signal.SIGKILL, died.stderr
    retinue(tmp_path, "send", "assistant", "another conversation", "--wait")
    refused = retinue(tmp_path, "send", agent, "still there?")
    assert refused.returncode != 0
    assert "ended" in refused.stderr
    assert kinds(tmp_path, agent).count("note") == 1
