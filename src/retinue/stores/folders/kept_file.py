"""A file next to the agents' folders that mirrors one part of the store."""

from collections.abc import Callable
from pathlib import Path

from retinue.stores.agent_export import WholeReader
from retinue.stores.folders.atomic_files import replace_file


class KeptFile:
    """Written as a whole, only when its content changes; `empty` content is never written."""

    def __init__(self, path: Path, content: Callable[[WholeReader], bytes], empty: bytes) -> None:
        self._path = path
        self._content_of = content
        self._empty = empty
        self._content: bytes | None = None
        self.is_behind = True

    def follow(self, reader: WholeReader) -> None:
        self.is_behind = False  # before reading, so that later changes set it again
        try:
            if self._content is None:
                self._content = read_kept_file(self._path) or self._empty
            content = self._content_of(reader)
            if content != self._content:
                replace_file(str(self._path), content)
                self._content = content
        except BaseException:
            self.is_behind = True
            raise


def read_kept_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
