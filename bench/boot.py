"""What sleeping agents cost at boot, in time and memory; and how fast commands start."""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.system import ENVIRONMENT, extras
from retinue.agents.descriptor import UserDescriptor
from retinue.agents.state import AgentState
from retinue.assembly import open_app
from retinue.clock import SystemClock
from retinue.ids import LOCAL_OWNER, new_agent_id
from retinue.stores.port import NewAgent

_RUNS = 5
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """A start with that many sleeping agents: from the call to the first answer it could give."""

    agents: int
    milliseconds: float
    megabytes: float  # resident, after the start


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """CPU seconds of the commands that people wait for."""

    help_seconds: float
    serve_seconds: float  # until it listens
    serve_megabytes: float


async def measure(directory: Path, *, populations: Sequence[int]) -> list[Boot]:
    boots: list[Boot] = []
    with tempfile.TemporaryDirectory(dir=directory) as name:
        folder = Path(name)
        populated = 0
        for population in populations:
            await _populate(folder, population - populated)
            populated = population
            runs = [_boot(folder) for _ in range(_RUNS)]
            boots.append(
                Boot(
                    agents=population,
                    milliseconds=statistics.median(run["ms"] for run in runs),
                    megabytes=statistics.median(run["mb"] for run in runs),
                )
            )
    return boots


async def _populate(folder: Path, count: int) -> None:
    app = await open_app(folder, ENVIRONMENT, extras=extras())
    now = SystemClock().now()

    def sleeper(number: int) -> NewAgent:
        channel = f"{count}-{number}"
        return NewAgent(
            id=new_agent_id(),
            owner=LOCAL_OWNER,
            descriptor=UserDescriptor(connector="bench", user_id="b", channel_id=channel),
            definition="assistant",
            state=AgentState(created_at=now, updated_at=now, name=f"Conversation {channel}"),
        )

    for first in range(0, count, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, count))
        await asyncio.gather(*(app.store.create(sleeper(number)) for number in numbers))
    await app.close()


def _boot(folder: Path) -> dict[str, float]:
    """Start in a process of its own, which tells its time and memory."""
    output = subprocess.run(
        [sys.executable, "-m", "bench.boot", str(folder)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(output.stdout)


async def _boot_here(folder: Path) -> None:
    began = time.perf_counter()
    app = await open_app(folder, ENVIRONMENT, extras=extras())
    milliseconds = (time.perf_counter() - began) * 1000
    await asyncio.sleep(0.3)  # whatever the start left for later shows in the memory
    print(json.dumps({"ms": milliseconds, "mb": resident_megabytes(os.getpid())}))
    await app.close()


def resident_megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("the system does not tell the memory in use")


def measure_start(directory: Path) -> Start:
    command = str(Path(sys.executable).with_name("retinue"))
    helps = [_cpu_of([command, "--help"]) for _ in range(_RUNS)]
    with tempfile.TemporaryDirectory(dir=directory) as name:
        serves = [_serve(command, Path(name)) for _ in range(3)]
    return Start(
        help_seconds=min(helps),
        serve_seconds=min(seconds for seconds, _ in serves),
        serve_megabytes=min(megabytes for _, megabytes in serves),
    )


def _cpu_of(arguments: list[str]) -> float:
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def _serve(command: str, folder: Path) -> tuple[float, float]:
    with subprocess.Popen(
        [command, "serve", "--json", "--dir", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"ready"' in line:
                break
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(") ")[2].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        megabytes = resident_megabytes(process.pid)
        process.terminate()
        process.wait()
    return seconds, megabytes


if __name__ == "__main__":
    asyncio.run(_boot_here(Path(sys.argv[1])))
