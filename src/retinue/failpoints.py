"""Named points at which a crash test may kill this process; they cost nothing otherwise.

`RETINUE_FAILPOINTS="name:3"` kills the process when `name` is reached for the third time.
`RETINUE_FAILPOINTS_LOG=path` appends every name that is reached, to find out which there are.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Lock


def _unarmed(name: str) -> None:
    """Do nothing: no crash test is going on."""


class _Armed:
    """Counts what is reached, writes it down, and kills when it is time."""

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


def _from_environment() -> Callable[[str], None]:
    targets = os.environ.get("RETINUE_FAILPOINTS", "")
    log = os.environ.get("RETINUE_FAILPOINTS_LOG", "")
    return _Armed(targets, log) if targets or log else _unarmed


reach: Callable[[str], None] = _from_environment()
"""Say that the named point is reached."""

IS_ARMED = reach is not _unarmed
"""Whether it is worth while to make up a name."""


def rearm(targets: str, log: str = "") -> None:
    """Give a process that was forked from an armed one targets of its own."""
    if isinstance(reach, _Armed):
        reach.arm(targets, log)
