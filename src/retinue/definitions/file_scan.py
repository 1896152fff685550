"""Lists the files in a folder of definitions, and detects changes."""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from retinue.definitions.packages import PackagePlace
from retinue.definitions.source_files import FOLDERS, Folder

Signature = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file that may define something, with its current signature."""

    path: str
    folder: Folder
    place: PackagePlace
    signature: Signature


def scan(place: PackagePlace) -> Iterator[FoundFile]:
    """Find the files in a fixed order: of two that define the same name, the first wins."""
    for folder in FOLDERS:
        try:
            with os.scandir(place.directory / folder.path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            if not _is_left_alone(entry.name):
                signature = _signature(entry)
                if signature is not None:
                    yield FoundFile(
                        path=entry.path, folder=folder, place=place, signature=signature
                    )


def _is_left_alone(name: str) -> bool:
    return name.startswith((".", "_")) or name.upper().startswith("README.")


def _signature(entry: "os.DirEntry[str]") -> Signature | None:
    """A signature that changes with the file; None for other than regular files (pipes block)."""
    try:
        status = entry.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
