"""The floor: the same four records through one group commit, hand-written, with no engine."""

import asyncio
import os
import threading
from pathlib import Path

import msgspec

from bench.workload import ARGUMENTS, QUESTION, REPLY, TOOL, TOOL_ANSWER

_encoder = msgspec.json.Encoder()


class Floor:
    """Appends lines to one file; one thread writes and syncs all that wait."""

    def __init__(self, directory: Path) -> None:
        path = directory / "floor.jsonl"
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._news = threading.Event()
        self._is_closed = False
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    async def turn(self, conversation: int, number: int) -> None:
        for kind, text in (
            ("user", QUESTION.format(turn=number)),
            ("assistant", f"{TOOL} {ARGUMENTS}"),
            ("tool", TOOL_ANSWER),
            ("assistant", REPLY),
        ):
            await self._append(
                {"kind": kind, "v": 1, "seq": number, "agent": conversation, "text": text}
            )

    async def _append(self, record: dict[str, object]) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((_encoder.encode(record) + b"\n", done))
        self._news.set()
        await done

    def _write(self) -> None:
        while not self._is_closed:
            self._news.wait()
            self._news.clear()
            while self._waiting:
                group, self._waiting = self._waiting, []
                os.write(self._file, b"".join(line for line, _ in group))
                os.fdatasync(self._file)
                self._loop.call_soon_threadsafe(_resolve, [done for _, done in group])

    def close(self) -> None:
        self._is_closed = True
        self._news.set()
        self._thread.join()
        os.close(self._file)


def _resolve(waiting: list[asyncio.Future[None]]) -> None:
    for done in waiting:
        done.set_result(None)
