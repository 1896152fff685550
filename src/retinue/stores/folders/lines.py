"""Files of numbered lines, which are appended to without ever leaving half a line behind."""

import os

from retinue.stores.folders.layout import line_seq

_TAIL = 64 * 1024


def repair_tail(path: str) -> int | None:
    """Cut off a torn last line, keep a copy of it, and give the seq of the last whole one.

    None means that the last line has no number: the file has to be written anew.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return 0
    try:
        size = os.fstat(descriptor).st_size
        end, line = _last_line(descriptor, size)
        _cut_after(path, descriptor, end)
        return line_seq(line) if line else 0
    finally:
        os.close(descriptor)


def cut_after(path: str, length: int) -> None:
    """Cut off what follows, and keep a copy of it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        _cut_after(path, descriptor, length)
    finally:
        os.close(descriptor)


def _cut_after(path: str, descriptor: int, length: int) -> None:
    size = os.fstat(descriptor).st_size
    if length < size:
        rest = os.pread(descriptor, size - length, length)
        append(f"{path}.torn", rest if rest.endswith(b"\n") else rest + b"\n")
        os.ftruncate(descriptor, length)


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


def append(path: str, data: bytes) -> None:
    """Append whole lines; when there is no room for all of them, the file stays as it was."""
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
