"""Notices changes of watched files without reading them: names, times, sizes and inodes."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

FileStamp = tuple[int, int, int, int]

_FOLDERS = (
    ("agents", 2, ""),
    ("prompts", 1, ""),
    ("hooks", 1, ""),
    ("tools", 1, ".py"),
    ("plugins", 1, ".py"),
    ("heartbeat", 1, ".md"),
    ("skills", 2, ".md"),
)
_PACKAGES = "packages"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedFiles:
    """What is watched: known after each read, so that a look needs nothing else."""

    projects: Sequence[Path]
    """folders that are laid out like a project: itself, and packages installed elsewhere"""
    folders: Sequence[Path] = ()
    files: Sequence[Path] = ()

    def stamps(self) -> Mapping[str, FileStamp]:
        stamps = dict(_stamps_of(self.files))
        for folder in self.folders:
            stamps.update(_stamped(str(folder), 1, ""))
        places = [str(project) for project in self.projects]
        for project in self.projects:
            packages = _entries(f"{project}/{_PACKAGES}")
            places += [entry.path for entry in packages if _is_dir(entry)]
        for place in places:
            stamps.update(_stamped(place, 1, ".toml"))
            for name, depth, suffix in _FOLDERS:
                stamps.update(_stamped(f"{place}/{name}", depth, suffix))
        return stamps


def _stamps_of(files: Iterable[Path]) -> Iterator[tuple[str, FileStamp]]:
    """Stamp single files; one that is not there has no stamp."""
    for file in files:
        with suppress(OSError):
            yield str(file), _stamp(file.stat())


def _stamped(path: str, depth: int, suffix: str) -> Iterator[tuple[str, FileStamp]]:
    """Stamp what is in a folder, down to a depth."""
    for entry in _entries(path):
        try:
            status = entry.stat()
        except OSError:
            continue  # gone by now, or a link that leads in circles
        if stat.S_ISDIR(status.st_mode):
            yield entry.path, (0, 0, 0, status.st_ino)
            if depth > 1:
                yield from _stamped(entry.path, depth - 1, suffix)
        elif entry.name.endswith(suffix):
            yield entry.path, _stamp(status)


def _entries(folder: str) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as found:
            return [entry for entry in found if not entry.name.startswith((".", "__"))]
    except OSError:
        return []


def _is_dir(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _stamp(status: os.stat_result) -> FileStamp:
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
