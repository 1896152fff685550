"""Named points where a crash test can kill this process; no overhead otherwise.

`RETINUE_FAILPOINTS="name:3"` kills the process when `name` is reached for the third time.
`RETINUE_FAILPOINTS_LOG=path` appends the name of every point that is reached to a file.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock

_unarmed: Callable[[str], object] = str
"""A builtin, so that an unarmed failpoint costs next to nothing."""


class _Armed:
    """Counts and logs the points that are reached, and kills the process at the target."""

    def __init__(self, targets: str, log: str) -> None:
        self.arm(targets, log)

    def arm(self, targets: str, log: str) -> None:
        self._targets = {
            name: int(count or "1")
            for name, _, count in (entry.rpartition(":") for entry in targets.split(",") if entry)
        }
        self._log = Path(log) if log else None
        self._reached: Counter[str] = Counter()
        self._lock = Lock()

    def __call__(self, name: str) -> None:
        with self._lock:
            self._reached[name] += 1
            if self._log is not None:
                with self._log.open("a", encoding="utf-8") as file:
                    file.write(f"{name}\n")
            if self._reached[name] == self._targets.get(name):
                os.kill(os.getpid(), signal.SIGKILL)


def _from_environment() -> Callable[[str], object]:
    targets = os.environ.get("RETINUE_FAILPOINTS", "")
    log = os.environ.get("RETINUE_FAILPOINTS_LOG", "")
    return _Armed(targets, log) if targets or log else _unarmed


reach: Callable[[str], object] = _from_environment()
"""Mark the named point as reached."""

IS_ARMED = reach is not _unarmed
"""Whether failpoints are enabled; callers check it before they build a name."""


def rearm(targets: str, log: str = "") -> None:
    """Replace the targets in a process that was forked from an armed one."""
    if isinstance(reach, _Armed):
        reach.arm(targets, log)
