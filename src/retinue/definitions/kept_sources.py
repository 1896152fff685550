"""Copies of the last good version of each project file, for a restart with a broken one."""

import logging
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

logger = logging.getLogger(__name__)

LAST_GOOD = "last-good"
"""The folder in the data directory."""

_MODE = 0o600

Stamp = tuple[int, int, int]
"""Tells the versions of a file apart: modification time, size, inode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodFile:
    """A file that loaded without errors, as it was then."""

    file: str  # as people know it
    path: Path
    stamp: Stamp


class KeptSources:
    """A folder of copies, each under the path that people know its file by.

    A copy carries the modification time of its file, so that an unchanged one is recognised
    without reading it. Files that no longer exist have no copy after the next `prune`.
    """

    def __init__(self, directory: Path | None) -> None:
        self._directory = directory

    def read(self, file: str) -> bytes | None:
        """The last good version of a file, if there is a copy."""
        copy = self._copy(file)
        try:
            return copy.read_bytes() if copy is not None else None
        except OSError:
            return None

    def keep(self, good: GoodFile) -> None:
        """Copy a file that loaded without errors, unless it changed since it was loaded."""
        copy = self._copy(good.file)
        if copy is None or self._directory is None:
            return
        try:
            before = good.path.stat()
            if stamp_of(before) != good.stamp or _is_copy_of(copy, before):
                return
            data = good.path.read_bytes()
            if stamp_of(good.path.stat()) != good.stamp:
                return  # it is being edited: the next look sees it
            self._directory.mkdir(exist_ok=True, mode=0o700)
            _write(copy, data, before.st_mtime_ns)
        except OSError as error:
            facts = {"file": good.file, "error": str(error)}
            logger.warning("last good version not kept", extra=facts)

    def prune(self, files: Collection[str]) -> None:
        """Delete the copies of files that no longer exist."""
        if self._directory is None or not self._directory.is_dir():
            return
        wanted = {copy for file in files if (copy := self._copy(file)) is not None}
        for copy in list(_files(self._directory)):
            if copy not in wanted:
                copy.unlink(missing_ok=True)

    def _copy(self, file: str) -> Path | None:
        path = PurePosixPath(file)
        parts = path.parts[1:] if path.is_absolute() else path.parts
        if self._directory is None or not parts or ".." in parts:
            return None
        return self._directory.joinpath(*parts)


NOTHING_KEPT = KeptSources(None)


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_copy_of(copy: Path, source: os.stat_result) -> bool:
    try:
        status = copy.stat()
    except OSError:
        return False
    return (status.st_mtime_ns, status.st_size) == (source.st_mtime_ns, source.st_size)


def _write(copy: Path, data: bytes, modified: int) -> None:
    """Put the copy in place at once; nobody else may read it."""
    copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = copy.with_name(f"{copy.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
    os.utime(draft, ns=(modified, modified))
    draft.replace(copy)


def _files(directory: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(directory):
        for name in names:
            yield Path(folder) / name
