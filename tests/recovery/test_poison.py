"""One message kills the process again and again, beside others that are innocent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.crash, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]


def test_only_the_message_that_kills_the_process_fails(tmp_path: Path) -> None:
    deaths = 0
    while True:
        child = subprocess.run(
            [sys.executable, "-m", "tests.support.poison", str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if child.returncode == 0:
            break
        assert child.returncode == -9, child.stderr
        deaths += 1
        assert deaths <= 3
    assert deaths == 3
    one, two, kill, three = json.loads(child.stdout)
    assert [one, two, three] == [["answered", f"{name} done"] for name in ("one", "two", "three")]
    assert kill[0] == "failed"
    assert "died 3 times" in kill[1]
