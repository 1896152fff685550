"""One trial: play a part, die where it was told to, go on, and judge what is left."""

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
    """What to try: `kills` names the point of the first death, then of the next one."""

    part: str
    kills: Sequence[str] = ()
    seed: int = 0
    keeps: bool = False  # the data, when something does not hold
    logs_reached: bool = False


class TrialVerdict(Struct, frozen=True, kw_only=True):
    """How a trial ended."""

    part: str
    kills: Sequence[str]
    deaths: int
    violations: Sequence[str]
    seconds: float
    reached: Sequence[Sequence[str]] = ()  # by each process, in order
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
    """Play the part to its end and give what does not hold."""
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
    """A file system in memory, where there is one: a kill loses nothing that was written to it."""
    memory = Path("/dev/shm")
    is_roomy = memory.is_dir() and os.access(memory, os.W_OK)
    return str(memory) if is_roomy and shutil.disk_usage(memory).free > _ROOM_BYTES else None


def _reached(directory: Path, deaths: int) -> list[list[str]]:
    """Give what each process reached, each time as `name:count`."""
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
