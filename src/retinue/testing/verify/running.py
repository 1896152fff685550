"""Finds the points at which the engine can die, tries them, and tells what does not hold."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from random import Random
from types import TracebackType

import msgspec

from retinue.testing.verify.reporting import report, reproduce
from retinue.testing.verify.trial import Task, Verdict

_QUICK = 24
_DEEP = 40
_UNREACHABLE = "nothing:0"


def run(  # noqa: PLR0913  the options of a command, all by name
    *,
    only: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    jobs: int = 2,
    keep: bool = False,
    quick: bool = False,
    deep: bool = False,
    is_json: bool = False,
    write: Callable[[str], object] = sys.stdout.write,
) -> int:
    """Try every kill point; gives 0 when everything holds, else 1."""
    began = time.monotonic()
    with Workers(jobs) as workers:
        first = workers.try_out(Task(seed=seed, keeps=keep, logs_reached=True)).result()
        points = chosen(first.reached[0] if first.reached else [], only, seed)
        if quick or limit is not None:
            points = sampled(points, limit or _QUICK, Random(seed))
        tasks = [Task(kills=[point], seed=seed, keeps=keep) for point in points]
        if deep:
            tasks += second_deaths(workers, points, seed, keep)
        verdicts = [first, *workers.try_all(tasks, None if is_json else write)]
    seconds = time.monotonic() - began
    if is_json:
        write(msgspec.json.encode(_told(verdicts, seconds)).decode() + "\n")
    else:
        write(report(verdicts, seconds, seed))
    return 1 if any(verdict.violations for verdict in verdicts) else 0


def chosen(reached: Sequence[str], only: Sequence[str], seed: int) -> list[str]:
    """Give the points whose names hold one of the words; a whole name means just that point."""
    del seed
    points = list(dict.fromkeys(reached))
    if not only:
        return points
    exact = [point for point in points if point in only]
    return exact or [point for point in points if any(word in point for word in only)]


def sampled(points: Sequence[str], count: int, random: Random) -> list[str]:
    """Take some of each kind of point, the kinds in turn."""
    kinds: dict[str, list[str]] = {}
    for point in points:
        kinds.setdefault(point.rpartition(":")[0], []).append(point)
    for of_kind in kinds.values():
        random.shuffle(of_kind)
    taken: list[str] = []
    order = list(kinds.values())
    random.shuffle(order)
    while len(taken) < count and any(order):
        for of_kind in order:
            if of_kind and len(taken) < count:
                taken.append(of_kind.pop())
    return taken


def second_deaths(workers: "Workers", points: Sequence[str], seed: int, keep: bool) -> list[Task]:
    """Choose points of the recovery from a first death, to die there again."""
    random = Random(seed)
    first = sampled(points, _DEEP, random)
    tasks = [Task(kills=[point], seed=seed, logs_reached=True) for point in first]
    pairs: list[Task] = []
    for verdict in workers.try_all(tasks, None):
        if len(verdict.reached) > 1:
            early = verdict.reached[1][:40]
            pairs += [
                Task(kills=[verdict.kills[0], point], seed=seed, keeps=keep)
                for point in sampled(early, 3, random)
            ]
    return pairs


def _told(verdicts: Sequence[Verdict], seconds: float) -> dict[str, object]:
    failed = [verdict for verdict in verdicts if verdict.violations]
    return {
        "points": len(verdicts) - 1,
        "killed": sum(verdict.deaths > 0 for verdict in verdicts),
        "violations": sum(len(verdict.violations) for verdict in failed),
        "seconds": round(seconds, 1),
        "failed": [
            {
                "kills": list(verdict.kills),
                "violations": list(verdict.violations),
                "directory": verdict.directory,
                "reproduce": reproduce(verdict, 0),
            }
            for verdict in failed
        ],
    }


class Workers:
    """Processes that run trials, each one after the other."""

    def __init__(self, jobs: int) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RETINUE_")}
        environment["RETINUE_FAILPOINTS"] = _UNREACHABLE
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-m", "retinue.testing.verify.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
            )
            for _ in range(jobs)
        ]
        for process in self._processes:
            self._idle.put(process)
        self._pool = ThreadPoolExecutor(jobs)

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pool.shutdown(cancel_futures=True)
        for process in self._processes:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.wait()
            process.stdout.close()

    def try_out(self, task: Task) -> "Future[Verdict]":
        return self._pool.submit(self._try_out, task)

    def try_all(
        self, tasks: Sequence[Task], write: Callable[[str], object] | None
    ) -> list[Verdict]:
        """Try all of them, and say from time to time how far it got."""
        futures = [self.try_out(task) for task in tasks]
        verdicts: list[Verdict] = []
        for number, future in enumerate(futures, start=1):
            verdict = future.result()
            verdicts.append(verdict)
            if write is not None and verdict.violations:
                write(f"{' then '.join(verdict.kills)}: {'; '.join(verdict.violations)}\n")
            if write is not None and number % 50 == 0:
                write(f"{number} of {len(tasks)} kill points tried\n")
        return verdicts

    def _try_out(self, task: Task) -> Verdict:
        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(task) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                return Verdict(
                    kills=task.kills, deaths=0, violations=["the worker died"], seconds=0
                )
            return msgspec.json.decode(line, type=Verdict)
        finally:
            self._idle.put(process)
