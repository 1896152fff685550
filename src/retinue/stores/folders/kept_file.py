"""A file beside the agents' folders that the mirror keeps in step with one part of the store."""

from collections.abc import Callable
from pathlib import Path

from retinue.stores.agent_export import WholeReader
from retinue.stores.folders.atomic_files import replace_file


class KeptFile:
    """Written whole, and only when it would say something else; `empty` is not written at all."""

    def __init__(self, path: Path, content: Callable[[WholeReader], bytes], empty: bytes) -> None:
        self._path = path
        self._content_of = content
        self._empty = empty
        self._content: bytes | None = None
        self.is_behind = True

    def follow(self, reader: WholeReader) -> None:
        self.is_behind = False  # first: what changes from here on is written the next time
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
