"""Runs trials: reads tasks from standard input and writes verdicts to standard output.

A process of its own, without threads, because it forks the engines; and armed from the start, since
failpoints are bound when modules are imported.
"""

import sys

import msgspec

from retinue.testing.verify.trial import Task, try_out


def main() -> None:
    decoder = msgspec.json.Decoder(Task)
    for line in sys.stdin.buffer:
        verdict = try_out(decoder.decode(line))
        sys.stdout.buffer.write(msgspec.json.encode(verdict) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
