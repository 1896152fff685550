"""What is seen of an agent's files from outside: listings, and files too large to hold."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime

from retinue.records import FileReference


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """A file, or a folder, in an agent's tree."""

    path: str
    modified: datetime
    file: FileReference | None = None  # None for a folder


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStream:
    """A file that is read while somebody takes it, piece by piece."""

    size: int
    pieces: AsyncIterator[bytes]
