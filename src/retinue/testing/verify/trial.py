"""One trial: runs a part, crashes at the given points, recovers, and checks the result."""

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from retinue.errors import RetinueError
from retinue.testing.verify.checks import violations
from retinue.testing.verify.effects import EFFECTS, SENT, EffectLog
from retinue.testing.verify.engine_process import prepare, serve
from retinue.testing.verify.evidence import Evidence
from retinue.testing.verify.part import Part
from retinue.testing.verify.parts import PARTS
from retinue.testing.verify.trial_client import REACHED, Stuck, TrialClient

_ROOM_BYTES = 200_000_000


class Task(Struct, frozen=True, kw_only=True):
    """A trial to run; `kills` has the kill point of the first crash, then of the next."""

    part: str
    kills: Sequence[str] = ()
    seed: int = 0
    keeps: bool = False  # keeps the data if there are violations
    logs_reached: bool = False


class TrialVerdict(Struct, frozen=True, kw_only=True):
    """The result of a trial."""

    part: str
    kills: Sequence[str]
    deaths: int
    violations: Sequence[str]
    seconds: float
    reached: Sequence[Sequence[str]] = ()  # points by process, in order
    directory: str = ""


def try_out(task: Task) -> TrialVerdict:
    began = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="retinue-verify-", dir=_place()))
    part = PARTS[task.part]
    client = TrialClient(
        directory,
        task.kills,
        serve=partial(serve, directory, part),
        logs_reached=task.logs_reached,
    )
    found: list[str] = []
    is_kept = False
    try:
        prepare(directory, part)
        found = _played(client, part, task.seed)
        is_kept = bool(found) and task.keeps
        return TrialVerdict(
            part=task.part,
            kills=task.kills,
            deaths=client.log.deaths,
            violations=found,
            seconds=time.monotonic() - began,
            reached=_reached(directory, client.log.deaths) if task.logs_reached else [],
            directory=str(directory) if is_kept else "",
        )
    finally:
        client.close()
        if not is_kept:
            shutil.rmtree(directory, ignore_errors=True)


def _played(client: TrialClient, part: Part, seed: int) -> list[str]:
    """Run the part and return the violations."""
    directory = client.directory
    try:
        part.play(client, seed)
        items = [sent.item for sent in client.log.sent if sent.item is not None]
        told = client.ask({"do": "finish", "items": items})
    except (Stuck, RetinueError) as error:
        return [f"stuck: {error}"]
    return violations(
        Evidence(
            log=client.log,
            told=told,
            effects=EffectLog(directory / EFFECTS).read(),
            deliveries=EffectLog(directory / SENT).read(),
            database=directory / ".retinue" / "retinue.db",
        ),
        part.judges,
    )


def _place() -> str | None:
    """Return an in-memory file system if available; it survives a kill of the process."""
    memory = Path("/dev/shm")
    is_roomy = memory.is_dir() and os.access(memory, os.W_OK)
    return str(memory) if is_roomy and shutil.disk_usage(memory).free > _ROOM_BYTES else None


def _reached(directory: Path, deaths: int) -> list[list[str]]:
    """Return the points that each process reached, as `name:count`."""
    result: list[list[str]] = []
    for number in range(deaths + 1):
        path = directory / REACHED.format(number)
        names = path.read_text(encoding="utf-8").split() if path.exists() else []
        counts: dict[str, int] = {}
        points: list[str] = []
        for name in names:
            counts[name] = counts.get(name, 0) + 1
            points.append(f"{name}:{counts[name]}")
        result.append(points)
    return result
