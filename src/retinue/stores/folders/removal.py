"""Removes folders of any depth and with any permissions."""

import os
from pathlib import Path

from retinue.ids import new_id

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_folder(path: Path) -> None:
    """Remove a folder with its contents; links are removed, not followed.

    Subfolders are moved up before they are emptied, so depth needs neither stack nor descriptors.
    """
    try:
        root = os.open(path, _FOLDER)
    except FileNotFoundError:
        return
    try:
        while folders := _emptied(root):
            for name in folders:
                os.chmod(name, 0o700, dir_fd=root)
                folder = os.open(name, _FOLDER, dir_fd=root)
                try:
                    for inner in _emptied(folder):
                        os.chmod(inner, 0o700, dir_fd=folder)
                        os.rename(inner, new_id("removed"), src_dir_fd=folder, dst_dir_fd=root)
                finally:
                    os.close(folder)
                os.rmdir(name, dir_fd=root)
    finally:
        os.close(root)
    path.rmdir()


def _emptied(folder: int) -> list[str]:
    """Unlink everything except subfolders; returns their names."""
    with os.scandir(folder) as found:
        entries = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
    for name, is_folder in entries:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in entries if is_folder]
