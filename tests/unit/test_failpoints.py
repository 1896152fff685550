"""Failpoints do nothing unless a crash test asks for them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from retinue.failpoints import IS_ARMED, reach
print(IS_ARMED, flush=True)
for _ in range(3):
    reach("point")
    print("passed", flush=True)
"""


def run(**environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if "FAILPOINTS" not in name}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=clean | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_happens_unarmed() -> None:
    done = run()
    assert (done.returncode, done.stdout.split()) == (0, ["False", *["passed"] * 3])


def test_the_process_dies_at_the_chosen_visit() -> None:
    died = run(RETINUE_FAILPOINTS="other:1,point:2")
    assert (died.returncode, died.stdout.split()) == (-signal.SIGKILL, ["True", "passed"])


def test_reached_points_are_written_down(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run(RETINUE_FAILPOINTS_LOG=str(log)).returncode == 0
    assert log.read_text() == "point\n" * 3
