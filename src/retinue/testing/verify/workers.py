"""The processes that run trials."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType

import msgspec

from retinue.testing.verify.report import name_of
from retinue.testing.verify.trial import Task, TrialVerdict

_UNREACHABLE = "nothing:0"


class Workers:
    """A pool of processes that run trials."""

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

    def try_out(self, task: Task) -> "Future[TrialVerdict]":
        return self._pool.submit(self._try_out, task)

    def try_all(
        self, tasks: Sequence[Task], write: Callable[[str], object] | None
    ) -> list[TrialVerdict]:
        """Try all of them, and say from time to time how far it got."""
        futures = [self.try_out(task) for task in tasks]
        verdicts: list[TrialVerdict] = []
        for number, future in enumerate(futures, start=1):
            verdict = future.result()
            verdicts.append(verdict)
            if write is not None and verdict.violations:
                write(f"{name_of(verdict)}: {'; '.join(verdict.violations)}\n")
            if write is not None and number % 100 == 0:
                write(f"{number} of {len(tasks)} kill points tried\n")
        return verdicts

    def _try_out(self, task: Task) -> TrialVerdict:
        process = self._idle.get()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(msgspec.json.encode(task) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                return TrialVerdict(
                    part=task.part,
                    kills=task.kills,
                    deaths=0,
                    violations=["the worker died"],
                    seconds=0,
                )
            return msgspec.json.decode(line, type=TrialVerdict)
        finally:
            self._idle.put(process)
