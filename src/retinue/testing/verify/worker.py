"""Runs trials: reads tasks from standard input and writes verdicts to standard output.

It is a separate process without threads, because it forks the engines. Failpoints are armed from
the start, since they are bound at import.
"""

import asyncio
import gc
import sys
import tempfile
from pathlib import Path

import msgspec

from retinue.testing.verify.engine_process import open_trial, prepare
from retinue.testing.verify.parts import PARTS
from retinue.testing.verify.trial import Task, try_out


def main() -> None:
    asyncio.run(_warm_up())
    gc.freeze()  # keeps memory shared with the engine processes
    decoder = msgspec.json.Decoder(Task)
    for line in sys.stdin.buffer:
        verdict = try_out(decoder.decode(line))
        sys.stdout.buffer.write(msgspec.json.encode(verdict) + b"\n")
        sys.stdout.buffer.flush()


async def _warm_up() -> None:
    """Load all modules once before forking; the threads end with this function."""
    with tempfile.TemporaryDirectory(prefix="retinue-verify-") as name:
        part = next(iter(PARTS.values()))
        prepare(Path(name), part)
        app = await open_trial(Path(name), part)
        await app.close()


if __name__ == "__main__":
    main()
