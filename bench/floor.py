"""The floor: the same four records through one group commit, hand-written, with no engine."""

import asyncio
import os
import threading
from pathlib import Path

from msgspec import structs

from bench.workload import ARGUMENTS, ASKING, QUESTION, REPLY, SAYING, TOOL, TOOL_ANSWER
from retinue.clock import SystemClock
from retinue.ids import new_call_id, new_item_id
from retinue.records import (
    AssistantRecord,
    CallPart,
    KnownRecord,
    TextPart,
    ToolRecord,
    UserRecord,
    encode_record,
)


class Floor:
    """Appends lines to one file; one thread writes and syncs all that wait."""

    def __init__(self, directory: Path) -> None:
        path = directory / "floor.jsonl"
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        self._loop = asyncio.get_running_loop()
        self._waiting: list[tuple[bytes, asyncio.Future[None]]] = []
        self._news = threading.Event()
        self._is_closed = False
        self._seq = 0
        self._clock = SystemClock()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    async def turn(self, conversation: int, number: int) -> None:
        del conversation
        call = CallPart(id=new_call_id(), name=TOOL, arguments=ARGUMENTS)
        asked = QUESTION.format(turn=number)
        await self._append(UserRecord(item=new_item_id(), text=asked, sender="local"))
        await self._append(AssistantRecord(parts=[call], model="bench", usage=ASKING))
        await self._append(ToolRecord(call=call.id, name=TOOL, status="ok", text=TOOL_ANSWER))
        await self._append(
            AssistantRecord(parts=[TextPart(text=REPLY)], model="bench", usage=SAYING)
        )

    async def _append(self, record: KnownRecord) -> None:
        self._seq += 1
        line = encode_record(structs.replace(record, seq=self._seq, at=self._clock.now()))
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((line + b"\n", done))
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
