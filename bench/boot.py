"""What sleeping agents cost at boot, in time and memory; and how fast commands start."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.sleepers import add_sleepers
from retinue.settings.tables import data_directory

_RUNS = 5
_QUIET_SECONDS = 0.5
_COMMAND = str(Path(sys.executable).with_name("retinue"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """A `retinue serve` with that many sleeping agents, half a second after it listens."""

    agents: int
    cpu_seconds: float  # with whatever the start left for later
    megabytes: float  # resident


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """CPU seconds of the commands that people wait for."""

    help_seconds: float
    serve_seconds: float  # until it listens
    serve_megabytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Served:
    ready_seconds: float  # of CPU, until it listens
    quiet_seconds: float  # and until it has nothing more to do
    megabytes: float


def measure(directory: Path, *, populations: Sequence[int]) -> list[Boot]:
    boots: list[Boot] = []
    with tempfile.TemporaryDirectory(dir=directory) as name:
        folder = Path(name)
        populated = 0
        for population in populations:
            asyncio.run(add_sleepers(data_directory(folder), population - populated))
            populated = population
            runs = [_serve(folder) for _ in range(_RUNS)]
            boots.append(
                Boot(
                    agents=population,
                    cpu_seconds=statistics.median(run.quiet_seconds for run in runs),
                    megabytes=statistics.median(run.megabytes for run in runs),
                )
            )
    return boots


def measure_start(directory: Path) -> Start:
    helps = [_cpu_of([_COMMAND, "--help"]) for _ in range(_RUNS)]
    with tempfile.TemporaryDirectory(dir=directory) as name:
        serves = [_serve(Path(name)) for _ in range(3)]
    return Start(
        help_seconds=min(helps),
        serve_seconds=min(served.ready_seconds for served in serves),
        serve_megabytes=min(served.megabytes for served in serves),
    )


def _cpu_of(arguments: list[str]) -> float:
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def _serve(folder: Path) -> _Served:
    with subprocess.Popen(
        [_COMMAND, "serve", "--json", "--dir", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"ready"' in line:
                break
        ready_seconds = _cpu_seconds(process.pid)
        time.sleep(_QUIET_SECONDS)
        served = _Served(
            ready_seconds=ready_seconds,
            quiet_seconds=_cpu_seconds(process.pid),
            megabytes=_resident_megabytes(process.pid),
        )
        process.terminate()
        process.wait()
    return served


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell the memory in use")
