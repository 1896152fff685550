"""Appending to `history.jsonl` without ever leaving half a line behind."""

import os

from retinue.stores.folders.layout import HISTORY, line_seq

_TAIL = 64 * 1024


def repair_tail(folder: str) -> int | None:
    """Cut off a torn last line, keep a copy of it, and give the seq of the last whole one.

    None means that the last line is not a record: the file has to be written anew.
    """
    path = f"{folder}/{HISTORY}"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(descriptor).st_size
        end, line = _last_line(descriptor, size)
        if end < size:
            torn = os.pread(descriptor, size - end, end)
            _append(path + ".torn", torn + b"\n")
            os.ftruncate(descriptor, end)
        return line_seq(line) if line else 0
    finally:
        os.close(descriptor)


def _last_line(descriptor: int, size: int) -> tuple[int, bytes]:
    """Find where the last whole line ends, and the line."""
    reach = _TAIL
    while True:
        start = max(0, size - reach)
        tail = os.pread(descriptor, size - start, start)
        newline = tail.rfind(b"\n")
        before = tail.rfind(b"\n", 0, max(newline, 0))
        if start == 0 or before >= 0:
            return start + newline + 1, tail[before + 1 : max(newline, 0)]
        reach *= 8


def append_lines(folder: str, lines: bytes) -> None:
    """Append whole lines; when there is no room for all of them, the file stays as it was."""
    _append(f"{folder}/{HISTORY}", lines)


def _append(path: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
