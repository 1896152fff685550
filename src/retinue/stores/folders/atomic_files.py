"""File writes that are atomic: a file is replaced as a whole, or whole lines are appended.

New content is written to a hidden spare file next to the target; after a sync the two are
exchanged. The next replacement overwrites the spare, which on common file systems is ten times
cheaper than creating one file and freeing another.
"""

import ctypes
import errno
import os
from collections.abc import Iterable

_EXCHANGE = 2
_CURRENT_DIRECTORY = -100
_UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP}

_libc = ctypes.CDLL(None, use_errno=True)


def spare_of(path: str) -> str:
    folder, name = os.path.split(path)
    return f"{folder}/.{name}"


def write_spare(path: str, data: bytes) -> None:
    """Write the next content of a file to its spare."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(spare_of(path), flags, 0o600)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        os.ftruncate(descriptor, len(data))
    finally:
        os.close(descriptor)


def put_in_place(path: str) -> None:
    """Exchange the spare with the file."""
    spare = spare_of(path)
    if hasattr(_libc, "renameat2"):
        arguments = (_CURRENT_DIRECTORY, os.fsencode(spare), _CURRENT_DIRECTORY, os.fsencode(path))
        if _libc.renameat2(*arguments, _EXCHANGE) == 0:
            return
        code = ctypes.get_errno()
        if code != errno.ENOENT and code not in _UNSUPPORTED:
            raise OSError(code, os.strerror(code), path)
    os.rename(spare, path)  # noqa: PTH104  (plain strings: this runs hundreds of times per second)


def sync_paths(paths: Iterable[str]) -> None:
    """Sync files and folders one by one."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_file_system(path: str) -> None:
    """Sync the whole file system at once."""
    if not hasattr(_libc, "syncfs"):
        os.sync()
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "syncfs failed", path)
    finally:
        os.close(descriptor)


def replace_file(path: str, data: bytes) -> None:
    """Replace a file durably."""
    write_spare(path, data)
    sync_paths([spare_of(path)])
    put_in_place(path)
    sync_paths([os.path.dirname(path)])  # noqa: PTH120


def append(path: str, data: bytes) -> None:
    """Append whole lines; if the disk is full, the file is left unchanged."""
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


def cut_after(path: str, length: int) -> None:
    """Truncate a file; what is cut off is saved to `<path>.torn`."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
        cut_open_file(path, descriptor, length)
    finally:
        os.close(descriptor)


def cut_open_file(path: str, descriptor: int, length: int) -> None:
    size = os.fstat(descriptor).st_size
    if length < size:
        rest = os.pread(descriptor, size - length, length)
        append(f"{path}.torn", rest if rest.endswith(b"\n") else rest + b"\n")
        os.ftruncate(descriptor, length)
